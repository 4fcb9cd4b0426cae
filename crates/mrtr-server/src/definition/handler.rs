//! Handlers of every shape, turned into one type.

mod arguments;
mod call;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use mrtr_flow::for_server::echo;
use mrtr_flow::{Failure, Flow};
use mrtr_schema::tools::OutputSchema;
use mrtr_schema::{CallToolResult, JsonObject, ReadError};
use serde_json::value::RawValue;

use crate::definition::flow_output::FlowOutput;
use crate::definition::output::{IntoOutput, Output};

pub use arguments::HandlerArguments;
pub use call::{HandlerCall, HandlerFuture, HandlerResult};

/// A handler of a tool with a name and fields of its own.
///
/// ```
/// use mrtr_server::{Failure, Flow, Tool};
/// use mrtr_server::handler::ToolHandler;
///
/// struct Greeter { greeting: String }
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Name { name: String }
///
/// impl ToolHandler for Greeter {
///     type Arguments = Name;
///     type Output = String;
///
///     async fn call(&self, _: Flow, arguments: Name) -> Result<String, Failure> {
///         Ok(format!("{}, {}", self.greeting, arguments.name))
///     }
/// }
///
/// let tool = Tool::new("greet", Greeter { greeting: "Hello".into() });
/// ```
pub trait ToolHandler: Send + Sync + 'static {
    /// The type of the handler's arguments.
    type Arguments: HandlerArguments;
    /// The type of the handler's output.
    type Output: IntoOutput + 'static;

    /// Runs the handler once.
    fn call(
        &self,
        flow: Flow,
        arguments: Self::Arguments,
    ) -> impl Future<Output = Result<Self::Output, Failure>> + Send;
}

/// A handler of calls that end in `R`: an async function of a flow and its arguments, or of a flow alone, a closure of
/// the same shape, or a [`ToolHandler`]. `M` tells them apart, and is never written.
///
/// Implemented for every [`HandlerCall`] whose [`arguments`](HandlerArguments) can be read and whose
/// [`future`](HandlerFuture) ends in a [`HandlerResult`]: the compiler names the one that is not.
///
/// ```
/// use mrtr_server::{Failure, Flow, Tool};
/// use mrtr_server::handler::IntoHandler;
///
/// /// Takes handlers of every shape.
/// fn described<M>(name: &str, handler: impl IntoHandler<M>) -> Tool {
///     Tool::new(name, handler).description("One of ours")
/// }
///
/// let tool = described("greet", async |_: Flow| Ok::<_, Failure>("Hello"));
/// ```
///
/// It may fail with any error: anyhow's,
///
/// ```
/// # use mrtr_server::{Flow, Tool};
/// async fn parse(flow: Flow) -> anyhow::Result<String> {
///     let number: u8 = "300".parse()?;
///     anyhow::ensure!(number > 0, "too small");
///     Ok(number.to_string())
/// }
/// let tool = Tool::new("parse", parse);
/// ```
///
/// one's own, made with thiserror,
///
/// ```
/// # use mrtr_server::{Flow, FlowError, Tool};
/// #[derive(Debug, thiserror::Error)]
/// enum TrackerError {
///     #[error("the tracker cannot be reached")]
///     Unreachable(#[from] std::io::Error),
///     #[error("nobody answered")]
///     Unanswered(#[from] FlowError),
/// }
///
/// async fn count(flow: Flow) -> Result<String, TrackerError> {
///     Ok(flow.roots("roots").await?.len().to_string())
/// }
/// let tool = Tool::new("count", count);
/// ```
///
/// or a string.
///
/// ```
/// # use mrtr_server::{Flow, Tool};
/// async fn refuse(_: Flow) -> Result<String, String> {
///     Err("not today".to_owned())
/// }
/// let tool = Tool::new("refuse", refuse);
/// ```
#[diagnostic::on_unimplemented(
    message = "this cannot be a handler",
    label = "not a handler",
    note = "a handler is `async fn(Flow) -> Result<Output, Error>`, `async fn(Flow, Arguments) -> Result<Output, Error>`, a closure of that shape, or a `ToolHandler`",
    note = "its first parameter is a `Flow`, by value; its arguments are one struct; it is `Send + Sync + 'static`"
)]
pub trait IntoHandler<M, R = CallToolResult>:
    HandlerCall<M, Arguments: HandlerArguments, Future: HandlerFuture<R>> + Send + Sync + Sized + 'static
{
    #[doc(hidden)]
    fn erase(self) -> ErasedHandler<R> {
        let handler = Arc::new(self);
        ErasedHandler {
            input_schema: Self::Arguments::input_schema(),
            output_schema: Self::Future::output_schema(),
            arguments: std::any::type_name::<Self::Arguments>(),
            handler: Handler {
                begin: Box::new(move |flow, arguments| {
                    let arguments = Self::Arguments::read(arguments)?;
                    Ok(Self::call(&handler, flow, arguments).run())
                }),
                schema_by_hand_of: None,
            },
        }
    }
}

