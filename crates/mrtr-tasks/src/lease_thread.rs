//! The thread that renews the leases of all runs of an instance, whatever their handlers do.

use std::sync::Arc;
use std::time::Duration;

use mrtr_server::extend::{LeaseThread, Renewal};

use crate::record::Refusal;
use crate::store::{Run, StoreError, TaskStore};

/// Makes the thread that renews leases in this store. It starts with the first lease it holds.
pub(crate) fn of_store(store: &Arc<dyn TaskStore>, lease: Duration) -> LeaseThread<Run> {
    let store = Arc::clone(store);
    LeaseThread::new("mrtr-leases", lease, move || {
        let mut keeper = store.lease_keeper();
        Box::new(move |runs| keeper.renew(runs, lease).iter().map(renewal).collect())
    })
}

fn renewal(renewed: &Result<(), StoreError>) -> Renewal {
    match renewed {
        Ok(()) => Renewal::Renewed,
        Err(StoreError::Refused(Refusal::Ended)) => Renewal::Ended,
        Err(StoreError::Refused(_) | StoreError::NotFound) => Renewal::Lost,
        Err(error) => {
            tracing::warn!(error = error as &dyn std::error::Error, "a lease was not renewed");
            Renewal::Failed
        }
    }
}
