//! Members of a join or a race, each in a branch of its own.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use mrtr_schema::NamespacedInput;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ask::{AnswerMode, Ask, Asking};
use super::step::{Step, Work};
use super::{AskUntil, Flow, QuestionKind, UrlAsk, UrlUntil};
use crate::engine::{ActiveRun, BranchId};
use crate::error::{Failure, FlowError};

/// A member of a [`Flow::join`](super::Flow::join) or a [`Flow::race`](super::Flow::race): a question, a step or a
/// [`Branch`].
///
/// ```
/// # use mrtr_flow::{Failure, Flow};
/// async fn both(flow: Flow) -> Result<String, Failure> {
///     let count = flow.step("count", async { Ok::<_, Failure>(3_u32) });
///     let (roots, count) = flow.join((flow.roots("roots"), count)).await?;
///     Ok(format!("{} roots, {count} files", roots.len()))
/// }
/// ```
pub trait Joinable<'a> {
    /// The output of the member.
    type Item: Send + 'a;

    /// Returns its name in the record of a race.
    #[doc(hidden)]
    fn name(&self) -> &str;

    #[doc(hidden)]
    fn slot(self) -> Slot<'a, Self::Item>;
}

impl<'a, Q, M> Joinable<'a> for Ask<'a, Q, M>
where
    Q: QuestionKind + Unpin + Send + 'a,
    M: AnswerMode + Unpin + 'a,
    M::Joined<Q::Value>: Send + 'a,
    Asking<'a, Q, M>: Send,
{
    type Item = M::Joined<Q::Value>;

    fn name(&self) -> &str {
        self.key()
    }

    fn slot(self) -> Slot<'a, Self::Item> {
        let mut asking = self.into_future();
        Slot::question(poll_fn(move |cx| Pin::new(&mut asking).poll(cx).map(M::joined)))
    }
}

impl<'a, W, F, T, E> Joinable<'a> for Step<'a, W>
where
    W: Work<'a, Future = F>,
    F: Future<Output = Result<T, E>> + Send + 'a,
    T: Serialize + DeserializeOwned + Send + 'a,
    E: Into<Failure> + Send + 'a,
{
    type Item = T;

    fn name(&self) -> &str {
        self.step_name()
    }

    fn slot(self) -> Slot<'a, T> {
        Slot::new(false, self.into_future())
    }
}

impl<'a> Joinable<'a> for UrlAsk<'a> {
    type Item = ();

    fn name(&self) -> &str {
        self.key()
    }

    fn slot(self) -> Slot<'a, ()> {
        Slot::question(self.into_future())
    }
}

impl<'a, D, F> Joinable<'a> for UrlUntil<'a, D>
where
    D: FnMut() -> F + Send + 'a,
    F: Future<Output = bool> + Send + 'a,
{
    type Item = ();

    fn name(&self) -> &str {
        self.key()
    }

    fn slot(self) -> Slot<'a, ()> {
        Slot::question(self.into_future())
    }
}

impl<'a, I, D, F> Joinable<'a> for AskUntil<'a, I, D>
where
    I: NamespacedInput + Send + Sync + 'static,
    I::Params: Send + Sync,
    I::Response: Send + 'a,
    D: FnMut() -> F + Send + 'a,
    F: Future<Output = Option<I::Response>> + Send + 'a,
{
    type Item = I::Response;

    fn name(&self) -> &str {
        self.key()
    }

    fn slot(self) -> Slot<'a, I::Response> {
        Slot::question(self.into_future())
    }
}

/// Several things in a row, as one member of a join. A handler cannot await it by itself: outside a join, it would be a
/// branch of nothing.
///
/// ```
/// # use mrtr_flow::{Failure, Flow};
/// # use mrtr_flow::flow::Branch;
/// # async fn build() -> Result<u32, std::io::Error> { Ok(7) }
/// fn built(flow: &Flow) -> Branch<'_, Result<u32, Failure>> {
///     flow.branch(async { Ok(flow.step("build", build()).await?) })
/// }
/// ```
#[must_use = "a branch runs in a join"]
pub struct Branch<'a, T> {
    name: String,
    code: Pin<Box<dyn Future<Output = T> + Send + 'a>>,
}

impl<'a, T> Branch<'a, T> {
    pub(super) fn new(flow: &'a Flow, code: impl Future<Output = T> + Send + 'a) -> Self {
        Self { name: flow.name("branch"), code: Box::pin(code) }
    }
}

impl<T> fmt::Debug for Branch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Branch")
    }
}

impl<'a, T: Send + 'a> Joinable<'a> for Branch<'a, T> {
    type Item = T;

    fn name(&self) -> &str {
        &self.name
    }

    fn slot(self) -> Slot<'a, T> {
        let mut code = self.code;
        Slot::new(false, Box::pin(poll_fn(move |cx| code.as_mut().poll(cx).map(Ok))))
    }
}

/// One of several: still on its way, or here. Its own type is erased, so that a future which waits for several of them
/// is `Send`, no matter what they borrow.
pub struct Slot<'a, T> {
    /// True if it is polled before steps are.
    pub(super) asks: bool,
    /// Set when the join is polled first, so that all its members are made under the same branch.
    branch: Option<BranchId>,
    #[expect(clippy::type_complexity, reason = "this is the name for it")]
    future: Option<Pin<Box<dyn Future<Output = Result<T, FlowError>> + Send + 'a>>>,
}

impl<'a, T: 'a> Slot<'a, T> {
    fn new(asks: bool, future: Pin<Box<dyn Future<Output = Result<T, FlowError>> + Send + 'a>>) -> Self {
        Self { asks, branch: None, future: Some(future) }
    }

    fn question(question: impl Future<Output = Result<T, FlowError>> + Send + 'a) -> Self {
        Self::new(true, Box::pin(question))
    }

    /// Changes its output with `map`.
    pub(super) fn map<U>(self, map: impl FnOnce(T) -> U + Send + 'a) -> Slot<'a, U> {
        let Self { asks, branch, future } = self;
        let future = future.map(|future| {
            let mapped: Pin<Box<dyn Future<Output = Result<U, FlowError>> + Send + 'a>> =
                Box::pin(async move { future.await.map(map) });
            mapped
        });
        Slot { asks, branch, future }
    }
}

impl<T> Slot<'_, T> {
    /// Gives the member a branch, under the one that polls the join, and beside the first of its members.
    pub(super) fn fork(&mut self, run: &ActiveRun, first: &mut Option<BranchId>) {
        let branch = *self.branch.get_or_insert_with(|| run.fork(*first));
        first.get_or_insert(branch);
    }

    pub(super) fn branch(&self) -> Option<BranchId> {
        self.branch
    }

    pub(super) fn is_pending(&self) -> bool {
        self.future.is_some()
    }

    /// Polls the member in its branch.
    pub(super) fn poll(&mut self, run: &ActiveRun, cx: &mut Context<'_>) -> Poll<Result<T, FlowError>> {
        let (Some(future), Some(branch)) = (&mut self.future, self.branch) else { return Poll::Pending };
        let polled = run.in_branch(branch, || future.as_mut().poll(cx));
        if polled.is_ready() {
            self.future = None;
        }
        polled
    }
}

impl<T> fmt::Debug for Slot<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slot")
    }
}
