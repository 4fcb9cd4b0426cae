//! The failures of handlers, by their reader: the model, the caller or the operator.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mrtr_schema::{ErrorCode, ErrorObject};

/// The error of a question or a step: the reason why a flow did not get what it wanted.
///
/// To decline is not a fault; a handler may continue without the answer. Mistakes in the handler itself (a name used
/// twice, a question inside a step) never come as an error: they end the run, so that no handler can pass over them.
///
/// ```
/// # use mrtr_flow::{Failure, Flow, FlowError};
/// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Login { name: String }
/// async fn greet(flow: Flow) -> Result<String, Failure> {
///     match flow.elicit::<Login>("login", "Who are you?").await {
///         Ok(login) => Ok(format!("Hello, {}", login.name)),
///         Err(FlowError::Declined { .. }) => Ok("Hello, stranger".into()),
///         Err(error) => Err(error.into()),
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlowError {
    /// The person said no.
    #[error("`{key}` was declined")]
    Declined {
        /// The question.
        key: String,
    },
    /// The person went away without an answer.
    #[error("`{key}` was cancelled")]
    Cancelled {
        /// The question.
        key: String,
    },
    /// The step failed.
    #[error("{0}")]
    Step(StepError),
    /// An earlier run started the step, and its outcome is not known. No run starts it again.
    #[error("`{step}` was started and interrupted; whether it took effect is not known, so it is not started again")]
    Interrupted {
        /// The step.
        step: String,
    },
    /// The step took longer than its [`timeout`](crate::flow::Step::timeout) allows.
    #[error("`{step}` exceeded its time limit; whether it took effect is not known")]
    TimedOut {
        /// The step.
        step: String,
    },
    /// The run of this flow has ended, or the call does not come from its handler: the flow asks and does nothing more.
    #[error("the flow is closed: its run has ended, or it was used outside its handler")]
    Closed,
    /// The model was still calling tools when it had been given as many turns as the flow allows.
    #[error("the model was still calling tools after {turns} turns of `{key}`")]
    TooManyTurns {
        /// The question.
        key: String,
        /// The number of turns that the model was given.
        turns: u32,
    },
}

/// The recorded failure of a step: the same in the run in which it happened and in every later one.
///
/// ```
/// # use mrtr_flow::{Failure, Flow, FlowError};
/// # async fn charge() -> Result<u64, std::io::Error> { Ok(7) }
/// async fn pay(flow: Flow) -> Result<String, Failure> {
///     match flow.step("charge", charge()).await {
///         Ok(receipt) => Ok(format!("receipt {receipt}")),
///         Err(FlowError::Step(error)) => Ok(format!("not paid: {}", error.message())),
///         Err(error) => Err(error.into()),
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StepError {
    #[serde(rename = "m")]
    pub(crate) message: String,
    #[serde(rename = "d")]
    pub(crate) visibility: Visibility,
}

impl StepError {
    /// Returns the text of the failure, with its causes.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for StepError {}

/// The reader of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Visibility {
    /// The operator.
    #[serde(rename = "i")]
    Internal,
    /// The model.
    #[serde(rename = "t")]
    Tool,
}

/// A failure that the model reads, and may act upon.
///
/// ```
/// use mrtr_flow::ToolError;
///
/// async fn close(id: u64) -> Result<String, ToolError> {
///     Err(ToolError::new(format!("Bug #{id} is already closed")))
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(String);

impl ToolError {
    /// Makes a failure with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// A failure of the request itself: a JSON-RPC error.
///
/// ```
/// use mrtr_schema::ErrorCode;
/// use mrtr_flow::ProtocolError;
///
/// let error = ProtocolError::new(ErrorCode::INVALID_PARAMS, "No such work item");
/// assert_eq!(error.object().code, ErrorCode::INVALID_PARAMS);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ProtocolError(Box<ErrorObject>);

impl ProtocolError {
    /// Makes an error with this code and message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        ErrorObject::new(code, message).into()
    }

