//! How long a server waits for its clients.

use std::time::Duration;

/// How long a server waits for its clients.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    /// For the head of a request, on a new connection or one that is kept.
    pub(super) header: Duration,
    /// For a client to read some of what it is sent.
    pub(super) write: Duration,
    /// For what runs, once the operator has told the server to stop.
    pub(super) shutdown: Duration,
}
