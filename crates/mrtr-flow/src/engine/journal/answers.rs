//! The wording of an answer's question; and answers that came without a state, kept as the one text in which they came
//! until a question wants one.

use std::collections::HashSet;

use bytes::Bytes;
use mrtr_schema::MemberIndex;

use super::leaf::Leaf;

/// The wording of a question: kept with its answer, so that a later run can tell whether it asks the same.
///
/// ```
/// use mrtr_flow::{Journal, Question};
///
/// /// What a runner does when the answer to a question has come.
/// fn answered(journal: &mut Journal, question: &Question, answer: &serde_json::value::RawValue) {
///     journal.answer(&question.key, answer, question.asked);
/// }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// A short digest of the wording.
    pub(crate) wording: Wording,
    /// The digest of the wording, if the answer counts for that wording alone.
    pub(crate) pinned: Option<Pinned>,
}

impl Asked {
    /// Writes the wording for a store.
    ///
    /// ```
    /// use mrtr_flow::Asked;
    ///
    /// assert_eq!(Asked::from_bytes(&Asked::default().to_bytes()), Some(Asked::default()));
    /// assert_eq!(Asked::from_bytes(b"?"), None);
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let [_, wording @ ..] = self.wording.0.to_be_bytes();
        let mut bytes = wording.to_vec();
        if let Some(Pinned(digest)) = &self.pinned {
            bytes.extend_from_slice(digest);
        }
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) gave.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&[a, b, c], pinned) = bytes.split_first_chunk()?;
        let pinned = if pinned.is_empty() { None } else { Some(Pinned(pinned.try_into().ok()?)) };
        Some(Self { wording: Wording(u32::from_be_bytes([0, a, b, c])), pinned })
    }

    /// Adds the wish of another place that asks the question: it is pinned if one of them wants that.
    pub(crate) fn pin(&mut self, other: Self) {
        self.pinned = self.pinned.or(other.pinned);
    }
}

/// A digest of a question's wording, of 24 bits: it tells mistakes, not attacks. 0 where the engine did not word it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Wording(pub(crate) u32);

impl Wording {
    /// Returns true if both are known, and differ.
    pub(crate) fn differs(self, other: Self) -> bool {
        self != other && self != Self::default() && other != Self::default()
    }
}

/// A digest of a question's wording that no other wording has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pinned(pub(crate) [u8; 16]);

/// Answers that came without a state, by key. No question asks for most of them, and a client may send as many as a
/// body holds: so none is copied before a question uses it.
#[derive(Debug, Clone)]
pub struct UnsealedAnswers {
    text: Bytes,
    index: MemberIndex,
    /// The keys of those that a question has used.
    used: HashSet<Box<str>>,
}

impl UnsealedAnswers {
    /// Makes the answers of this text and its index.
    pub fn new(text: Bytes, index: MemberIndex) -> Self {
        Self { text, index, used: HashSet::new() }
    }

    /// Returns the length of their text.
    pub(super) fn len(&self) -> usize {
        self.text.len()
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

    /// Returns those that no question has used, in their order.
    pub(super) fn unused(&self) -> impl Iterator<Item = (String, Leaf)> {
        let all = (self.used.len() < self.index.len()).then(|| MemberIndex::members(&self.text));
        let unused = all.into_iter().flatten().filter(|(key, _)| !self.used.contains(&**key));
        unused.map(|(key, answer)| (key.into_owned(), answer.into()))
    }
}
