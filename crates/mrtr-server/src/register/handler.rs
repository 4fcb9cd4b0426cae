//! Handlers of every shape, made one.

mod invalid_arguments;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use mrtr_schema::tools::OutputSchema;
use mrtr_schema::{CallToolResult, JsonObject, ReadError};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::error::Failure;
use crate::flow::Flow;
use crate::register::flow_output::FlowOutput;
use crate::register::output::{IntoOutput, Output};

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
    /// What it takes.
    type Arguments: DeserializeOwned + JsonSchema + Send + 'static;
    /// What it gives.
    type Output: IntoOutput + 'static;

    /// One run.
    fn call(
        &self,
        flow: Flow,
        arguments: Self::Arguments,
    ) -> impl Future<Output = Result<Self::Output, Failure>> + Send;
}

/// What can handle a call that ends in `R`: an async function of a flow and its arguments, or of a flow alone, a
/// closure of the same shape, or a [`ToolHandler`]. `M` tells them apart, and is never written.
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
pub trait IntoHandler<M, R = CallToolResult> {
    #[doc(hidden)]
    fn erase(self) -> ErasedHandler<R>;
}

/// Marks functions of a flow and arguments.
#[derive(Debug)]
pub enum Arguments {}

/// Marks functions of a flow alone.
#[derive(Debug)]
pub enum NoArguments {}

/// Marks types that implement the trait.
#[derive(Debug)]
pub enum ByTrait {}

/// A handler of any shape.
#[derive(Debug)]
pub struct ErasedHandler<R> {
    pub(crate) input_schema: Result<JsonObject, ReadError>,
    pub(crate) output_schema: Result<Option<OutputSchema>, ReadError>,
    pub(crate) handler: Handler<R>,
}

#[expect(clippy::type_complexity, reason = "this is the name for it")]
pub(crate) struct Handler<R>(Box<dyn Fn(Flow, &RawValue) -> Result<HandlerFuture<R>, String> + Send + Sync>);

/// A run of a handler.
pub(crate) struct HandlerFuture<R>(pub(crate) Pin<Box<dyn Future<Output = Result<Output<R>, Failure>> + Send>>);

impl<R> fmt::Debug for Handler<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}

impl<R: FlowOutput> Handler<R> {
    pub(crate) async fn call(&self, flow: Flow, arguments: &RawValue) -> Result<Output<R>, Failure> {
        match (self.0)(flow, arguments) {
            Ok(HandlerFuture(running)) => running.await,
            Err(reason) => unfit(&reason),
        }
    }

    /// As [`call`](Self::call), for a caller that is not in a hurry: a second caller of that one keeps it from being a
    /// part of the round. Gives what is to be awaited, or what came of it already.
    pub(crate) fn start(
        &self,
        flow: Flow,
        arguments: &RawValue,
    ) -> Result<HandlerFuture<R>, Result<Output<R>, Failure>> {
        (self.0)(flow, arguments).map_err(|reason| unfit(&reason))
    }
}

/// What comes of arguments that do not fit.
#[cold]
fn unfit<R: FlowOutput>(reason: &str) -> Result<Output<R>, Failure> {
    match R::invalid_arguments(reason) {
        Ok(result) => Ok(Output::Complete(result)),
        Err(error) => Err(crate::error::ProtocolError::from(error).into()),
    }
}

fn parse<A: DeserializeOwned>(arguments: &RawValue) -> Result<A, String> {
    serde_json::from_str(arguments.get()).map_err(|error| invalid_arguments::reason::<A>(arguments, error))
}

/// A result of a handler, as an output.
fn output<R, O: IntoOutput<R>, E: Into<Failure>>(returned: Result<O, E>) -> Result<Output<R>, Failure> {
    returned.map_err(Into::into)?.into_output()
}

/// The JSON Schema of a type, as an object.
fn schema_of<T: JsonSchema>() -> Result<JsonObject, ReadError> {
    JsonObject::of(&schemars::schema_for!(T))
}

impl<F, A, T, O, E, R> IntoHandler<(Arguments, A, O, E), R> for F
where
    F: Fn(Flow, A) -> T + Send + Sync + 'static,
    A: DeserializeOwned + JsonSchema + 'static,
    T: Future<Output = Result<O, E>> + Send + 'static,
    O: IntoOutput<R> + 'static,
    E: Into<Failure> + 'static,
{
    fn erase(self) -> ErasedHandler<R> {
        ErasedHandler {
            input_schema: schema_of::<A>(),
            output_schema: O::output_schema(),
            handler: Handler(Box::new(move |flow, arguments| {
                let running = self(flow, parse(arguments)?);
                Ok(HandlerFuture(Box::pin(async move { output(running.await) })))
            })),
        }
    }
}

impl<F, T, O, E, R> IntoHandler<(NoArguments, O, E), R> for F
where
    F: Fn(Flow) -> T + Send + Sync + 'static,
    T: Future<Output = Result<O, E>> + Send + 'static,
    O: IntoOutput<R> + 'static,
    E: Into<Failure> + 'static,
{
    fn erase(self) -> ErasedHandler<R> {
        ErasedHandler {
            input_schema: JsonObject::parse(r#"{"type": "object"}"#),
            output_schema: O::output_schema(),
            handler: Handler(Box::new(move |flow, _| {
                let running = self(flow);
                Ok(HandlerFuture(Box::pin(async move { output(running.await) })))
            })),
        }
    }
}

impl<H: ToolHandler> IntoHandler<ByTrait, CallToolResult> for H {
    fn erase(self) -> ErasedHandler<CallToolResult> {
        let handler = Arc::new(self);
        ErasedHandler {
            input_schema: schema_of::<H::Arguments>(),
            output_schema: H::Output::output_schema(),
            handler: Handler(Box::new(move |flow, arguments| {
                let (handler, arguments) = (Arc::clone(&handler), parse(arguments)?);
                Ok(HandlerFuture(Box::pin(async move { output(handler.call(flow, arguments).await) })))
            })),
        }
    }
}
