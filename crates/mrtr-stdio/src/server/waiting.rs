//! Requests that wait until others have ended.

use std::collections::VecDeque;

use bytes::Bytes;
use mrtr_schema::RequestId;

use super::calls::UnderWay;

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
    /// By which it can be cancelled; in a session, the id may be in use there.
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

    /// Has a request wait; gives it back if there are too many.
    pub(super) fn push(&mut self, request: WaitingRequest) -> Result<(), WaitingRequest> {
        let bytes = self.bytes + request.message.len();
        if self.queue.len() >= self.most || bytes > MOST_BYTES && !self.queue.is_empty() {
            return Err(request);
        }
        self.bytes = bytes;
        self.queue.push_back(request);
        Ok(())
    }

    /// The next one that its client has not cancelled.
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

/// How many bytes the requests that wait may have together.
pub(super) const MOST_BYTES: usize = 16 << 20;
