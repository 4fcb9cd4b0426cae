//! The requests of a connection: those that are under way, by their ids, and those that wait until others have ended.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
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

    /// Stops a request, with what it has in the queue. A request that is over, or never was, is no error: the
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
    /// Set once the client has cancelled the request.
    pub(super) withdrawn: Withdrawn,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.calls.entries().remove(&self.id);
    }
}

/// Requests that wait until others have ended, in the order in which they came.
#[derive(Debug)]
pub(super) struct WaitingRequests {
    queue: VecDeque<WaitingRequest>,
    bytes: usize,
    most: usize,
}

/// A request that waits.
#[derive(Debug)]
pub(super) struct WaitingRequest {
    pub(super) id: RequestId,
    pub(super) message: Bytes,
    /// The handle by which the client can cancel it; in a session, the id may be in use there.
    pub(super) under_way: Option<UnderWay>,
    pub(super) in_session: bool,
}

impl WaitingRequests {
    pub(super) fn new(most: usize) -> Self {
        Self { queue: VecDeque::new(), bytes: 0, most }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Queues a request, and returns it if too many requests, or too many bytes of them, wait already.
    pub(super) fn push(&mut self, request: WaitingRequest) -> Result<(), WaitingRequest> {
        let bytes = self.bytes + request.message.len();
        if self.queue.len() >= self.most || bytes > MOST_BYTES && !self.queue.is_empty() {
            return Err(request);
        }
        self.bytes = bytes;
        self.queue.push_back(request);
        Ok(())
    }

    /// Takes the next request that its client has not cancelled.
    pub(super) fn pop(&mut self) -> Option<WaitingRequest> {
        while let Some(request) = self.queue.pop_front() {
            self.bytes -= request.message.len();
            if !request.under_way.as_ref().is_some_and(|under_way| under_way.withdrawn.is_set()) {
                return Some(request);
            }
        }
        None
    }
}

/// The most bytes that the requests that wait may have together.
pub(super) const MOST_BYTES: usize = 16 << 20;
