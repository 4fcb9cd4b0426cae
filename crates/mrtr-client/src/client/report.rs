//! Telling whoever watches what happens during one call.

use mrtr_schema::Revision;

use super::watchers::{Told, What};
use crate::client::Client;
use crate::{EventKind, Notified, PendingCall};

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
        self.tell_of(|| What::Happened(kind));
    }

    /// Tells of what the server said on the way.
    pub(super) fn tell_said(&self, notified: Notified, revision: Revision) {
        self.tell_of(|| What::Said(notified, revision));
    }

    fn tell_of(&self, what: impl FnOnce() -> What) {
        // Nobody may be watching, which is fine.
        if !self.client.0.watchers.is_watched() {
            return;
        }
        let (method, name) = (self.method.clone(), self.name.clone());
        self.client.0.watchers.tell(Told { call: self.call, method, name, what: what() });
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
