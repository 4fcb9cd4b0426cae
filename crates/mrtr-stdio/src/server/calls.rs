//! The requests that are under way on a connection, by their ids.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mrtr_schema::RequestId;

use crate::output::Withdrawn;

/// The requests that are under way: a client may cancel each by its id.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls(Arc<Mutex<HashMap<RequestId, Withdrawn>>>);

impl Calls {
    /// Enters a request; `None` if another one has its id.
    pub(super) fn begin(&self, id: &RequestId) -> Option<UnderWay> {
        match self.entries().entry(id.clone()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(free) => {
                let withdrawn = free.insert(Withdrawn::default()).clone();
                Some(UnderWay { calls: self.clone(), id: id.clone(), withdrawn })
            }
        }
    }

    /// Stops a request, with what it has in the queue. One that is over, or never was, is nothing to complain about: the
    /// cancellation and the response may have met on the way.
    pub(super) fn cancel(&self, id: &RequestId) {
        if let Some(call) = self.entries().get(id) {
            call.withdraw();
        }
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<RequestId, Withdrawn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is under way, until this is dropped.
#[derive(Debug)]
pub(super) struct UnderWay {
    calls: Calls,
    pub(super) id: RequestId,
    /// Set once the client has cancelled it.
    pub(super) withdrawn: Withdrawn,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.calls.entries().remove(&self.id);
    }
}
