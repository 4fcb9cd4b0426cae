//! Whatever the clock says, from one verb to the next: no token is spent twice, and no step of it is forgotten.

use std::sync::Arc;
use std::time::Duration;

use mrtr_state::single_use::{Release, Reservation, ReserveOutcome, SingleUseError};
use mrtr_state::{MemorySingleUse, SingleUse, Timestamp};
use proptest::prelude::*;
use proptest::sample::select;

use crate::tokens::{self, NOON};

/// A request to reserve by some clock, and what becomes of the reservation if there is one.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    token: usize,
    lease: Duration,
    now: Timestamp,
    step: bool,
    end: End,
    /// A store that can be is closed and opened first, by the same clock.
    reopened: bool,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Commit,
    Release,
    /// The round dies.
    Nothing,
}

pub(crate) fn visit() -> impl Strategy<Value = Visit> {
    let minutes = prop_oneof![0..10_u64, 50..70_u64, 120..190_u64, Just(1500_u64)];
    let odd = select(vec![0, 1, i64::MAX.cast_unsigned(), i64::MAX.cast_unsigned() + 1, u64::MAX - 1, u64::MAX]);
    let now = prop_oneof![
        8 => (minutes, any::<bool>()).prop_map(|(minutes, before)| {
            let noon = NOON.as_millis();
            let millis = minutes * 60_000;
            Timestamp::from_millis(if before { noon - millis } else { noon + millis })
        }),
        1 => odd.prop_map(Timestamp::from_millis),
    ];
    let lease = select(vec![Duration::from_secs(1), Duration::from_hours(2), Duration::MAX]);
    let end = select(vec![End::Commit, End::Commit, End::Release, End::Nothing]);
    (0..TOKENS, lease, now, any::<bool>(), end, prop::bool::weighted(0.1))
        .prop_map(|(token, lease, now, step, end, reopened)| Visit { token, lease, now, step, end, reopened })
}

/// Plays visits on what `open` gives by some clock; it can be closed and opened again, unless it is in memory.
pub(crate) async fn play(visits: &[Visit], can_reopen: bool, open: impl Fn(Timestamp) -> Arc<dyn SingleUse>) {
    // Those that are issued later end sooner, now and then.
    let lives = [180, 20, 60, 20, 180, 60].map(Duration::from_mins);
    let issues = (0..).map(|number| NOON + Duration::from_secs(number));
    let tokens: Vec<_> = lives.into_iter().zip(issues).map(|(life, issued)| tokens::seal_for(life, issued)).collect();
    let start = Timestamp::from_millis(0);
    let mut shop = Shop::new(open(start));
    for visit in visits {
        if visit.reopened && can_reopen {
            // The file is closed before it is opened again.
            shop.store = Arc::new(MemorySingleUse::new(start));
            shop.store = open(visit.now);
        }
        shop.serve(&tokens[visit.token], visit).await;
    }
}

/// A clock that was ahead for a moment shuts out no later token.
pub(crate) async fn ahead_for_a_moment(store: &dyn SingleUse) {
    let later = NOON + Duration::from_millis(1);
    // Leased for ever: its entry has no end but the end of time.
    for (life, lease) in [(Duration::from_hours(24), LEASE), (Duration::from_hours(1), Duration::MAX)] {
        let spent = tokens::use_of(&tokens::seal_for(life, NOON), "accept");
        let ReserveOutcome::Reserved(reservation, _) = store.reserve(&spent, lease, NOON).await.unwrap() else {
            panic!("it is new")
        };
        store.commit(&reservation, b"paid", NOON).await.unwrap();
    }
    for odd in [NOON + Duration::from_hours(1_000_000), Timestamp::from_millis(u64::MAX)] {
        let refused = store.reserve(&tokens::use_of(&tokens::seal(NOON), "accept"), LEASE, odd).await;
        assert!(matches!(refused, Err(SingleUseError::BeforeMemory)), "{refused:?}");
    }
    let issued_since = tokens::use_of(&tokens::seal(later), "accept");
    let outcome = store.reserve(&issued_since, LEASE, later).await;
    assert!(matches!(outcome, Ok(ReserveOutcome::Reserved(..))), "{outcome:?}");
}

/// A store, and what is known of each token apart from it.
struct Shop {
    store: Arc<dyn SingleUse>,
    /// Replies of those that are spent.
    spent: [Option<Vec<u8>>; TOKENS],
    steps: [usize; TOKENS],
    served: u64,
}

impl Shop {
    fn new(store: Arc<dyn SingleUse>) -> Self {
        Self { store, spent: Default::default(), steps: [0; TOKENS], served: 0 }
    }

    async fn serve(&mut self, token: &str, visit: &Visit) {
        let Visit { token: number, lease, now, .. } = *visit;
        match self.store.reserve(&tokens::use_of(token, "accept"), lease, now).await {
            Ok(ReserveOutcome::Reserved(reservation, steps)) => {
                assert_eq!(self.spent[number], None, "a token that was spent is not reserved again");
                assert_eq!(steps.len(), self.steps[number], "steps that ran are known");
                self.run(&reservation, visit).await;
            }
            Ok(ReserveOutcome::Committed(reply)) => assert_eq!(Some(reply), self.spent[number], "the reply is its own"),
            Ok(ReserveOutcome::InProgress(_)) => {
                assert_eq!(self.spent[number], None, "a token that was spent does not run");
            }
            Err(SingleUseError::BeforeMemory) => {}
            other => panic!("{other:?}"),
        }
    }

    /// Any verb may be lost: by this clock, the entry may have ended.
    async fn run(&mut self, reservation: &Reservation, visit: &Visit) {
        let Visit { token, now, .. } = *visit;
        self.served += 1;
        if visit.step && self.store.record(reservation, &format!("step {}", self.served), b"4.20", now).await.is_ok() {
            self.steps[token] += 1;
        }
        match visit.end {
            End::Commit => {
                let reply = self.served.to_be_bytes().to_vec();
                if self.store.commit(reservation, &reply, now).await.is_ok() {
                    self.spent[token] = Some(reply);
                }
            }
            End::Release => match self.store.release(reservation, now).await {
                Ok(Release::Forgotten) => assert_eq!(self.steps[token], 0, "a step leaves a trace"),
                Ok(Release::Kept) => assert_ne!(self.steps[token], 0, "without a step there is none"),
                Err(_) => {}
            },
            End::Nothing => {}
        }
    }
}

const TOKENS: usize = 6;
const LEASE: Duration = Duration::from_secs(30);
