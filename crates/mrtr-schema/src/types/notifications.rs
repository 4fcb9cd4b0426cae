//! Messages that servers and clients send without being asked: progress, log messages, cancellation.

use mrtr_macros::Wire;

use crate::json::{Json, Members, Number};
use crate::revision::Feature;
use crate::types::meta::{LoggingLevel, NotificationMeta, ProgressToken, RequestMeta};
use crate::types::params::{RetryAnywhere, required_params};
use crate::types::request_id::RequestId;

/// Says how far a request has come.
///
/// ```
/// use mrtr_schema::meta::ProgressToken;
/// use mrtr_schema::notifications::ProgressParams;
///
/// let mut halfway = ProgressParams::new(ProgressToken("upload".into()), 50);
/// halfway.total = Some(100.into());
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ProgressNotificationParams")]
#[non_exhaustive]
pub struct ProgressParams {
    /// The token that the request gave.
    pub progress_token: ProgressToken,
    /// The progress so far; never less than before.
    pub progress: Number,
    /// The progress at the end, if known.
    pub total: Option<Number>,
    /// The step that is being done, in words.
    pub message: Option<String>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<NotificationMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A log message.
///
/// ```
/// use mrtr_schema::{Json, LoggingLevel};
/// use mrtr_schema::notifications::LoggingMessageParams;
///
/// let message = LoggingMessageParams::new(LoggingLevel::Warning, Json::of("The disk is nearly full").unwrap());
/// assert_eq!(serde_json::to_string(&message)?, r#"{"level":"warning","data":"The disk is nearly full"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "LoggingMessageNotificationParams")]
#[non_exhaustive]
pub struct LoggingMessageParams {
    /// The severity.
    pub level: LoggingLevel,
    /// The part of the server that the message comes from.
    pub logger: Option<String>,
    /// The message: text, or whatever else.
    pub data: Json,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<NotificationMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Says that the result of a request is no longer wanted.
///
/// ```
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::notifications::CancelledParams;
///
/// let mut params = CancelledParams::new();
/// assert!(params.to_json(Revision::V2026_07_28).is_err(), "it must say which request");
/// params.request_id = Some(7.into());
/// assert_eq!(params.to_json(Revision::V2026_07_28)?, r#"{"requestId":7}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "CancelledNotificationParams")]
#[non_exhaustive]
pub struct CancelledParams {
    /// The request.
    #[wire(required = Feature::CancelledNamesRequest)]
    pub request_id: Option<RequestId>,
    /// The reason.
    pub reason: Option<String>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<NotificationMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Parameters of `logging/setLevel`, in sessions.
///
/// ```
/// use mrtr_schema::{LoggingLevel, Revision, Wire};
/// use mrtr_schema::notifications::SetLevelParams;
///
/// let params = SetLevelParams::new(LoggingLevel::Error);
/// assert_eq!(params.to_json(Revision::Sep2322)?, r#"{"level":"error"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "SetLevelRequestParams", when = Feature::Sessions)]
#[non_exhaustive]
pub struct SetLevelParams {
    /// The least severe messages that the client wants.
    pub level: LoggingLevel,
    /// The members that make the request a retry, in `draft-2026-02`.
    #[wire(flatten, lenient)]
    pub retry: RetryAnywhere,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<RequestMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Says that the interaction of a person at a URL is complete, in sessions.
///
/// ```
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::jsonrpc::Notification;
/// use mrtr_schema::methods::ElicitationComplete;
/// use mrtr_schema::notifications::ElicitationCompleteParams;
///
/// let done = Notification::<ElicitationComplete>::new(ElicitationCompleteParams::new("e-1"));
/// assert!(done.to_json(Revision::Sep2322)?.ends_with(r#""params":{"elicitationId":"e-1"}}"#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[non_exhaustive]
pub struct ElicitationCompleteParams {
    /// The elicitation.
    pub elicitation_id: String,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

required_params!(ProgressParams, LoggingMessageParams, CancelledParams, SetLevelParams, ElicitationCompleteParams);
