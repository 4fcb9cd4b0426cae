//! Several questions and steps at once: the first to end wins, now and in every later run.

use std::fmt;
use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Flow;
use super::member::{Joinable, Slot};
use crate::engine::{ActiveRun, RaceStart};
use crate::error::FlowError;

/// A tuple of questions, steps and branches, of which the first to end wins.
///
/// ```
/// # use mrtr_flow::{Failure, Flow};
/// # use mrtr_flow::flow::Race2;
/// async fn either(flow: Flow) -> Result<&'static str, Failure> {
///     let raced = flow.race((flow.roots("mine"), flow.roots("yours"))).await?;
///     Ok(match raced {
///         Race2::First(_) => "mine",
///         Race2::Second(_) => "yours",
///     })
/// }
/// ```
pub trait Race<'a> {
    /// The output of the winner.
    type Output: Send + 'a;

    #[doc(hidden)]
    fn slots(self) -> Contestants<'a, Self::Output>;
}

/// The members of a race, and the name under which the journal records the winner.
#[derive(Debug)]
pub struct Contestants<'a, T> {
    name: String,
    slots: Vec<Slot<'a, T>>,
}

macro_rules! race_of_tuples {
    ($($(#[$doc:meta])* $raced:ident: $($one:ident $place:tt $variant:ident $which:literal)*;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(clippy::exhaustive_enums, reason = "there are as many as members")]
        pub enum $raced<$($one),*> {
            $(
                #[doc = $which]
                $variant($one),
            )*
        }

        impl<'a, $($one: Joinable<'a>),*> Race<'a> for ($($one,)*) {
            type Output = $raced<$($one::Item),*>;

            fn slots(self) -> Contestants<'a, Self::Output> {
                let name = [$(self.$place.name()),*].join("|");
                Contestants { name, slots: vec![$(self.$place.slot().map($raced::$variant)),*] }
            }
        }
    )*};
}
race_of_tuples! {
    /// The output of the winner of two.
    ///
    /// ```
    /// use mrtr_flow::flow::Race2;
    ///
    /// let raced: Race2<u32, &str> = Race2::Second("yours");
    /// assert_eq!(raced, Race2::Second("yours"));
    /// ```
    Race2: A 0 First "The first member won." B 1 Second "The second member won.";
    /// The output of the winner of three.
    ///
    /// ```
    /// use mrtr_flow::flow::Race3;
    ///
    /// let raced: Race3<u32, &str, bool> = Race3::Third(true);
    /// assert_eq!(raced, Race3::Third(true));
    /// ```
    Race3: A 0 First "The first member won." B 1 Second "The second member won." C 2 Third "The third member won.";
    /// The output of the winner of four.
    ///
    /// ```
    /// use mrtr_flow::flow::Race4;
    ///
    /// let raced: Race4<u32, &str, bool, ()> = Race4::Fourth(());
    /// assert_eq!(raced, Race4::Fourth(()));
    /// ```
    Race4: A 0 First "The first member won." B 1 Second "The second member won." C 2 Third "The third member won."
        D 3 Fourth "The fourth member won.";
}

/// A race that the handler awaits.
///
/// ```
/// # use mrtr_flow::Flow;
/// # use mrtr_flow::flow::{Race2, Racing};
/// # use mrtr_schema::roots::Root;
/// fn either(flow: &Flow) -> Racing<'_, Race2<Vec<Root>, Vec<Root>>> {
///     flow.race((flow.roots("mine"), flow.roots("yours")))
/// }
/// ```
#[must_use = "its members begin when it is awaited"]
pub struct Racing<'a, T>(Pin<Box<dyn Future<Output = Result<T, FlowError>> + Send + 'a>>);

impl<'a, T: Send + 'a> Racing<'a, T> {
    pub(super) fn new(flow: &'a Flow, contestants: Contestants<'a, T>) -> Self {
        Self(Box::pin(race(&flow.run, contestants)))
    }
}

impl<T> fmt::Debug for Racing<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Racing")
    }
}

impl<T> Future for Racing<'_, T> {
    type Output = Result<T, FlowError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

async fn race<T>(run: &ActiveRun, Contestants { name, mut slots }: Contestants<'_, T>) -> Result<T, FlowError> {
    let won = match run.begin_race(&name, slots.len()) {
        RaceStart::Park => return pending().await,
        RaceStart::Closed => return Err(FlowError::Closed),
        RaceStart::Open => None,
        RaceStart::Won(winner) => {
            // The others are not even polled: the race was decided against them.
            let won = slots.swap_remove(winner);
            run.drop_lost(std::mem::replace(&mut slots, vec![won]));
            Some(winner)
        }
    };
    let mut first = None;
    for slot in &mut slots {
        slot.fork(run, &mut first);
    }
    let (first, output) = poll_fn(|cx| poll_all(&mut slots, run, cx)).await;
    if won.is_none() {
        if !run.is_at_home() {
            return Err(FlowError::Closed);
        }
        let winner = slots.remove(first);
        for branch in slots.iter().filter_map(Slot::branch) {
            run.withdraw(branch);
        }
        run.drop_lost((winner, slots));
        if run.record_winner(&name, first).await.is_none() {
            return pending().await;
        }
    }
    run.give_way().await;
    output
}

/// Returns the place of the first that has ended, and its output. It polls questions first, as a join does.
fn poll_all<T>(
    slots: &mut [Slot<'_, T>],
    run: &ActiveRun,
    cx: &mut Context<'_>,
) -> Poll<(usize, Result<T, FlowError>)> {
    for asks in [true, false] {
        for (place, slot) in slots.iter_mut().enumerate().filter(|(_, slot)| slot.asks == asks) {
            if let Poll::Ready(output) = slot.poll(run, cx) {
                return Poll::Ready((place, output));
            }
        }
    }
    Poll::Pending
}
