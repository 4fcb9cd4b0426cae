//! The reservations that the rounds of a server hold, and the thread that renews them.

use std::sync::Arc;
use std::time::Duration;

use mrtr_flow::Clock;
use mrtr_state::single_use::{LeaseKeeper, Reservation, SingleUse, SingleUseError};

use crate::support::lease_thread::{LeaseThread, Renewal};

/// How long a reservation stands unless it is renewed, and how long a retry waits for one that runs.
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// A reservation that a round of this process holds, and where.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) store: Arc<dyn SingleUse>,
    pub(crate) reservation: Reservation,
}

/// The thread that renews the reservations of a server: its rounds may block theirs.
pub(crate) fn thread(clock: &Arc<dyn Clock>) -> LeaseThread<Held> {
    let clock = Arc::clone(clock);
    LeaseThread::new("mrtr-reservations", LEASE, move || {
        let (clock, mut keepers) = (Arc::clone(&clock), Vec::new());
        Box::new(move |held| renew_all(&mut keepers, held, &*clock))
    })
}

/// Renews reservations in the order of their stores, which mostly are one.
fn renew_all(keepers: &mut Vec<Keeper>, held: &[Held], clock: &dyn Clock) -> Vec<Renewal> {
    let mut renewals = vec![Renewal::Failed; held.len()];
    keepers.retain(|(store, _)| held.iter().any(|held| Arc::ptr_eq(&held.store, store)));
    for held in held {
        if !keepers.iter().any(|(store, _)| Arc::ptr_eq(&held.store, store)) {
            keepers.push((Arc::clone(&held.store), held.store.lease_keeper()));
        }
    }
    for (store, keeper) in keepers {
        let (places, reservations): (Vec<_>, Vec<_>) = held
            .iter()
            .enumerate()
            .filter(|(_, held)| Arc::ptr_eq(&held.store, store))
            .map(|(place, held)| (place, held.reservation.clone()))
            .unzip();
        let renewed = keeper.renew(&reservations, LEASE, clock.now());
        for (place, renewed) in places.into_iter().zip(renewed) {
            renewals[place] = renewal(&renewed);
        }
    }
    renewals
}

fn renewal(renewed: &Result<(), SingleUseError>) -> Renewal {
    match renewed {
        Ok(()) => Renewal::Renewed,
        Err(SingleUseError::Lost) => Renewal::Lost,
        Err(error) => {
            let error = mrtr_flow::for_server::with_causes(error);
            tracing::error!(error, "a reservation could not be renewed; it lapses unless the next renewal succeeds");
            Renewal::Failed
        }
    }
}

type Keeper = (Arc<dyn SingleUse>, Box<dyn LeaseKeeper>);
