//! Several questions and steps at once: questions first, so that they are all open before any step starts.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use mrtr_schema::NamespacedInput;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ask::{Ask, Asking, Mode};
use super::step::{Step, Work};
use super::{AskUntil, QuestionKind, UrlAsk, UrlUntil};
use crate::{Failure, FlowError};

/// Something that can stand in [`Flow::join`](super::Flow::join): a question or a step.
pub trait Joinable<'a> {
    /// What it gives.
    type Item: Send + 'a;

    #[doc(hidden)]
    fn slot(self) -> Slot<'a, Self::Item>;
}

impl<'a, Q, M> Joinable<'a> for Ask<'a, Q, M>
where
    Q: QuestionKind + Unpin + Send + 'a,
    M: Mode + Unpin + 'a,
    M::Joined<Q::Value>: Send + 'a,
    Asking<'a, Q, M>: Send,
{
    type Item = M::Joined<Q::Value>;

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

    fn slot(self) -> Slot<'a, T> {
        Slot { asks: false, future: Some(self.into_future()), output: None }
    }
}

impl<'a> Joinable<'a> for UrlAsk<'a> {
    type Item = ();

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

    fn slot(self) -> Slot<'a, I::Response> {
        let mut asking = self.into_future();
        Slot::question(poll_fn(move |cx| asking.as_mut().poll(cx).map(Ok)))
    }
}

/// A tuple of questions and steps.
pub trait Join<'a> {
    /// All of them, being awaited.
    type Future: Future + Send + 'a;

    #[doc(hidden)]
    fn join(self) -> Self::Future;
}

/// One of several: still on its way, or here. Its own type is gone, so that what waits for several things is `Send`
/// whatever they borrow.
pub struct Slot<'a, T> {
    /// Whether it is polled before steps are.
    asks: bool,
    #[expect(clippy::type_complexity, reason = "this is the name for it")]
    future: Option<Pin<Box<dyn Future<Output = Result<T, FlowError>> + Send + 'a>>>,
    output: Option<T>,
}

impl<'a, T> Slot<'a, T> {
    fn question(question: impl Future<Output = Result<T, FlowError>> + Send + 'a) -> Self {
        Self { asks: true, future: Some(Box::pin(question)), output: None }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Result<(), FlowError> {
        if let Some(future) = &mut self.future
            && let Poll::Ready(output) = future.as_mut().poll(cx)
        {
            self.future = None;
            self.output = Some(output?);
        }
        Ok(())
    }
}

impl<T> fmt::Debug for Slot<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slot")
    }
}

macro_rules! join_of_tuples {
    ($($joined:ident: $($one:ident $place:tt)*;)*) => {$(
        impl<'a, $($one: Joinable<'a>),*> Join<'a> for ($($one,)*) {
            type Future = $joined<'a, $($one::Item),*>;

            fn join(self) -> Self::Future {
                $joined { slots: ($(self.$place.slot(),)*), failed: None }
            }
        }

        /// A tuple of questions and steps, being awaited.
        pub struct $joined<'a, $($one),*> {
            slots: ($(Slot<'a, $one>,)*),
            failed: Option<FlowError>,
        }

        impl<$($one),*> fmt::Debug for $joined<'_, $($one),*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($joined))
            }
        }

        /// What it gives is never pinned.
        impl<$($one),*> Unpin for $joined<'_, $($one),*> {}

        impl<$($one),*> Future for $joined<'_, $($one),*> {
            type Output = Result<($($one,)*), FlowError>;

            fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
                let this = &mut *self;
                for asks in [true, false] {
                    $(if this.slots.$place.asks == asks && let Err(error) = this.slots.$place.poll(cx) {
                        this.failed.get_or_insert(error);
                    })*
                }
                // The others go on to their end, so that what has failed here drops no step half-way.
                if $(this.slots.$place.future.is_some())||* {
                    return Poll::Pending;
                }
                if let Some(error) = this.failed.take() {
                    return Poll::Ready(Err(error));
                }
                let outputs = ($(this.slots.$place.output.take(),)*);
                Poll::Ready(Ok(($(outputs.$place.expect("each is here, and none is polled after that"),)*)))
            }
        }
    )*};
}
join_of_tuples! {
    Join1: A 0;
    Join2: A 0 B 1;
    Join3: A 0 B 1 C 2;
    Join4: A 0 B 1 C 2 D 3;
    Join5: A 0 B 1 C 2 D 3 E 4;
    Join6: A 0 B 1 C 2 D 3 E 4 F 5;
    Join7: A 0 B 1 C 2 D 3 E 4 F 5 G 6;
    Join8: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7;
}
