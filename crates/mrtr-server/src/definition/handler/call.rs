//! The shapes of handlers, told apart by what they are called with, and the future of a result that a call returns.

use std::fmt;
use std::sync::Arc;

use mrtr_flow::{Failure, Flow};
use mrtr_schema::tools::OutputSchema;
use mrtr_schema::{CallToolResult, ReadError};

use crate::definition::handler::arguments::NoArguments;
use crate::definition::handler::{RunningHandler, ToolHandler};
use crate::definition::output::{IntoOutput, Output};

/// Anything that can be called as a handler: a function of a flow, a function of a flow and one more parameter, or a
/// [`ToolHandler`]. This trait does not check the arguments and the result, so that the compiler can name the one that
/// does not fit. `M` tells the shapes apart, and is never written.
///
/// ```
/// use mrtr_server::Flow;
/// use mrtr_server::handler::HandlerCall;
///
/// fn is_called<M>(_: impl HandlerCall<M>) {}
/// is_called(async |_: Flow| Ok::<_, String>("Hello"));
/// is_called(async |_: Flow, name: String| Ok::<_, String>(name));
/// ```
#[diagnostic::on_unimplemented(
    message = "this cannot be called as a handler",
    label = "not a handler",
    note = "a handler is `async fn(Flow) -> Result<Output, Error>`, `async fn(Flow, Arguments) -> Result<Output, Error>`, a closure of that shape, or a `ToolHandler`",
    note = "its first parameter is a `Flow`, by value; all its arguments are one struct, its second parameter"
)]
pub trait HandlerCall<M> {
    /// The arguments that it takes besides the flow.
    type Arguments;
    /// The future that a call returns.
    type Future;

    /// Begins a run.
    #[doc(hidden)]
    fn call(handler: &Arc<Self>, flow: Flow, arguments: Self::Arguments) -> Self::Future;
}

/// Marks functions of a flow and arguments.
pub struct WithArguments<A>(std::marker::PhantomData<A>);

impl<A> fmt::Debug for WithArguments<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WithArguments")
    }
}

/// Marks functions of a flow alone.
#[derive(Debug)]
pub enum WithoutArguments {}

/// Marks types that implement the trait.
#[derive(Debug)]
pub enum ByTrait {}

impl<F: Fn(Flow, A) -> T, A, T> HandlerCall<WithArguments<A>> for F {
    type Arguments = A;
    type Future = T;

    fn call(handler: &Arc<Self>, flow: Flow, arguments: A) -> T {
        handler(flow, arguments)
    }
}

impl<F: Fn(Flow) -> T, T> HandlerCall<WithoutArguments> for F {
    type Arguments = NoArguments;
    type Future = T;

    fn call(handler: &Arc<Self>, flow: Flow, _: NoArguments) -> T {
        handler(flow)
    }
}

impl<H: ToolHandler> HandlerCall<ByTrait> for H {
    type Arguments = H::Arguments;
    type Future = TraitCall<H>;

    fn call(handler: &Arc<Self>, flow: Flow, arguments: H::Arguments) -> TraitCall<H> {
        TraitCall { handler: Arc::clone(handler), flow, arguments }
    }
}

/// The future that a call of a handler returns, where the call ends in `R`: it may be sent to another thread, and ends
/// in a [`HandlerResult`].
///
/// ```
/// use mrtr_schema::CallToolResult;
/// use mrtr_server::handler::HandlerFuture;
///
/// fn is_run(_: impl HandlerFuture<CallToolResult>) {}
/// is_run(async { Ok::<_, String>("Hello") });
/// ```
#[diagnostic::on_unimplemented(
    message = "a handler is async, and this one returns `{Self}` at once",
    label = "this handler does not return a future that can be run",
    note = "write `async fn`, or return `async move {{ … }}`",
    note = "the future is `Send + 'static`: keep no `Rc`, `RefCell` reference or lock guard of std's across an `.await`"
)]
pub trait HandlerFuture<R> {
    /// Runs the call to its end.
    #[doc(hidden)]
    fn run(self) -> RunningHandler<R>;

    /// The schema that its structured results follow, if it has any.
    #[doc(hidden)]
    fn output_schema() -> Result<Option<OutputSchema>, ReadError>;
}

impl<T, R> HandlerFuture<R> for T
where
    T: Future<Output: HandlerResult<R>> + Send + 'static,
{
    #[inline]
    fn run(self) -> RunningHandler<R> {
        RunningHandler::new(async move { self.await.into_output() })
    }

    fn output_schema() -> Result<Option<OutputSchema>, ReadError> {
        T::Output::output_schema()
    }
}

/// A call of a [`ToolHandler`], which makes its future when it is run: that future has no name.
pub struct TraitCall<H: ToolHandler> {
    pub(super) handler: Arc<H>,
    pub(super) flow: Flow,
    pub(super) arguments: H::Arguments,
}

impl<H: ToolHandler> fmt::Debug for TraitCall<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TraitCall")
    }
}

#[diagnostic::do_not_recommend]
impl<H: ToolHandler> HandlerFuture<CallToolResult> for TraitCall<H> {
    fn run(self) -> RunningHandler<CallToolResult> {
        let Self { handler, flow, arguments } = self;
        RunningHandler::new(async move { handler.call(flow, arguments).await.into_output() })
    }

    fn output_schema() -> Result<Option<OutputSchema>, ReadError> {
        H::Output::output_schema()
    }
}

/// The result of a handler, where the call ends in `R`: a `Result` of an [output](IntoOutput) or any error.
///
/// ```
/// use mrtr_schema::CallToolResult;
/// use mrtr_server::handler::HandlerResult;
///
/// fn ends<T: HandlerResult<CallToolResult>>() {}
/// ends::<Result<String, std::io::Error>>();
/// ```
#[diagnostic::on_unimplemented(
    message = "a handler returns a `Result`, and this one returns `{Self}`",
    label = "this handler does not return a `Result`",
    note = "write `-> Result<{Self}, Failure>` and end in `Ok(…)`; the error may be `mrtr::Failure`, `anyhow::Error`, an error of your own, or a `String`"
)]
pub trait HandlerResult<R> {
    #[doc(hidden)]
    fn into_output(self) -> Result<Output<R>, Failure>;

    #[doc(hidden)]
    fn output_schema() -> Result<Option<OutputSchema>, ReadError>;
}

impl<O: IntoOutput<R>, E: Into<Failure>, R> HandlerResult<R> for Result<O, E> {
    #[inline]
    fn into_output(self) -> Result<Output<R>, Failure> {
        self.map_err(Into::into)?.into_output()
    }

    fn output_schema() -> Result<Option<OutputSchema>, ReadError> {
        O::output_schema()
    }
}
