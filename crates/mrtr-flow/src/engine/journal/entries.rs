//! Entries on their way to a sink.

use serde_json::value::RawValue;

use super::form::{self, Detail, EntryKind, Parts};
use super::{Asked, Leaf, StepEntry};
use crate::engine::question::Question;

/// Entries that a sink is given, in the order in which they were made.
///
/// ```
/// use mrtr_flow::{Entries, Journal, JournalError};
///
/// /// What a store does with them, and what it makes of what it stored.
/// fn keep(row: &mut Vec<u8>, entries: &Entries) -> Result<Journal, JournalError> {
///     row.extend_from_slice(entries.as_bytes());
///     Journal::from_bytes(row.clone())
/// }
/// ```
#[derive(Debug, Default)]
pub struct Entries {
    bytes: Vec<u8>,
    questions: Vec<Question>,
}

/// One entry.
///
/// ```
/// use mrtr_flow::{Entries, EntryKind};
///
/// fn steps_begun(entries: &Entries) -> Vec<&str> {
///     let begun = entries.iter().filter(|entry| entry.kind() == EntryKind::StepStarted);
///     begun.map(|entry| entry.name()).collect()
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    kind: EntryKind,
    name: &'a str,
    bytes: &'a [u8],
}

impl Entries {
    /// Makes the entry of an answer, for a store that gets the answer before the next run. `asked` is the question's
    /// [`asked`](crate::Question::asked).
    ///
    /// ```
    /// use mrtr_flow::{Asked, Entries, Journal};
    ///
    /// let answer = serde_json::value::RawValue::from_string(r#"{"roots": []}"#.to_owned())?;
    /// let entries = Entries::of_answer("roots", &answer, Asked::default());
    /// let journal = Journal::from_bytes(entries.as_bytes().to_vec()).expect("it was just written");
    /// assert_eq!(journal.answered().collect::<Vec<_>>(), ["roots"]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn of_answer(name: &str, answer: &RawValue, asked: Asked) -> Self {
        let mut entries = Self::default();
        entries.push_parts(name, EntryKind::Answered, Detail::Asked { asked, optional: false }, answer.get());
        entries
    }

    /// Returns all of them, in the form that [`Journal::replay`](super::Journal::replay) reads.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the questions that were opened, in their order.
    pub fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// Returns the entries one after the other.
    pub fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let read = form::read(&self.bytes, at)?;
            let bytes = &self.bytes[at..read.end];
            at = read.end;
            let name = std::str::from_utf8(&self.bytes[read.name.0..read.name.1]).ok()?;
            Some(Entry { kind: read.parts.kind, name, bytes })
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn push(&mut self, name: &str, kind: EntryKind) {
        self.push_parts(name, kind, Detail::None, "");
    }

    pub(crate) fn push_leaf(&mut self, name: &str, kind: EntryKind, leaf: &Leaf) {
        self.push_parts(name, kind, Detail::None, leaf.as_str());
    }

    pub(crate) fn push_count(&mut self, name: &str, kind: EntryKind, count: u32) {
        self.push_parts(name, kind, Detail::Count(count), "");
    }

    pub(crate) fn push_step(&mut self, name: &str, entry: &StepEntry) {
        let Parts { kind, detail, leaf } = entry.parts();
        self.push_parts(name, kind, detail, leaf.as_str());
    }

    pub(crate) fn push_answer(&mut self, name: &str, answer: &Leaf) {
        let detail = Detail::Asked { asked: Asked::default(), optional: false };
        self.push_parts(name, EntryKind::Answered, detail, answer.as_str());
    }

    /// Adds that a question is open; if its last answer would not do, adds that first.
    pub(crate) fn push_question(&mut self, question: &Question) {
        if let Some(reason) = &question.refused {
            self.push_parts(&question.key, EntryKind::AnswerRefused, Detail::None, reason);
        }
        let detail = Detail::Asked { asked: question.asked, optional: question.optional };
        self.push_parts(&question.key, EntryKind::QuestionOpened, detail, "");
        self.questions.push(question.clone());
    }

    fn push_parts(&mut self, name: &str, kind: EntryKind, detail: Detail, leaf: &str) {
        form::write(&mut self.bytes, name, &Parts { kind, detail, leaf });
    }
}

impl<'a> Entry<'a> {
    /// Returns the kind of the entry.
    pub fn kind(&self) -> EntryKind {
        self.kind
    }

    /// Returns the name of its question, step or URL; empty for an entry about the flow itself.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Returns this entry alone, in the form that [`Journal::replay`](super::Journal::replay) reads.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }
}
