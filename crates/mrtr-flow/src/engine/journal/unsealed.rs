//! Answers that came without a state: kept as the one text in which they came, until a question wants one.

use std::collections::HashSet;

use bytes::Bytes;
use mrtr_schema::MemberIndex;

use super::leaf::Leaf;

/// Answers that came without a state, by key. Most are never asked for, and a client may send as many as a body holds:
/// none of them is copied before a question uses it.
#[derive(Debug, Clone)]
pub struct UnsealedAnswers {
    text: Bytes,
    index: MemberIndex,
    /// Those that a question has used.
    used: HashSet<Box<str>>,
}

impl UnsealedAnswers {
    /// Answers in this text, of which the index was made.
    pub fn new(text: Bytes, index: MemberIndex) -> Self {
        Self { text, index, used: HashSet::new() }
    }

    pub(super) fn get(&self, key: &str) -> Option<Leaf> {
        let answer = self.index.find(&self.text, key).filter(|_| !self.used.contains(key));
        answer.map(Leaf::from)
    }

    pub(super) fn mark_used(&mut self, key: &str) {
        if self.index.find(&self.text, key).is_some() {
            self.used.insert(key.into());
        }
    }

    /// Those that no question has used, in their order.
    pub(super) fn unused(&self) -> impl Iterator<Item = (String, Leaf)> {
        let all = (self.used.len() < self.index.len()).then(|| MemberIndex::members(&self.text));
        let unused = all.into_iter().flatten().filter(|(key, _)| !self.used.contains(&**key));
        unused.map(|(key, answer)| (key.into_owned(), answer.into()))
    }
}
