//! What a call wants done next, and how it ends.

use std::fmt;
use std::time::Duration;

use mrtr_schema::{ErrorObject, InputRequest, Json};
use serde_json::value::RawValue;

use super::Stop;

/// What is to be done next, of which [`Call`](crate::Call) has an example.
///
/// A task is followed like anything else: what is sent is then a poll of it, or answers for it.
///
/// ```
/// use mrtr_client::{Action, Call, Limits};
/// use mrtr_schema::{JsonObject, Revision};
///
/// let call = Call::new(Revision::Published, "tools/list", JsonObject::default(), Limits::default(), 1);
/// assert!(matches!(call.action(), Action::Send(request) if request.method == "tools/list"));
/// ```
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "the driver of a call must do each of them")]
pub enum Action {
    /// Send this, and tell what was replied.
    Send(Outgoing),
    /// Answer these, each by its key, in any order.
    Gather(Vec<(String, InputRequest)>),
    /// Wait this long.
    Wait(Duration),
    /// Nothing: the call is over, and [`Call::end`](crate::Call::end) says how.
    Done,
}

/// A request to be sent, without what the driver adds: an id and metadata.
///
/// ```
/// use mrtr_client::{Action, Call, Limits};
/// use mrtr_schema::{JsonObject, Revision};
///
/// let params = JsonObject::parse(r#"{"uri": "docs://guide"}"#)?;
/// let call = Call::new(Revision::Published, "resources/read", params, Limits::default(), 1);
/// let Action::Send(request) = call.action() else { panic!("it sends first") };
/// assert_eq!(request.params.get(), r#"{"uri": "docs://guide"}"#);
/// assert!(!request.is_retry);
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Outgoing {
    /// The method.
    pub method: String,
    /// The parameters: an object.
    pub params: Box<RawValue>,
    /// Whether it carries answers or a state, or is about a task: then its result is never kept (CL-6).
    pub is_retry: bool,
}

/// Shows no parameters: they may hold what a person answered.
impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing").field("method", &self.method).finish_non_exhaustive()
    }
}

/// How a call ended.
///
/// ```
/// use mrtr_client::{Call, Limits, CallOutcome, Stop};
/// use mrtr_schema::{Json, JsonObject, Revision};
///
/// let mut call = Call::new(Revision::Published, "tools/call", JsonObject::default(), Limits::default(), 1);
/// call.replied(Ok(Json::parse(r#"{"resultType": "input_required"}"#)?.as_raw()), None);
/// assert!(matches!(call.end(), (Some(CallOutcome::Stopped(Stop::BadReply(_))), _)));
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum CallOutcome {
    /// With this result.
    Complete(Json),
    /// With this error of the server's.
    Failed(ErrorObject),
    /// It may be picked up again.
    Stopped(Stop),
}
