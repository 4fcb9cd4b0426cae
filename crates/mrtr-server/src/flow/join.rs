//! Several questions and steps at once: questions first, so that they are all open before any step starts.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ask::{Ask, Asking, Mode};
use super::step::{Step, Work};
use super::{QuestionKind, UrlAsk, UrlUntil};
use crate::{Failure, FlowError};

/// Something that can stand in [`Flow::join`](super::Flow::join): a question or a step.
///
/// ```
/// # use mrtr_server::{Failure, Flow};
/// async fn both(flow: Flow) -> Result<String, Failure> {
///     let count = flow.step("count", async { Ok::<_, Failure>(3_u32) });
///     let (roots, count) = flow.join((flow.roots("roots"), count)).await?;
///     Ok(format!("{} roots, {count} files", roots.len()))
/// }
/// ```
pub trait Joinable {
    /// What it gives.
    type Item;

    /// It, being awaited.
    type Future: Future + Send;

    /// Whether it is polled before steps are.
    #[doc(hidden)]
    const ASKS: bool;

    #[doc(hidden)]
    fn begin(self) -> Pin<Box<Self::Future>>;

    #[doc(hidden)]
    fn item(output: <Self::Future as Future>::Output) -> Result<Self::Item, FlowError>;
}

impl<'a, Q, M> Joinable for Ask<'a, Q, M>
where
    Q: QuestionKind + Unpin + Send,
    M: Mode + Unpin,
    Asking<'a, Q, M>: Send,
{
    type Item = M::Joined<Q::Value>;
    type Future = Asking<'a, Q, M>;

    const ASKS: bool = true;

    fn begin(self) -> Pin<Box<Self::Future>> {
        Box::pin(self.into_future())
    }

    fn item(output: M::Output<Q::Value>) -> Result<Self::Item, FlowError> {
        M::joined(output)
    }
}

impl<'a, W, F, T, E> Joinable for Step<'a, W>
where
    W: Work<'a, Future = F>,
    F: Future<Output = Result<T, E>> + Send + 'a,
    T: Serialize + DeserializeOwned + Send + 'a,
    E: Into<Failure> + Send + 'a,
{
    type Item = T;
    type Future = Pin<Box<dyn Future<Output = Result<T, FlowError>> + Send + 'a>>;

    const ASKS: bool = false;

    fn begin(self) -> Pin<Box<Self::Future>> {
        Box::pin(self.into_future())
    }

    fn item(output: Result<T, FlowError>) -> Result<T, FlowError> {
        output
    }
}

macro_rules! joinable_url {
    ($($ask:ty $(, $done:ident, $future:ident)?;)*) => {$(
        impl<'a $(, $done, $future)?> Joinable for $ask
        $(where $done: FnMut() -> $future + Send + 'a, $future: Future<Output = bool> + Send + 'a)?
        {
            type Item = ();
            type Future = Pin<Box<dyn Future<Output = Result<(), FlowError>> + Send + 'a>>;

            const ASKS: bool = true;

            fn begin(self) -> Pin<Box<Self::Future>> {
                Box::pin(self.into_future())
            }

            fn item(output: Result<(), FlowError>) -> Result<(), FlowError> {
                output
            }
        }
    )*};
}
joinable_url! {
    UrlAsk<'a>;
    UrlUntil<'a, D>, D, F;
}

/// A tuple of questions and steps.
///
/// ```
/// # use mrtr_server::{Failure, Flow};
/// async fn one(flow: Flow) -> Result<String, Failure> {
///     let (roots,) = flow.join((flow.roots("roots"),)).await?;
///     Ok(format!("{} roots", roots.len()))
/// }
/// ```
pub trait Join {
    /// All of them, being awaited.
    type Future: Future + Send;

    #[doc(hidden)]
    fn join(self) -> Self::Future;
}

/// One of several: still on its way, or here.
struct Slot<J: Joinable> {
    future: Option<Pin<Box<J::Future>>>,
    output: Option<J::Item>,
}

impl<J: Joinable> Slot<J> {
    fn new(one: J) -> Self {
        Self { future: Some(one.begin()), output: None }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Result<(), FlowError> {
        if let Some(future) = &mut self.future
            && let Poll::Ready(output) = future.as_mut().poll(cx)
        {
            self.future = None;
            self.output = Some(J::item(output)?);
        }
        Ok(())
    }
}

macro_rules! join_of_tuples {
    ($($joined:ident: $($one:ident $place:tt)*;)*) => {$(
        impl<$($one),*> Join for ($($one,)*)
        where
            $($one: Joinable, $one::Item: Send + Unpin,)*
        {
            type Future = $joined<$($one),*>;

            fn join(self) -> Self::Future {
                $joined { slots: ($(Slot::new(self.$place),)*), failed: None }
            }
        }

        /// A tuple of questions and steps, being awaited.
        pub struct $joined<$($one: Joinable),*> {
            slots: ($(Slot<$one>,)*),
            failed: Option<FlowError>,
        }

        impl<$($one: Joinable),*> fmt::Debug for $joined<$($one),*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($joined))
            }
        }

        impl<$($one),*> Future for $joined<$($one),*>
        where
            $($one: Joinable, $one::Item: Send + Unpin,)*
        {
            type Output = Result<($($one::Item,)*), FlowError>;

            fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
                let this = &mut *self;
                for asks in [true, false] {
                    $(if $one::ASKS == asks && let Err(error) = this.slots.$place.poll(cx) {
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
