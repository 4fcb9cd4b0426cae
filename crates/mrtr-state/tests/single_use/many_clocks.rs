//! Many rounds at once by clocks that differ: each token is spent once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mrtr_state::SingleUse;
use mrtr_state::single_use::ReserveOutcome;

use crate::tokens::{self, NOON};
use crate::{LEASE, within_a_minute};

/// Clocks of minutes and of hours later purge what those of noon reserve, commit and come back with.
pub(crate) async fn many_at_once(stores: &[Arc<impl SingleUse>]) {
    let issued: Arc<[String]> = (0..40).map(|_| tokens::seal_for(Duration::from_mins(20), NOON)).collect();
    let commits: Arc<[AtomicUsize]> = issued.iter().map(|_| AtomicUsize::new(0)).collect();
    let clocks = [0, 0, 5, 19, 21, 23, 60, 600].map(|minutes| NOON + Duration::from_mins(minutes));
    let visitors = clocks.into_iter().zip(stores.iter().cycle()).enumerate().map(|(place, (now, store))| {
        let (issued, commits, store) = (Arc::clone(&issued), Arc::clone(&commits), Arc::clone(store));
        tokio::spawn(async move {
            for visit in 0..3 * issued.len() {
                // Each in an order of its own.
                let number = (visit * (2 * place + 1) + place) % issued.len();
                let token_use = tokens::use_of(&issued[number], "accept");
                let Ok(ReserveOutcome::Reserved(reservation, _)) = store.reserve(&token_use, LEASE, now).await else {
                    continue;
                };
                if store.commit(&reservation, b"paid", now).await.is_ok() {
                    commits[number].fetch_add(1, Ordering::SeqCst);
                }
            }
        })
    });
    for visitor in visitors.collect::<Vec<_>>() {
        within_a_minute(visitor).await.unwrap();
    }
    for (token, commits) in issued.iter().zip(&*commits) {
        assert!(commits.load(Ordering::SeqCst) <= 1, "a token is spent once");
        let spent = commits.load(Ordering::SeqCst) == 1;
        let again = stores[0].reserve(&tokens::use_of(token, "accept"), LEASE, NOON).await;
        assert!(
            !(spent && matches!(again, Ok(ReserveOutcome::Reserved(..) | ReserveOutcome::InProgress(_)))),
            "{again:?}"
        );
    }
}
