//! The events of one call, told to those who read the client's events.

use mrtr_schema::Revision;

use super::event_queues::{QueuedEvent, QueuedKind};
use crate::client::Client;
use crate::{EventKind, PendingCall, ServerNotification};

/// Tells of one call. A call that is dropped before its end is told of, too.
pub(super) struct EventReporter {
    client: Client,
    pub(super) call: u64,
    method: String,
    name: Option<String>,
    is_over: bool,
}

impl EventReporter {
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

    pub(super) fn emit(&self, kind: EventKind) {
        self.emit_with(|| QueuedKind::Event(kind));
    }

    /// Tells of what the server said on the way.
    pub(super) fn emit_notification(&self, notification: ServerNotification, revision: Revision) {
        self.emit_with(|| QueuedKind::Notification(notification, revision));
    }

    fn emit_with(&self, kind: impl FnOnce() -> QueuedKind) {
        // Without a reader, an event costs nothing.
        if !self.client.0.event_queues.has_readers() {
            return;
        }
        let (method, name) = (self.method.clone(), self.name.clone());
        self.client.0.event_queues.emit(QueuedEvent { call: self.call, method, name, kind: kind() });
    }

    pub(super) fn close(mut self) {
        self.emit(EventKind::Done);
        self.is_over = true;
    }
}

impl Drop for EventReporter {
    fn drop(&mut self) {
        if !self.is_over {
            self.emit(EventKind::Abandoned);
        }
    }
}
