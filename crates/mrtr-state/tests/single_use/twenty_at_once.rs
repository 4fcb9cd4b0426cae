//! Twenty requests with one token at once: one runs, and all get its reply.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mrtr_state::single_use::{Reservation, ReserveOutcome};
use mrtr_state::{SingleUse, TokenUse};
use tokio::sync::Barrier;

use crate::tokens::{self, NOON};
use crate::{LEASE, within_a_minute};

pub(crate) async fn twenty_at_once(store: Arc<dyn SingleUse>) {
    let token_use = tokens::use_of(&tokens::seal(NOON), "accept");
    let shop = Arc::new(Shop { store, effects: AtomicUsize::new(0), all_have_asked: Barrier::new(20) });
    let pay = || {
        let (shop, token_use) = (Arc::clone(&shop), token_use.clone());
        tokio::spawn(async move { shop.pay(&token_use).await })
    };
    let tasks: Vec<_> = (0..20).map(|_| pay()).collect();
    for task in tasks {
        assert_eq!(within_a_minute(task).await.unwrap(), b"payment 1");
    }
    assert_eq!(shop.effects.load(Ordering::SeqCst), 1);
}

/// A shop where the one that runs goes on only when all others have seen that it runs.
struct Shop {
    store: Arc<dyn SingleUse>,
    effects: AtomicUsize,
    all_have_asked: Barrier,
}

impl Shop {
    async fn pay(&self, token_use: &TokenUse) -> Vec<u8> {
        match self.store.reserve(token_use, LEASE, NOON).await.unwrap() {
            ReserveOutcome::Reserved(reservation, _) => self.charge(&reservation).await,
            ReserveOutcome::InProgress(in_progress) => {
                self.all_have_asked.wait().await;
                self.store.ended(&in_progress).await.unwrap();
                match self.store.reserve(token_use, LEASE, NOON).await.unwrap() {
                    ReserveOutcome::Committed(reply) => reply,
                    other => panic!("{other:?}"),
                }
            }
            other => panic!("{other:?}"),
        }
    }

    async fn charge(&self, reservation: &Reservation) -> Vec<u8> {
        self.store.mark_started(reservation, "charge", NOON).await.unwrap();
        let reply = format!("payment {}", self.effects.fetch_add(1, Ordering::SeqCst) + 1).into_bytes();
        self.store.record(reservation, "charge", b"4.20", NOON).await.unwrap();
        self.all_have_asked.wait().await;
        self.store.commit(reservation, &reply, NOON).await.unwrap();
        reply
    }
}
