//! The requests that a document has shown so far, and which of them a response answers.

use serde_json::Value;

/// Who sent a request. Each side counts its ids for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// A request that stood in the document.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) side: Side,
    pub(crate) id: Value,
    pub(crate) method: String,
    /// Whether it asked to be run as a task.
    pub(crate) as_task: bool,
}

#[derive(Default)]
pub(crate) struct Conversation {
    /// Oldest first, each with whether it was answered.
    requests: Vec<(Asked, bool)>,
}

impl Conversation {
    /// A document may hold several conversations, and each counts its ids anew.
    pub(crate) fn ask(&mut self, asked: Asked) {
        self.requests.retain(|(other, answered)| *answered || other.side != asked.side || other.id != asked.id);
        self.requests.push((asked, false));
    }

    /// The request that a response of this id answers: one with that id that still waits, or else the last one.
    pub(crate) fn answer(&mut self, id: &Value) -> Option<Asked> {
        let waiting = self.requests.iter().rposition(|(asked, answered)| !answered && asked.id == *id);
        let (asked, answered) = match waiting {
            Some(index) => self.requests.get_mut(index)?,
            None => self.requests.last_mut()?,
        };
        *answered = true;
        Some(asked.clone())
    }

    /// The method that was last asked to run as a task.
    pub(crate) fn task_method(&self) -> Option<&str> {
        self.requests.iter().rev().find(|(asked, _)| asked.as_task).map(|(asked, _)| asked.method.as_str())
    }
}
