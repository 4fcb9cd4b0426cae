//! The results that a flow can end in, by method, and how each says that it failed.

use std::error::Error;

use mrtr_flow::for_server::{Panicked, echo, internal_error, into_words};
use mrtr_flow::{FlowError, ProtocolError};
use mrtr_schema::completion::CompleteResult;
use mrtr_schema::meta::ResultMeta;
use mrtr_schema::prompts::GetPromptResult;
use mrtr_schema::resources::ReadResourceResult;
use mrtr_schema::{CallToolResult, ContentBlock, ErrorCode, ErrorObject, Wire};
use serde_json::json;

use crate::definition::parts::Shared;

/// The complete result of a method whose handlers are flows. Only this crate implements it.
///
/// ```
/// use mrtr_server::extend::FlowOutput;
/// use mrtr_server::handler::Output;
///
/// fn is_complete<R: FlowOutput>(output: &Output<R>) -> bool {
///     matches!(output, Output::Complete(_))
/// }
/// ```
pub trait FlowOutput: Wire {
    /// The name for its handler in messages.
    #[doc(hidden)]
    const WHAT: &'static str;

    /// Says that the handler failed, in words for the caller.
    #[doc(hidden)]
    fn failed(text: String) -> Result<Self, ErrorObject> {
        Err(ErrorObject::new(ErrorCode::INTERNAL_ERROR, text))
    }

    /// Says that the person declined or cancelled: the caller's decision, and no fault of the server's.
    #[doc(hidden)]
    fn unanswered(error: &FlowError) -> Result<Self, ErrorObject> {
        let (key, action, message) = match error {
            FlowError::Declined { key } => (key, "decline", format!("The user declined to answer `{key}`")),
            FlowError::Cancelled { key } => (key, "cancel", format!("The user cancelled `{key}` without an answer")),
            other => return Self::failed(other.to_string()),
        };
        let mut error = ErrorObject::new(ErrorCode::USER_DECLINED, message);
        error.data = Some(json!({ "key": key, "action": action }).into());
        Err(error)
    }

    /// Says that the call took as long as it may: the caller has to begin it anew.
    #[doc(hidden)]
    fn ended(text: String) -> Result<Self, ErrorObject> {
        Err(ErrorObject::new(ErrorCode::FLOW_ENDED, text))
    }

    /// Says that the arguments do not fit, and why.
    #[doc(hidden)]
    fn invalid_arguments(reason: &str) -> Result<Self, ErrorObject> {
        Err(ProtocolError::invalid_params(do_not_fit(reason)).into_object())
    }

    /// The metadata of the result.
    #[doc(hidden)]
    fn meta(&mut self) -> &mut Option<ResultMeta>;
}

impl FlowOutput for CallToolResult {
    const WHAT: &'static str = "tool";

    /// Makes a result that tells the model of the failure, so that it may try again.
    fn failed(text: String) -> Result<Self, ErrorObject> {
        let mut result = Self::new([ContentBlock::text(text)]);
        result.is_error = Some(true);
        Ok(result)
    }

    fn unanswered(error: &FlowError) -> Result<Self, ErrorObject> {
        Self::failed(error.to_string())
    }

    fn ended(text: String) -> Result<Self, ErrorObject> {
        Self::failed(text)
    }

    fn invalid_arguments(reason: &str) -> Result<Self, ErrorObject> {
        Self::failed(do_not_fit(reason))
    }

    fn meta(&mut self) -> &mut Option<ResultMeta> {
        &mut self.meta
    }
}

fn do_not_fit(reason: &str) -> String {
    format!("The arguments do not fit: {}", echo::sentence(reason))
}

macro_rules! flow_outputs {
    ($($result:ty, $what:literal;)*) => {$(
        impl FlowOutput for $result {
            const WHAT: &'static str = $what;

            fn meta(&mut self) -> &mut Option<ResultMeta> {
                &mut self.meta
            }
        }
    )*};
}
flow_outputs! {
    GetPromptResult, "prompt";
    CompleteResult, "completion";
}

impl FlowOutput for ReadResourceResult {
    const WHAT: &'static str = "resource";

    /// Says that there is nothing at the URI, because its variables are not what the handler takes.
    fn invalid_arguments(reason: &str) -> Result<Self, ErrorObject> {
        Err(ProtocolError::resource_not_found(do_not_fit(reason)).into_object())
    }

    fn meta(&mut self) -> &mut Option<ResultMeta> {
        &mut self.meta
    }
}

/// Keeps an error of a handler's for the log, and gives the caller a reference to it; the error too, if the server was
/// built to explain failures.
pub(crate) fn internal_failure<R: FlowOutput>(
    shared: &Shared,
    name: &str,
    error: Box<dyn Error + Send + Sync>,
) -> Result<R, ErrorObject> {
    let (what, reference) = (R::WHAT, shared.fresh_id());
    let cause = into_words(error).map_err(|Panicked(text)| {
        let panic = &*echo::logged(&text);
        tracing::error!(%reference, name, panic, "a {what} failed with an error that panicked");
        internal_error()
    })?;
    let cause = echo::logged(&cause);
    tracing::error!(%reference, name, error = &*cause, "a {what} failed");
    #[cfg(feature = "testing")]
    shared.causes.keep(reference, &cause);
    R::failed(if shared.explains_failures {
        format!("The {what} `{name}` failed (reference {reference}): {cause}")
    } else {
        format!("The {what} failed (reference {reference})")
    })
}
