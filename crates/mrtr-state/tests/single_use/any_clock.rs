//! Whatever the clock says, from one verb to the next: no token is spent twice, and no step of it is forgotten.

use std::sync::Arc;
use std::time::Duration;

use mrtr_state::single_use::{Release, Reservation, ReserveOutcome, SingleUseError};
use mrtr_state::{MemorySingleUse, SingleUse, SqliteSingleUse, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::many_clocks::many_at_once;
use crate::tokens::{self, NOON};
use crate::{Files, within_a_minute};

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn by_any_clock_no_token_is_spent_twice(visits in vec(visit(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(within_a_minute(play(visits)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_in_memory_by_different_clocks_each_token_is_spent_once() {
    many_at_once(&[Arc::new(MemorySingleUse::new(NOON))]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_in_sqlite_by_different_clocks_each_token_is_spent_once() {
    let files = Files::new();
    let path = files.fresh();
    let open = || Arc::new(SqliteSingleUse::open(&path, NOON).unwrap());
    many_at_once(&[open(), open()]).await;
}

/// A request to reserve by some clock, and what becomes of the reservation if there is one.
#[derive(Debug, Clone)]
struct Visit {
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

fn visit() -> impl Strategy<Value = Visit> {
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

async fn play(visits: Vec<Visit>) {
    let files = Files::new();
    let path = files.fresh();
    // Those that are issued later end sooner, now and then.
    let lives = [180, 20, 60, 20, 180, 60].map(Duration::from_mins);
    let issues = (0..).map(|number| NOON + Duration::from_secs(number));
    let tokens: Vec<_> = lives.into_iter().zip(issues).map(|(life, issued)| tokens::seal_for(life, issued)).collect();
    let open = |now| Arc::new(SqliteSingleUse::open(&path, now).unwrap());
    let start = Timestamp::from_millis(0);
    let mut memory = Shop::new(Arc::new(MemorySingleUse::new(start)));
    let mut sqlite = Shop::new(open(start));
    for visit in visits {
        if visit.reopened {
            // The file is closed before it is opened again.
            sqlite.store = Arc::clone(&memory.store);
            sqlite.store = open(visit.now);
        }
        for shop in [&mut memory, &mut sqlite] {
            shop.serve(&tokens[visit.token], &visit).await;
        }
    }
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
