//! Handlers of every shape, made one.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use mrtr_schema::{JsonObject, OutputSchema, ReadError};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{output, schema_of};
use crate::{Failure, Flow, IntoOutput, Output, ToolError};

/// A handler with a name and fields of its own.
///
/// ```
/// use mrtr_server::{Failure, Flow, Tool, ToolHandler};
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

/// What can handle a tool's calls: an async function of a flow and its arguments, or of a flow alone, a closure of the
/// same shape, or a [`ToolHandler`]. `M` tells them apart, and is never written.
pub trait IntoToolHandler<M> {
    #[doc(hidden)]
    fn erase(self) -> Erased;
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
pub struct Erased {
    pub(super) input_schema: Result<JsonObject, ReadError>,
    pub(super) output_schema: Result<Option<OutputSchema>, ReadError>,
    pub(super) handler: Handler,
}

#[expect(clippy::type_complexity, reason = "this is the name for it")]
pub(super) struct Handler(Box<dyn Fn(Flow, &RawValue) -> Result<Running, Failure> + Send + Sync>);

/// A run of a handler.
pub(super) struct Running(Pin<Box<dyn Future<Output = Result<Output, Failure>> + Send>>);

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}

impl Handler {
    pub(super) async fn call(&self, flow: Flow, arguments: &RawValue) -> Result<Output, Failure> {
        let Running(running) = (self.0)(flow, arguments)?;
        running.await
    }
}

fn parse<A: DeserializeOwned>(arguments: &RawValue) -> Result<A, Failure> {
    let read = serde_json::from_str(arguments.get());
    read.map_err(|error| ToolError::new(format!("The arguments do not fit: {error}")).into())
}

impl<F, A, R, O, E> IntoToolHandler<(Arguments, A, O, E)> for F
where
    F: Fn(Flow, A) -> R + Send + Sync + 'static,
    A: DeserializeOwned + JsonSchema + 'static,
    R: Future<Output = Result<O, E>> + Send + 'static,
    O: IntoOutput + 'static,
    E: Into<Failure> + 'static,
{
    fn erase(self) -> Erased {
        Erased {
            input_schema: schema_of::<A>(),
            output_schema: O::output_schema(),
            handler: Handler(Box::new(move |flow, arguments| {
                let running = self(flow, parse(arguments)?);
                Ok(Running(Box::pin(async move { output(running.await) })))
            })),
        }
    }
}

impl<F, R, O, E> IntoToolHandler<(NoArguments, O, E)> for F
where
    F: Fn(Flow) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, E>> + Send + 'static,
    O: IntoOutput + 'static,
    E: Into<Failure> + 'static,
{
    fn erase(self) -> Erased {
        Erased {
            input_schema: JsonObject::parse(r#"{"type": "object"}"#),
            output_schema: O::output_schema(),
            handler: Handler(Box::new(move |flow, _| {
                let running = self(flow);
                Ok(Running(Box::pin(async move { output(running.await) })))
            })),
        }
    }
}

impl<H: ToolHandler> IntoToolHandler<ByTrait> for H {
    fn erase(self) -> Erased {
        let handler = Arc::new(self);
        Erased {
            input_schema: schema_of::<H::Arguments>(),
            output_schema: H::Output::output_schema(),
            handler: Handler(Box::new(move |flow, arguments| {
                let (handler, arguments) = (Arc::clone(&handler), parse(arguments)?);
                Ok(Running(Box::pin(async move { output(handler.call(flow, arguments).await) })))
            })),
        }
    }
}