    /// Makes the error for wrong parameters.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, message)
    }

    /// Makes the error for a caller that may not do this. Its reason belongs into the log: the caller learns none.
    pub fn not_allowed() -> Self {
        Self::new(ErrorCode::NOT_ALLOWED, "This is not allowed")
    }

    /// Makes the error for credentials that lack scopes. Name all that the operation needs, so that the caller asks its
    /// issuer once.
    ///
    /// ```
    /// use mrtr_flow::ProtocolError;
    ///
    /// let error = ProtocolError::missing_scopes(["files:write".to_owned()]);
    /// assert_eq!(error.required_scopes(), ["files:write"]);
    /// ```
    pub fn missing_scopes(scopes: impl IntoIterator<Item = String>) -> Self {
        let scopes: Vec<String> = scopes.into_iter().collect();
        let text = format!("The credentials lack scopes that this needs: {}", scopes.join(" "));
        let data = serde_json::json!({ "requiredScopes": scopes });
        let mut error = ErrorObject::new(ErrorCode::NOT_ALLOWED, text);
        error.data = Some(data.into());
        Self::from(error)
    }

    /// Returns the scopes that the credentials lack, if that is the error.
    pub fn required_scopes(&self) -> Vec<String> {
        required_scopes(self.object())
    }

    /// Makes the error for a resource that does not exist. The handler of a template returns it for a URI that leads
    /// nowhere. The server sends it with the URI, under the code that the revision has for it.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow, ProtocolError};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Bug { id: u64 }
    /// async fn read(_: Flow, bug: Bug) -> Result<String, Failure> {
    ///     if bug.id > 1000 {
    ///         return Err(ProtocolError::resource_not_found("no such bug").into());
    ///     }
    ///     Ok(format!("Bug #{}", bug.id))
    /// }
    /// ```
    pub fn resource_not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::RESOURCE_NOT_FOUND, message)
    }

    /// Makes the error of a server that has more to do than it can, and has not begun with the request: over HTTP, 503
    /// with `Retry-After`.
    ///
    /// ```
    /// use mrtr_schema::ErrorCode;
    /// use mrtr_flow::ProtocolError;
    ///
    /// assert_eq!(ProtocolError::busy().object().code, ErrorCode::BUSY);
    /// ```
    pub fn busy() -> Self {
        Self::new(ErrorCode::BUSY, "The server is busy; try again later")
    }

    /// Returns the error object that goes over the wire.
    pub fn object(&self) -> &ErrorObject {
        &self.0
    }

    /// Takes out the error object that goes over the wire.
    ///
    /// ```
    /// use mrtr_flow::ProtocolError;
    ///
    /// assert_eq!(ProtocolError::invalid_params("No such item").into_object().message, "No such item");
    /// ```
    pub fn into_object(self) -> ErrorObject {
        *self.0
    }
}

impl From<ErrorObject> for ProtocolError {
    fn from(object: ErrorObject) -> Self {
        Self(Box::new(object))
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0.message, self.0.code.as_i64())
    }
}

impl Error for ProtocolError {}

/// The failure of a handler. Every error becomes one with `?`, anyhow's and strings included.
///
/// - [`ToolError`] is for the model: the caller gets its text as a tool result with `isError`.
/// - [`ProtocolError`] is for the caller: a JSON-RPC error.
/// - Every other error is for the operator: it goes to the log under a reference, and the caller gets the
///   reference alone.
///
/// If a [`ToolError`] or [`ProtocolError`] is among the causes of another error, the failure is that one. The same
/// holds for a [`FlowError`], such as a refusal: the caller of a tool gets its text with `isError`; the caller of a
/// prompt or resource gets the error -1, which is [`ErrorCode::USER_DECLINED`], with the question's key. An error with
/// `#[error(transparent)]` hides its cause, and goes to the log: give it a text.
///
/// ```
/// use mrtr_flow::{Failure, ToolError};
///
/// fn parse(text: &str) -> Result<u8, Failure> {
///     if text.is_empty() {
///         return Err(ToolError::new("say a number").into());
///     }
///     let number: u8 = text.parse()?;
///     if number == 0 { Err("zero")? }
///     Ok(number)
/// }
/// assert!(parse("x").is_err());
/// ```
pub struct Failure(pub(crate) FailureKind);

/// Writes it as a person reads it, with its causes: a program whose `main` returns a failure ends with this.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            FailureKind::Tool(text) => f.write_str(text),
            FailureKind::Unanswered(error) => write!(f, "{error}"),
            FailureKind::Protocol(error) => write!(f, "{error}"),
            FailureKind::Internal(error) => f.write_str(&with_causes(&**error)),
        }
    }
}

/// A failure, by its reader: a runner gets it from [`Failure::into_kind`].
///
/// ```
/// use mrtr_flow::{Failure, FailureKind, ToolError};
///
/// fn told(failure: Failure) -> String {
///     match failure.into_kind() {
///         FailureKind::Tool(text) => text,
///         FailureKind::Unanswered(error) => error.to_string(),
///         FailureKind::Protocol(error) => error.object().message.clone(),
///         FailureKind::Internal(error) => {
///             eprintln!("{error}");
///             "It failed; the log says why".to_owned()
///         }
///     }
/// }
/// assert_eq!(told(ToolError::new("The bug is closed").into()), "The bug is closed");
/// assert_eq!(told("no connection".into()), "It failed; the log says why");
/// ```
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a runner must deal with each of them")]
pub enum FailureKind {
    /// The model reads this, and may act upon it.
    Tool(String),
    /// The person declined or cancelled: a decision, and no fault.
    Unanswered(FlowError),
    /// The caller gets this as an error of its request.
    Protocol(ProtocolError),
    /// The operator alone reads of this, in the log.
    Internal(Box<dyn Error + Send + Sync>),
}

impl Failure {
    /// Returns the kind of the failure, by its reader. [`FailureKind`] has an example.
    pub fn into_kind(self) -> FailureKind {
        self.0
    }