// One implementation for all of them: with several, the compiler would say that none fits, and not why.
impl<H, M, R> IntoHandler<M, R> for H where
    H: HandlerCall<M, Arguments: HandlerArguments, Future: HandlerFuture<R>> + Send + Sync + 'static
{
}

/// A handler of any shape.
#[derive(Debug)]
pub struct ErasedHandler<R> {
    pub(crate) input_schema: Result<JsonObject, ReadError>,
    pub(crate) output_schema: Result<Option<OutputSchema>, ReadError>,
    /// The name of the type of its arguments in the author's code.
    pub(crate) arguments: &'static str,
    pub(crate) handler: Handler<R>,
}

pub(crate) struct Handler<R> {
    begin: Box<Begin<R>>,
    /// The name of the tool whose callers follow a schema that its author wrote, and not the one of the handler's type.
    pub(crate) schema_by_hand_of: Option<String>,
}

/// Reads the arguments and begins a run, or says why they do not fit.
type Begin<R> = dyn Fn(Flow, &RawValue) -> Result<RunningHandler<R>, String> + Send + Sync;

/// A run of a handler.
pub struct RunningHandler<R>(pub(crate) Pin<Box<dyn Future<Output = Result<Output<R>, Failure>> + Send>>);

impl<R> RunningHandler<R> {
    #[inline]
    fn new(running: impl Future<Output = Result<Output<R>, Failure>> + Send + 'static) -> Self {
        Self(Box::pin(running))
    }
}

impl<R> fmt::Debug for RunningHandler<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunningHandler")
    }
}

impl<R> fmt::Debug for Handler<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}

impl<R: FlowOutput> Handler<R> {
    /// Begins a run. Returns a future to await, or the outcome if there is one already.
    pub(crate) fn start(
        &self,
        flow: Flow,
        arguments: &RawValue,
    ) -> Result<RunningHandler<R>, Result<Output<R>, Failure>> {
        (self.begin)(flow, arguments).map_err(|reason| self.unfit(&reason))
    }

    /// Turns arguments that do not fit into a result or an error.
    #[cold]
    fn unfit(&self, reason: &str) -> Result<Output<R>, Failure> {
        let unfit = match &self.schema_by_hand_of {
            None => R::invalid_arguments(reason),
            // The arguments have passed the schema that callers see: whoever sent them made no mistake.
            Some(tool) => {
                let logged = &*echo::logged(reason);
                tracing::error!(
                    tool,
                    reason = logged,
                    "the handler's type refuses arguments that follow the tool's schema: correct the schema or the type"
                );
                let reason = echo::sentence(reason);
                R::failed(format!("The tool could not take these arguments, though they follow its schema: {reason}"))
            }
        };
        match unfit {
            Ok(result) => Ok(Output::Complete(result)),
            Err(error) => Err(mrtr_flow::ProtocolError::from(error).into()),
        }
    }
}
