//! Several questions and steps at once: questions first, so that they are all open before any step starts.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::Flow;
use super::member::{Joinable, Slot};
use crate::engine::ActiveRun;
use crate::error::FlowError;

/// A tuple of questions, steps and branches.
///
/// ```
/// # use mrtr_flow::{Failure, Flow};
/// async fn one(flow: Flow) -> Result<String, Failure> {
///     let (roots,) = flow.join((flow.roots("roots"),)).await?;
///     Ok(format!("{} roots", roots.len()))
/// }
/// ```
pub trait Join<'a> {
    /// The future that awaits all of them.
    type Future: Future + Send + 'a;

    #[doc(hidden)]
    fn join(self, flow: &'a Flow) -> Self::Future;
}

/// A member of a join: on its way, or here.
struct Member<'a, T> {
    slot: Slot<'a, T>,
    output: Option<T>,
}

impl<'a, T> Member<'a, T> {
    fn new(slot: Slot<'a, T>) -> Self {
        Self { slot, output: None }
    }

    /// Polls the member, if it is a question as `asks` says. If it fails, the other members continue to their end, so
    /// that no step is dropped half-way.
    fn poll(&mut self, asks: bool, run: &ActiveRun, cx: &mut Context<'_>, failed: &mut Option<FlowError>) {
        if self.slot.asks != asks {
            return;
        }
        match self.slot.poll(run, cx) {
            Poll::Ready(Ok(output)) => self.output = Some(output),
            Poll::Ready(Err(error)) => drop(failed.get_or_insert(error)),
            Poll::Pending => {}
        }
    }
}

macro_rules! join_of_tuples {
    ($($joined:ident: $($one:ident $place:tt)*;)*) => {$(
        impl<'a, $($one: Joinable<'a>),*> Join<'a> for ($($one,)*) {
            type Future = $joined<'a, $($one::Item),*>;

            fn join(self, flow: &'a Flow) -> Self::Future {
                $joined { run: &flow.run, members: ($(Member::new(self.$place.slot()),)*), failed: None }
            }
        }

        /// A tuple of questions, steps and branches that the handler awaits.
        pub struct $joined<'a, $($one),*> {
            run: &'a ActiveRun,
            members: ($(Member<'a, $one>,)*),
            failed: Option<FlowError>,
        }

        impl<$($one),*> fmt::Debug for $joined<'_, $($one),*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($joined))
            }
        }

        /// Is `Unpin`, since nothing pins the outputs of the members.
        impl<$($one),*> Unpin for $joined<'_, $($one),*> {}

        impl<$($one),*> Future for $joined<'_, $($one),*> {
            type Output = Result<($($one,)*), FlowError>;

            fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
                let Self { run, members, failed } = &mut *self;
                let mut first = None;
                $(members.$place.slot.fork(run, &mut first);)*
                for asks in [true, false] {
                    $(members.$place.poll(asks, run, cx, failed);)*
                }
                if $(members.$place.slot.is_pending())||* {
                    return Poll::Pending;
                }
                ready!(run.poll_give_way(cx));
                if let Some(error) = failed.take() {
                    return Poll::Ready(Err(error));
                }
                let outputs = ($(members.$place.output.take(),)*);
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

/// Any number of questions, steps or branches of one kind that the handler awaits.
///
/// ```
/// # use mrtr_flow::{Failure, Flow};
/// # use mrtr_flow::flow::JoinAll;
/// # async fn ping(_host: &str) -> Result<u32, std::io::Error> { Ok(7) }
/// fn times<'a>(flow: &'a Flow, hosts: &'a [String]) -> JoinAll<'a, u32> {
///     flow.join_all(hosts.iter().map(|host| flow.step(host, ping(host))))
/// }
/// ```
#[must_use = "its members begin when it is awaited"]
pub struct JoinAll<'a, T> {
    run: &'a ActiveRun,
    members: Vec<Member<'a, T>>,
    failed: Option<FlowError>,
}

impl<'a, T> JoinAll<'a, T> {
    pub(super) fn new<J: Joinable<'a, Item = T>>(flow: &'a Flow, all: impl IntoIterator<Item = J>) -> Self {
        let members = all.into_iter().map(|one| Member::new(one.slot())).collect();
        Self { run: &flow.run, members, failed: None }
    }
}

impl<T> fmt::Debug for JoinAll<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinAll({})", self.members.len())
    }
}

/// Is `Unpin`, since nothing pins the outputs of the members.
impl<T> Unpin for JoinAll<'_, T> {}

impl<T> Future for JoinAll<'_, T> {
    type Output = Result<Vec<T>, FlowError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { run, members, failed } = &mut *self;
        let mut first = None;
        for member in members.iter_mut() {
            member.slot.fork(run, &mut first);
        }
        for asks in [true, false] {
            for member in members.iter_mut() {
                member.poll(asks, run, cx, failed);
            }
        }
        if members.iter().any(|member| member.slot.is_pending()) {
            return Poll::Pending;
        }
        ready!(run.poll_give_way(cx));
        let outputs = members.drain(..).map(|member| member.output);
        match failed.take() {
            Some(error) => Poll::Ready(Err(error)),
            None => Poll::Ready(Ok(outputs.map(|output| output.expect("each is here")).collect())),
        }
    }
}
