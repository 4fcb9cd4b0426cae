//! The shapes of a handler, told by what it is called with alone.

use std::fmt;
use std::sync::Arc;

use mrtr_flow::Flow;

use super::ToolHandler;
use super::arguments::NoArguments;
use super::result::TraitCall;

/// What can be called as a handler: a function of a flow, a function of a flow and one more parameter, or a
/// [`ToolHandler`]. Whether its arguments and its result will do is another question, so that the compiler can name
/// what will not. `M` tells the shapes apart, and is never written.
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
    /// What it takes besides the flow.
    type Arguments;
    /// What a call gives.
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
