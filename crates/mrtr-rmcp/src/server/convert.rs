//! Errors and results of rmcp's that become a flow's.

use mrtr_schema::{CallToolResult, ErrorCode, Json, Revision, Wire};
use mrtr_server::{Failure, ProtocolError};
use rmcp::{ErrorData, model};

/// Turns a value of rmcp's into mrtr's, for tools that become flows.
///
/// ```
/// use mrtr_rmcp::IntoMrtr;
/// use mrtr_server::{Failure, Flow};
/// use rmcp::ErrorData;
///
/// fn floor(room: &str) -> Result<u8, ErrorData> {
///     room.parse().map_err(|_| ErrorData::invalid_params("there is no such room", None))
/// }
///
/// async fn clean(flow: Flow) -> Result<String, Failure> {
///     let floor = floor("12").map_err(IntoMrtr::into_mrtr)?;
///     Ok(format!("floor {floor} is clean"))
/// }
/// ```
pub trait IntoMrtr {
    /// The type of mrtr's that says the same.
    type Mrtr;

    /// Turns the value into mrtr's.
    fn into_mrtr(self) -> Self::Mrtr;
}

/// The error goes over the wire with its code, message and data, as it does from a tool of rmcp's. As a `Failure` by
/// itself it would be a failure inside the server, of which the caller learns nothing.
impl IntoMrtr for ErrorData {
    type Mrtr = ProtocolError;

    fn into_mrtr(self) -> ProtocolError {
        let mut error = ProtocolError::new(ErrorCode::new(self.code.0.into()), self.message).into_object();
        error.data = self.data.as_ref().and_then(|data| Json::of(data).ok());
        error.into()
    }
}

impl IntoMrtr for model::CallToolResult {
    type Mrtr = Result<CallToolResult, Failure>;

    fn into_mrtr(self) -> Result<CallToolResult, Failure> {
        Ok(CallToolResult::from_json(&serde_json::to_string(&self)?, Revision::default().lenient())?)
    }
}