    /// Makes the failure for a mistake of the handler's author, who reads about it in the log.
    pub(crate) fn misuse(text: impl Into<String>) -> Self {
        Self(FailureKind::Internal(text.into().into()))
    }

    /// Turns the failure into the entry of a step. A protocol error is for the caller of the tool, not of the step: it
    /// counts as internal.
    pub(crate) fn into_step_error(self) -> StepError {
        match self.0 {
            FailureKind::Tool(message) => StepError { message, visibility: Visibility::Tool },
            FailureKind::Unanswered(error) => StepError { message: error.to_string(), visibility: Visibility::Tool },
            FailureKind::Protocol(error) => StepError { message: error.to_string(), visibility: Visibility::Internal },
            FailureKind::Internal(error) => match into_words(error) {
                Ok(message) => StepError { message, visibility: Visibility::Internal },
                // The step panicked, and nothing is left to be dropped on the way.
                Err(Panicked(text)) => std::panic::resume_unwind(Box::new(text)),
            },
        }
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>> + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut error = Some(error);
        // anyhow hides the type of what it wraps from `dyn Error`, so it is asked itself.
        let as_any: &mut dyn Any = &mut error;
        if let Some(wrapped) = as_any.downcast_mut::<Option<anyhow::Error>>().and_then(Option::take) {
            // A context may say for whom it is; only anyhow itself finds those.
            let context = wrapped.downcast_ref().map(|ToolError(text)| FailureKind::Tool(text.clone()));
            let context = context.or_else(|| wrapped.downcast_ref().cloned().map(FailureKind::Protocol));
            let known = context.or_else(|| wrapped.chain().find_map(known_visibility));
            return Self(known.unwrap_or_else(|| FailureKind::Internal(wrapped.into())));
        }
        let error: Box<dyn Error + Send + Sync> = error.expect("only anyhow's is taken out").into();
        Self(visibility_of(&*error).unwrap_or(FailureKind::Internal(error)))
    }
}

/// Returns the kind of the first error in the chain of causes that says who is to read it.
fn visibility_of(error: &(dyn Error + 'static)) -> Option<FailureKind> {
    std::iter::successors(Some(error), |error| (*error).source()).find_map(known_visibility)
}

fn known_visibility(error: &(dyn Error + 'static)) -> Option<FailureKind> {
    if let Some(ToolError(text)) = error.downcast_ref() {
        return Some(FailureKind::Tool(text.clone()));
    }
    if let Some(error) = error.downcast_ref::<ProtocolError>() {
        return Some(FailureKind::Protocol(error.clone()));
    }
    match error.downcast_ref::<FlowError>()? {
        FlowError::Step(StepError { message, visibility: Visibility::Internal }) => {
            Some(FailureKind::Internal(message.clone().into()))
        }
        refusal @ (FlowError::Declined { .. } | FlowError::Cancelled { .. }) => {
            Some(FailureKind::Unanswered(refusal.clone()))
        }
        other => Some(FailureKind::Tool(other.to_string())),
    }
}

/// Makes the failure of a client that sent more than a state can carry: with the answer of `key` it became too much.
pub fn too_much(key: &str, limit: usize) -> Failure {
    let message = format!(
        "`inputResponses`: the answer to `{key}` is too large: the state of a call may hold {limit} bytes in all"
    );
    let mut error = ErrorObject::new(ErrorCode::INVALID_PARAMS, message);
    error.data = Some(serde_json::json!({ "key": key }).into());
    ProtocolError::from(error).into()
}

/// Makes the error for a failure inside, of which the log has more.
pub fn internal_error() -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, "Internal error")
}

/// Writes an error of a handler's in words, with its causes, and drops it. Both run code of others, and either may
/// panic. Each is contained apart, since a panic in a drop that another panic caused ends the process.
pub fn into_words(error: Box<dyn Error + Send + Sync>) -> Result<String, Panicked> {
    let text = contain(|| with_causes(&*error));
    let dropped = contain(|| drop(error));
    text.and_then(|text| dropped.map(|()| text))
}

/// Writes an error with its causes, in one line.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// The message of a panic.
#[derive(Debug)]
pub struct Panicked(pub String);

/// Runs something, and returns its panic as an error.
pub fn contain<R>(run: impl FnOnce() -> R) -> Result<R, Panicked> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = message(&*panic).to_owned();
        // What a panic carries may itself panic when it is dropped; then it is not dropped at all.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            std::mem::forget(again);
        }
        Panicked(text)
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message")
}

/// Returns the scopes that an error says are missing.
pub(crate) fn required_scopes(error: &ErrorObject) -> Vec<String> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Data {
        required_scopes: Vec<String>,
    }
    let data = error.data.as_ref().filter(|_| error.code == ErrorCode::NOT_ALLOWED);
    data.and_then(|data| data.to::<Data>().ok()).map(|data| data.required_scopes).unwrap_or_default()
}
