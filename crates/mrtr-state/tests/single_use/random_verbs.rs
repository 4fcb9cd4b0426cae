//! Random verbs, asked of both stores and of the model in lock-step.

use std::sync::Arc;
use std::time::Duration;

use mrtr_state::single_use::{Claim, GuardError, Holder, Redemption, Release, Running};
use mrtr_state::{MemorySingleUse, SingleUse, SqliteSingleUse, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use tokio::task::JoinHandle;

use crate::model::{Claimed, Done, Model};
use crate::tokens::{self, NOON};
use crate::{Files, within_a_minute};

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_asked_of_them_in_whatever_order_both_stores_do_as_the_model(verbs in verbs()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(play(verbs));
    }
}

#[derive(Debug, Clone)]
enum Verb {
    Claim {
        token: usize,
        answers: usize,
        lease: Duration,
    },
    /// Of one of those who took a claim so far, who may have lost it since.
    Of(Index, HolderVerb),
    /// By so many seconds, back or forth.
    ClockMoves(i64),
}

#[derive(Debug, Clone)]
enum HolderVerb {
    Renew(Duration),
    MarkStarted(&'static str),
    Record(&'static str, Vec<u8>),
    Commit(Vec<u8>),
    Release,
    /// Somebody begins to wait for its end.
    Ended,
}

fn verbs() -> impl Strategy<Value = Vec<Verb>> {
    let step = || select(vec!["charge", "post", "thank"]);
    let bytes = || vec(any::<u8>(), 0..4);
    let lease = || select(vec![1, 30, 7200]).prop_map(Duration::from_secs);
    // Near the ends of leases and of entries, and back again.
    let seconds = select(vec![1, 30, 600, 1860, 1920, 3660, 3720, 7200]);
    let clock = (seconds, any::<bool>()).prop_map(|(seconds, back)| if back { -seconds } else { seconds });
    let of_holder = prop_oneof![
        1 => lease().prop_map(HolderVerb::Renew),
        3 => step().prop_map(HolderVerb::MarkStarted),
        3 => (step(), bytes()).prop_map(|(step, outcome)| HolderVerb::Record(step, outcome)),
        1 => bytes().prop_map(HolderVerb::Commit),
        2 => Just(HolderVerb::Release),
        2 => Just(HolderVerb::Ended),
    ];
    let claim = (0..2_usize, 0..ANSWERS.len(), lease());
    let verb = prop_oneof![
        2 => claim.prop_map(|(token, answers, lease)| Verb::Claim { token, answers, lease }),
        3 => (any::<Index>(), of_holder).prop_map(|(holder, verb)| Verb::Of(holder, verb)),
        1 => clock.prop_map(Verb::ClockMoves),
    ];
    vec(verb, 1..60)
}

async fn play(verbs: Vec<Verb>) {
    let files = Files::new();
    // The later one ends first.
    let later = NOON + Duration::from_secs(1);
    let tokens = [tokens::seal(NOON), tokens::seal_for(Duration::from_mins(30), later)];
    let mut model = Model::default();
    let mut players = [
        Player::new(Arc::new(MemorySingleUse::new(NOON))),
        Player::new(Arc::new(SqliteSingleUse::open(files.fresh(), NOON).unwrap())),
    ];
    let mut now = NOON;
    for verb in verbs {
        match verb {
            Verb::ClockMoves(seconds) => {
                now = Timestamp::from_millis(now.as_millis().checked_add_signed(seconds * 1000).unwrap());
            }
            Verb::Claim { token, answers, lease } => {
                let redemption = tokens::redeem(&tokens[token], ANSWERS[answers]);
                let expected = model.claim(token, answers, &redemption, lease, now);
                for player in &mut players {
                    assert_eq!(player.claim(&redemption, lease, now).await, expected);
                }
            }
            Verb::Of(holder, verb) if model.holders() > 0 => {
                let holder = holder.index(model.holders());
                let expected = ask(&mut model, holder, &verb, now);
                for player in &mut players {
                    assert_eq!(player.ask(holder, &verb, now).await, expected, "{verb:?}");
                }
            }
            Verb::Of(..) => {}
        }
        for player in &mut players {
            player.expect_woken(&model).await;
        }
    }
}

fn ask(model: &mut Model, holder: usize, verb: &HolderVerb, now: Timestamp) -> Done {
    match verb {
        HolderVerb::Renew(lease) => model.renew(holder, *lease, now),
        HolderVerb::MarkStarted(step) => model.mark_started(holder, step, now),
        HolderVerb::Record(step, outcome) => model.record(holder, step, outcome, now),
        HolderVerb::Commit(reply) => model.commit(holder, reply, now),
        HolderVerb::Release => model.release(holder, now),
        HolderVerb::Ended => Done::Fine,
    }
}

/// A store, its holders by number, and who waits for their ends.
struct Player {
    store: Arc<dyn SingleUse>,
    holders: Vec<Holder>,
    waiting: Vec<(usize, JoinHandle<Result<(), GuardError>>)>,
}

impl Player {
    fn new(store: Arc<dyn SingleUse>) -> Self {
        Self { store, holders: Vec::new(), waiting: Vec::new() }
    }

    async fn claim(&mut self, redemption: &Redemption, lease: Duration, now: Timestamp) -> Claimed {
        match self.store.claim(redemption, lease, now).await {
            Ok(Claim::Taken(holder, steps)) => {
                let earlier = self.holders.iter().filter(|known| known.key() == holder.key());
                assert!(earlier.into_iter().all(|known| known.fence() < holder.fence()), "fences grow");
                self.holders.push(holder);
                Claimed::Taken(self.holders.len() - 1, steps)
            }
            Ok(Claim::Running(running)) => {
                let number = self.holders.iter().position(|holder| holder == running.holder()).unwrap();
                Claimed::Running(number, running.lapses())
            }
            Ok(Claim::Committed(reply)) => Claimed::Committed(reply),
            Ok(Claim::OtherAnswers) => Claimed::OtherAnswers,
            Err(GuardError::BeforeMemory) => Claimed::BeforeMemory,
            Err(other) => panic!("{other:?}"),
        }
    }

    async fn ask(&mut self, number: usize, verb: &HolderVerb, now: Timestamp) -> Done {
        let holder = &self.holders[number];
        let outcome = match verb {
            HolderVerb::Renew(lease) => self.store.renew(holder, *lease, now).await,
            HolderVerb::MarkStarted(step) => self.store.mark_started(holder, step, now).await,
            HolderVerb::Record(step, outcome) => self.store.record(holder, step, outcome, now).await,
            HolderVerb::Commit(reply) => self.store.commit(holder, reply, now).await,
            HolderVerb::Release => match self.store.release(holder, now).await {
                Ok(Release::Forgotten) => return Done::Forgotten,
                Ok(Release::Kept) => return Done::Kept,
                Err(error) => Err(error),
            },
            HolderVerb::Ended => {
                let (store, running) = (Arc::clone(&self.store), Running::new(holder.clone(), now));
                let waiting = tokio::spawn(async move { store.ended(&running).await });
                self.waiting.push((number, waiting));
                Ok(())
            }
        };
        match outcome {
            Ok(()) => Done::Fine,
            Err(GuardError::Lost) => Done::Lost,
            Err(GuardError::OutOfTurn(_)) => Done::OutOfTurn,
            Err(other) => panic!("{other:?}"),
        }
    }

    /// Everybody who waits for a claim that is no longer held is told.
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
