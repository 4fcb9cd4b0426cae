//! What a flow has learned so far: answers and step outcomes, each under its own name.

use std::sync::LazyLock;

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::error::StepError;
use crate::support::by_name::ByName;

/// The entries of a flow, by name: the only memory between its runs.
///
/// Names, not numbers: a new version of a handler that asks other questions keeps the answers it still wants.
///
/// ```
/// use mrtr_server::extend::{Asked, Journal};
///
/// let mut journal = Journal::default();
/// assert!(journal.is_empty());
/// journal.answer("roots", serde_json::from_str(r#"{"roots": []}"#)?, Asked::default());
/// assert_eq!(journal.answered().collect::<Vec<_>>(), ["roots"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Journal(
    /// Most calls never have an entry, and those that do hand their journal on: it takes one word.
    Option<Box<Entries>>,
);

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Entries {
    #[serde(rename = "a", default, skip_serializing_if = "IndexMap::is_empty")]
    pub(crate) answers: ByName<AnswerEntry>,
    #[serde(rename = "s", default, skip_serializing_if = "IndexMap::is_empty")]
    pub(crate) steps: ByName<StepEntry>,
    /// URLs that were seen to be visited.
    #[serde(rename = "v", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) visits: Vec<String>,
    /// What was decided elsewhere, by question.
    #[serde(rename = "e", default, skip_serializing_if = "IndexMap::is_empty")]
    pub(crate) decisions: ByName<Box<RawValue>>,
    /// Answers that came without a state, and that no run has used yet. They go along where a state goes, and are no
    /// reason for one: most are answers to nothing. Clients choose their names.
    #[serde(rename = "l", default, skip_serializing_if = "IndexMap::is_empty")]
    pub(crate) unsealed_answers: IndexMap<String, Box<RawValue>>,
    /// How often a pinned question was asked again because its wording had changed.
    #[serde(rename = "r", default, skip_serializing_if = "IndexMap::is_empty")]
    pub(crate) rewordings: ByName<u32>,
    /// How far the last yield point had come.
    #[serde(rename = "y", default, skip_serializing_if = "Option::is_none")]
    pub(crate) progress: Option<Box<RawValue>>,
    /// How often the flow was put down.
    #[serde(rename = "d", default, skip_serializing_if = "is_zero")]
    pub(crate) sheds: u32,
    /// What a handler in manual mode wants back.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub(crate) carried: Option<Box<RawValue>>,
    /// Whether an outside service may hold an id that follows from this flow's.
    #[serde(rename = "k", default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) gave_keys: bool,
}

/// What became of a question.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum AnswerEntry {
    /// The client answered this, to these words.
    #[serde(rename = "g")]
    Given(Wording, Box<RawValue>),
    /// The client answered this, and it counts for the exact words alone.
    #[serde(rename = "p")]
    Pinned(Wording, Box<RawValue>, String),
    /// It was asked once, need not be answered, and was not.
    #[serde(rename = "n")]
    Skipped,
}

/// How a question was worded: kept with its answer, so that a later run can tell whether it asks the same.
///
/// ```
/// use mrtr_server::extend::{Journal, Question};
///
/// /// What a runner does when the answer to a question has come.
/// fn answered(journal: &mut Journal, question: &Question, answer: Box<serde_json::value::RawValue>) {
///     journal.answer(&question.key, answer, question.asked.clone());
/// }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// A short digest of the wording.
    pub(crate) wording: Wording,
    /// The digest of the wording, if the answer counts for that wording alone.
    pub(crate) pinned: Option<String>,
}

impl Asked {
    /// Where one question is asked in two places, it is pinned if one of them wants that.
    pub(crate) fn pin(&mut self, other: Self) {
        self.pinned = self.pinned.take().or(other.pinned);
    }
}

/// A digest of a question's wording, of 24 bits: it tells mistakes, not attacks. 0 where the engine did not word it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Wording(pub(crate) u32);

impl Wording {
    /// Whether both are known, and differ.
    pub(crate) fn differs(self, other: Self) -> bool {
        self != other && self != Self::default() && other != Self::default()
    }
}

/// What became of a step.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum StepEntry {
    /// It was started, and how it ended is not known.
    #[serde(rename = "s")]
    Started,
    /// Its handler went on without it, and saw no outcome.
    #[serde(rename = "d")]
    Dropped,
    /// It took longer than it may.
    #[serde(rename = "t")]
    TimedOut,
    /// It gave this value.
    #[serde(rename = "v")]
    Value(Box<RawValue>),
    /// It failed like this.
    #[serde(rename = "e")]
    Error(StepError),
}

impl AnswerEntry {
    pub(crate) fn given(response: Box<RawValue>, Asked { wording, pinned }: Asked) -> Self {
        match pinned {
            None => Self::Given(wording, response),
            Some(pinned) => Self::Pinned(wording, response, pinned),
        }
    }

    /// The answer, unless there is none.
    pub(crate) fn response(&self) -> Option<&RawValue> {
        match self {
            Self::Given(_, response) | Self::Pinned(_, response, _) => Some(response),
            Self::Skipped => None,
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.response().map_or(0, |response| response.get().len())
    }
}

impl StepEntry {
    pub(crate) fn is_started(&self) -> bool {
        matches!(self, Self::Started)
    }

    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Started | Self::Dropped | Self::TimedOut => 0,
            Self::Value(value) => value.get().len(),
            Self::Error(error) => error.message.len(),
        }
    }
}

