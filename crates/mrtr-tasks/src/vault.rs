//! The seal on what a task holds: put on before a store gets it, and opened after the store gave it back.

use mrtr_state::{Refusal, Sealer};

use crate::TaskId;

/// The kind of sealed bytes: they open as no other kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Call,
    Entries,
    Question,
    Message,
    Result,
    State,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Call => "mrtr-tasks/call",
            Self::Entries => "mrtr-tasks/entries",
            Self::Question => "mrtr-tasks/question",
            Self::Message => "mrtr-tasks/message",
            Self::Result => "mrtr-tasks/result",
            Self::State => "mrtr-tasks/state",
        }
    }
}

/// Seals with the server's keys if they outlive the process. Otherwise bytes stay as they are, since no later process
/// could open them.
#[derive(Debug)]
pub(crate) struct Vault(Option<Sealer>);

/// The reason why bytes that a store gave back cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("the stored bytes cannot be opened: {}", .0.label())]
    Sealed(Refusal),
    #[error("the stored bytes are sealed, and this instance has no keys")]
    NoKeys,
    #[error("the stored bytes cannot be read: {0}")]
    Form(String),
}

impl Vault {
    /// `outlives_process` says it of the store.
    pub(crate) fn new(sealer: Option<Sealer>, outlives_process: bool) -> Self {
        let sealer = sealer.filter(Sealer::outlives_process);
        if sealer.is_none() && outlives_process {
            tracing::warn!("tasks are stored unsealed: the server has no keys that outlive this process");
        }
        Self(sealer)
    }

    pub(crate) fn seal(&self, kind: Kind, id: TaskId, bytes: &[u8]) -> Vec<u8> {
        match &self.0 {
            Some(sealer) => sealer.seal_at_rest(kind.name(), id.as_bytes(), bytes),
            None => [&[PLAIN], bytes].concat(),
        }
    }

    /// Opens bytes that a store kept. With keys it reads nothing plain: a store that was tampered with must not tell a
    /// server what to do.
    pub(crate) fn open(&self, kind: Kind, id: TaskId, kept: &[u8]) -> Result<Vec<u8>, Unreadable> {
        match (&self.0, kept) {
            (Some(sealer), kept) => sealer.open_at_rest(kind.name(), id.as_bytes(), kept).map_err(Unreadable::Sealed),
            (None, [PLAIN, bytes @ ..]) => Ok(bytes.to_vec()),
            (None, _) => Err(Unreadable::NoKeys),
        }
    }
}

/// The first byte of plain bytes. Sealed bytes begin with the number of their form, from 1.
const PLAIN: u8 = 0;
