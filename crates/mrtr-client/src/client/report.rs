//! Telling whoever watches what happens during one call.

use crate::client::Client;
use crate::{CallEvent, EventKind, PendingCall};

/// Tells of one call. A call that is dropped before its end is told of, too.
pub(super) struct Report {
    client: Client,
    pub(super) call: u64,
    method: String,
    name: Option<String>,
    is_over: bool,
}

impl Report {
    pub(super) fn new(client: &Client, pending: &PendingCall) -> Self {
        Self {
            client: client.clone(),
            call: client.next_call(),
            method: pending.method().to_owned(),
            name: pending.name(),
            is_over: false,
        }
    }

    pub(super) fn method(&self) -> &str {
        &self.method
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(super) fn tell(&self, kind: EventKind) {
        // Nobody may be watching, which is fine.
        if self.client.0.events.receiver_count() == 0 {
            return;
        }
        let event = CallEvent { call: self.call, method: self.method.clone(), name: self.name.clone(), kind };
        let _ = self.client.0.events.send(event);
    }

    pub(super) fn close(mut self) {
        self.tell(EventKind::Done);
        self.is_over = true;
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        if !self.is_over {
            self.tell(EventKind::Abandoned);
        }
    }
}