impl Journal {
    /// Whether there is nothing that must be remembered.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|entries| entries.is_empty())
    }

    /// The names of the questions that are answered.
    pub fn answered(&self) -> impl Iterator<Item = &str> {
        self.entries().answers.keys().map(String::as_str)
    }

    /// The names of the steps that were started.
    pub fn steps(&self) -> impl Iterator<Item = &str> {
        self.entries().steps.keys().map(String::as_str)
    }

    /// Takes in the answer to a question that was asked, in place of an earlier one. Whether it will do is for the
    /// next run to say. `asked` is what [`Question::asked`](crate::extend::Question::asked) was.
    pub fn answer(&mut self, key: impl Into<String>, response: Box<RawValue>, asked: Asked) {
        self.entries_mut().answers.insert(key.into(), AnswerEntry::given(response, asked));
    }

    /// Takes note that an optional question was asked and not answered.
    pub fn skip(&mut self, key: impl Into<String>) {
        self.entries_mut().answers.insert(key.into(), AnswerEntry::Skipped);
    }

    /// Takes back the outcome of a step that a sink was given; `None` for one that was started and has none.
    pub fn replay(&mut self, step: impl Into<String>, outcome: Option<&str>) -> Result<(), serde_json::Error> {
        let entry = outcome.map_or(Ok(StepEntry::Started), serde_json::from_str)?;
        self.entries_mut().steps.insert(step.into(), entry);
        Ok(())
    }
}

impl Journal {
    pub(crate) fn entries(&self) -> &Entries {
        static NONE: LazyLock<Entries> = LazyLock::new(Entries::default);
        self.0.as_deref().unwrap_or_else(|| &NONE)
    }

    pub(crate) fn entries_mut(&mut self) -> &mut Entries {
        self.0.get_or_insert_default()
    }

    /// Whether a question was answered; it may also be settled without an answer, left out or found done.
    pub(crate) fn has_answer(&self, key: &str) -> bool {
        self.entries().answers.get(key).and_then(AnswerEntry::response).is_some()
    }

    pub(crate) fn remove_answer(&mut self, key: &str) -> Option<AnswerEntry> {
        self.0.as_mut()?.answers.shift_remove(key)
    }

    /// Keeps those of the answers that no run has used for which this holds.
    pub(crate) fn retain_unsealed(&mut self, mut stays: impl FnMut(&str, &RawValue) -> bool) {
        if let Some(entries) = &mut self.0 {
            entries.unsealed_answers.retain(|key, answer| stays(key, answer));
        }
    }

    /// Whether there is nothing in it at all, also nothing that merely goes along.
    pub(crate) fn is_blank(&self) -> bool {
        self.0.as_ref().is_none_or(|entries| entries.is_empty() && entries.unsealed_answers.is_empty())
    }

    /// Roughly how many bytes it takes, sealed. Answers that no run has used take none: they go along if there is room.
    pub(crate) fn size(&self) -> usize {
        self.0.as_ref().map_or(0, |entries| entries.size())
    }

    /// The answer with which it grew beyond this many bytes, if it was one: what a handler records is measured as it
    /// is recorded.
    pub(crate) fn excess(&self, limit: usize) -> Option<&str> {
        let entries = self.0.as_ref()?;
        let taken = |(key, entry): (&String, &AnswerEntry)| key.len() + entry.size() + PER_ENTRY;
        let mut size = entries.size() - entries.answers.iter().map(taken).sum::<usize>();
        if size > limit {
            return None;
        }
        let mut answers = entries.answers.iter();
        let grown = answers.find(|answer| {
            size += taken(*answer);
            size > limit
        });
        grown.map(|(key, _)| key.as_str())
    }

    /// The answer that would be too much even if the handler had nothing carried by hand, which is its own to bound.
    pub(crate) fn excess_beside_carried(&self, limit: usize) -> Option<&str> {
        let carried = self.entries().carried.as_ref().map_or(0, |value| value.get().len() + PER_ENTRY);
        self.excess(limit + carried)
    }

    /// The entry that takes most, in words for the log.
    pub(crate) fn largest(&self) -> Option<String> {
        self.0.as_ref()?.largest()
    }
}

impl Serialize for Journal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entries().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Journal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::deserialize(deserializer).map(Some).map(Self)
    }
}

impl Entries {
    fn is_empty(&self) -> bool {
        self.answers.is_empty()
            && self.steps.is_empty()
            && self.visits.is_empty()
            && self.decisions.is_empty()
            && self.sheds == 0
            && self.rewordings.is_empty()
            && self.progress.is_none()
            && self.carried.is_none()
            && !self.gave_keys
    }

    fn size(&self) -> usize {
        let answers = self.answers.iter().map(|(key, entry)| key.len() + entry.size());
        let steps = self.steps.iter().map(|(name, entry)| name.len() + entry.size());
        let names = self.visits.iter().map(String::len);
        let rest = [&self.progress, &self.carried].into_iter().flatten();
        let rest = rest.chain(self.decisions.values()).map(|value| value.get().len());
        answers.chain(steps).chain(names).chain(rest).map(|length| length + PER_ENTRY).sum()
    }

    fn largest(&self) -> Option<String> {
        let answers = self.answers.iter().map(|(key, entry)| (entry.size(), format!("answer `{key}`")));
        let steps = self.steps.iter().map(|(name, entry)| (entry.size(), format!("step `{name}`")));
        let progress = self.progress.iter().map(|value| (value.get().len(), "the progress".to_owned()));
        let carried = self.carried.iter().map(|value| (value.get().len(), "what is carried by hand".to_owned()));
        let (size, name) = answers.chain(steps).chain(progress).chain(carried).max_by_key(|(size, _)| *size)?;
        Some(format!("{name} takes {size} of them"))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Quotes, colons and commas around an entry.
pub(crate) const PER_ENTRY: usize = 16;
