//! The keys under which a task's questions are shown: none ever stands for two of them.

use std::collections::{HashMap, HashSet};

use crate::body::QuestionBody;

/// The keys of a task, as its run knows them.
#[derive(Default)]
pub(super) struct Keys {
    /// The keys and bodies of the open questions, by their names.
    open: HashMap<String, (String, QuestionBody)>,
    used: HashSet<String>,
    /// Names of questions that were answered since the run began.
    answered: HashSet<String>,
}

/// The outcome for a question that a run asks.
pub(super) enum Asked {
    /// It is shown already, or was answered.
    Already,
    /// It is shown under this key from now on, in place of the other.
    Anew { key: String, retired: Option<String> },
}

impl Keys {
    pub(super) fn new(used: impl Iterator<Item = String>) -> Self {
        Self { used: used.collect(), ..Self::default() }
    }

    pub(super) fn note_open(&mut self, key: String, body: QuestionBody) {
        self.used.insert(key.clone());
        self.open.insert(body.name.clone(), (key, body));
    }

    /// Notes a key that another instance has used in the meantime.
    pub(super) fn note_used(&mut self, key: String) {
        self.used.insert(key);
    }

    /// Returns true if the question was shown in other words.
    pub(super) fn is_reworded(&self, body: &QuestionBody) -> bool {
        self.open.get(&body.name).is_some_and(|(_, shown)| !shown.is_asked_by(body))
    }

    /// Notes the questions that are still open: the next run takes the answers to the others.
    pub(super) fn note_still_open(&mut self, names: &HashSet<String>) {
        let answered = self.open.keys().filter(|name| !names.contains(*name));
        self.answered.extend(answered.cloned());
    }

    /// Finds the key for a question that the run asks. A key stays as long as its request does, unless an answer to it
    /// was refused.
    pub(super) fn ask(&self, body: &QuestionBody, is_refused: bool) -> Asked {
        if self.answered.contains(&body.name) && !is_refused {
            return Asked::Already;
        }
        let shown = self.open.get(&body.name);
        if shown.is_some_and(|(_, shown)| shown.is_asked_by(body) && !is_refused) {
            return Asked::Already;
        }
        Asked::Anew { key: self.fresh(&body.name), retired: shown.map(|(key, _)| key.clone()) }
    }

    pub(super) fn retire(&mut self, name: &str) -> Option<String> {
        self.open.remove(name).map(|(key, _)| key)
    }

    pub(super) fn key_of(&self, name: &str) -> Option<&str> {
        self.open.get(name).map(|(key, _)| key.as_str())
    }

    /// Returns a key for a question: its name if the task has not used that, else the name with the first free number.
    fn fresh(&self, name: &str) -> String {
        fresh_key(name, |key| self.used.contains(key))
    }
}

/// Returns a key for a question: its name if that is not used, else the name with the first free number.
pub(crate) fn fresh_key(name: &str, is_used: impl Fn(&str) -> bool) -> String {
    if !is_used(name) {
        return name.to_owned();
    }
    let numbered = (2_u32..).map(|number| format!("{name}.{number}"));
    numbered.into_iter().find(|key| !is_used(key)).unwrap_or_default()
}
