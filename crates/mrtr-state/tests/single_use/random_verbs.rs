//! Random verbs, asked of stores and of the model in lock-step.

use std::sync::Arc;
use std::time::Duration;

use mrtr_state::single_use::{InProgress, Release, Reservation, ReserveOutcome, SingleUseError};
use mrtr_state::{SingleUse, Timestamp, TokenUse};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use tokio::task::JoinHandle;

use crate::model::{Done, Model, Outcome};
use crate::tokens::{self, NOON};
use crate::within_a_minute;

#[derive(Debug, Clone)]
pub(crate) enum Verb {
    Reserve {
        token: usize,
        answers: usize,
        lease: Duration,
    },
    /// Under one of the reservations made so far, which may be lost since.
    Of(Index, ReservedVerb),
    /// By so many seconds, back or forth.
    ClockMoves(i64),
}

#[derive(Debug, Clone)]
pub(crate) enum ReservedVerb {
    Renew(Duration),
    MarkStarted(&'static str),
    Record(&'static str, Vec<u8>),
    Commit(Vec<u8>),
    Release,
    /// A caller begins to wait for its end.
    Ended,
}

pub(crate) fn verbs() -> impl Strategy<Value = Vec<Verb>> {
    let step = || select(vec!["charge", "post", "thank"]);
    let bytes = || vec(any::<u8>(), 0..4);
    let lease = || select(vec![1, 30, 7200]).prop_map(Duration::from_secs);
    // Near the ends of leases and of entries, and back again.
    let seconds = select(vec![1, 30, 600, 1860, 1920, 3660, 3720, 7200]);
    let clock = (seconds, any::<bool>()).prop_map(|(seconds, back)| if back { -seconds } else { seconds });
    let of_reservation = prop_oneof![
        1 => lease().prop_map(ReservedVerb::Renew),
        3 => step().prop_map(ReservedVerb::MarkStarted),
        3 => (step(), bytes()).prop_map(|(step, outcome)| ReservedVerb::Record(step, outcome)),
        1 => bytes().prop_map(ReservedVerb::Commit),
        2 => Just(ReservedVerb::Release),
        2 => Just(ReservedVerb::Ended),
    ];
    let reserve = (0..2_usize, 0..ANSWERS.len(), lease());
    let verb = prop_oneof![
        2 => reserve.prop_map(|(token, answers, lease)| Verb::Reserve { token, answers, lease }),
        3 => (any::<Index>(), of_reservation).prop_map(|(reservation, verb)| Verb::Of(reservation, verb)),
        1 => clock.prop_map(Verb::ClockMoves),
    ];
    vec(verb, 1..60)
}

/// The stores remember since noon.
pub(crate) async fn play(verbs: Vec<Verb>, stores: Vec<Arc<dyn SingleUse>>) {
    // The later one ends first.
    let later = NOON + Duration::from_secs(1);
    let tokens = [tokens::seal(NOON), tokens::seal_for(Duration::from_mins(30), later)];
    let mut model = Model::default();
    let mut players: Vec<_> = stores.into_iter().map(Player::new).collect();
    let mut now = NOON;
    for verb in verbs {
        match verb {
            Verb::ClockMoves(seconds) => {
                now = Timestamp::from_millis(now.as_millis().checked_add_signed(seconds * 1000).unwrap());
            }
            Verb::Reserve { token, answers, lease } => {
                let token_use = tokens::use_of(&tokens[token], ANSWERS[answers]);
                let expected = model.reserve(token, answers, &token_use, lease, now);
                for player in &mut players {
                    assert_eq!(player.reserve(&token_use, lease, now).await, expected);
                }
            }
            Verb::Of(reservation, verb) if model.reservations() > 0 => {
                let reservation = reservation.index(model.reservations());
                let expected = ask(&mut model, reservation, &verb, now);
                for player in &mut players {
                    assert_eq!(player.ask(reservation, &verb, now).await, expected, "{verb:?}");
                }
            }
            Verb::Of(..) => {}
        }
        for player in &mut players {
            player.expect_woken(&model).await;
        }
    }
}

fn ask(model: &mut Model, reservation: usize, verb: &ReservedVerb, now: Timestamp) -> Done {
    match verb {
        ReservedVerb::Renew(lease) => model.renew(reservation, *lease, now),
        ReservedVerb::MarkStarted(step) => model.mark_started(reservation, step, now),
        ReservedVerb::Record(step, outcome) => model.record(reservation, step, outcome, now),
        ReservedVerb::Commit(reply) => model.commit(reservation, reply, now),
        ReservedVerb::Release => model.release(reservation, now),
        ReservedVerb::Ended => Done::Fine,
    }
}

/// A store, its reservations by number, and who waits for their ends.
struct Player {
    store: Arc<dyn SingleUse>,
    reservations: Vec<Reservation>,
    waiting: Vec<(usize, JoinHandle<Result<(), SingleUseError>>)>,
}

impl Player {
    fn new(store: Arc<dyn SingleUse>) -> Self {
        Self { store, reservations: Vec::new(), waiting: Vec::new() }
    }

    async fn reserve(&mut self, token_use: &TokenUse, lease: Duration, now: Timestamp) -> Outcome {
        match self.store.reserve(token_use, lease, now).await {
            Ok(ReserveOutcome::Reserved(reservation, steps)) => {
                let earlier = self.reservations.iter().filter(|known| known.key() == reservation.key());
                assert!(earlier.into_iter().all(|known| known.fence() < reservation.fence()), "fences grow");
                self.reservations.push(reservation);
                Outcome::Reserved(self.reservations.len() - 1, steps)
            }
            Ok(ReserveOutcome::InProgress(in_progress)) => {
                let number =
                    self.reservations.iter().position(|reservation| reservation == in_progress.reservation()).unwrap();
                Outcome::InProgress(number, in_progress.lapses())
            }
            Ok(ReserveOutcome::Committed(reply)) => Outcome::Committed(reply),
            Ok(ReserveOutcome::OtherAnswers) => Outcome::OtherAnswers,
            Err(SingleUseError::BeforeMemory) => Outcome::BeforeMemory,
            Err(other) => panic!("{other:?}"),
        }
    }

    async fn ask(&mut self, number: usize, verb: &ReservedVerb, now: Timestamp) -> Done {
        let reservation = &self.reservations[number];
        let outcome = match verb {
            ReservedVerb::Renew(lease) => self.store.renew(reservation, *lease, now).await,
            ReservedVerb::MarkStarted(step) => self.store.mark_started(reservation, step, now).await,
            ReservedVerb::Record(step, outcome) => self.store.record(reservation, step, outcome, now).await,
            ReservedVerb::Commit(reply) => self.store.commit(reservation, reply, now).await,
            ReservedVerb::Release => match self.store.release(reservation, now).await {
                Ok(Release::Forgotten) => return Done::Forgotten,
                Ok(Release::Kept) => return Done::Kept,
                Err(error) => Err(error),
            },
            ReservedVerb::Ended => {
                let (store, in_progress) = (Arc::clone(&self.store), InProgress::new(reservation.clone(), now));
                let waiting = tokio::spawn(async move { store.ended(&in_progress).await });
                self.waiting.push((number, waiting));
                Ok(())
            }
        };
        match outcome {
            Ok(()) => Done::Fine,
            Err(SingleUseError::Lost) => Done::Lost,
            Err(SingleUseError::OutOfTurn(_)) => Done::OutOfTurn,
            Err(other) => panic!("{other:?}"),
        }
    }

    /// Every caller that waits for a reservation that is no longer held is told.
    async fn expect_woken(&mut self, model: &Model) {
        for (number, waiting) in std::mem::take(&mut self.waiting) {
            if model.is_held(number) {
                self.waiting.push((number, waiting));
            } else {
                within_a_minute(waiting).await.unwrap().unwrap();
            }
        }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.waiting.iter().for_each(|(_, waiting)| waiting.abort());
    }
}

const ANSWERS: [&str; 2] = ["accept", "decline"];
