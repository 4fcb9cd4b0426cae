//! The journal of a flow: entries, each about something and under its name. A flow has no other memory between its
//! runs.

mod answers;
mod entries;
mod form;
mod leaf;
mod slots;

use std::fmt;

use bytes::Bytes;
use mrtr_schema::{HeapSize, allocated};
use mrtr_state::{Payload, PayloadError};
use serde_json::value::RawValue;

use super::question::Question;
use crate::error::{StepError, Visibility};
use form::{Detail, Parts, Space, unreadable};
use slots::{Slots, View};

pub use answers::{Asked, UnsealedAnswers};
pub(crate) use answers::{Pinned, Wording};
pub use entries::{Entries, Entry};
pub use form::EntryKind;
pub(crate) use leaf::Leaf;

/// The entries of a flow, by name.
///
/// Entries have names, not numbers: a new version of a handler that asks other questions keeps the answers that it
/// still wants. A run reads only the entries that it looks for.
///
/// ```
/// use mrtr_flow::{Asked, Journal};
///
/// let mut journal = Journal::default();
/// assert!(journal.is_empty());
/// journal.answer("roots", &serde_json::value::RawValue::from_string(r#"{"roots": []}"#.to_owned())?, Asked::default());
/// let kept = Journal::from_bytes(journal.to_bytes()).expect("it was just written");
/// assert_eq!(kept.answered().collect::<Vec<_>>(), ["roots"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Journal(
    /// Most calls never have an entry, and those that do hand their journal on: it takes one word.
    Option<Box<Slots>>,
);

/// The state of a step, as the journal has it.
#[derive(Debug, Clone)]
pub(crate) enum StepEntry {
    /// It was started, and how it ended is not known.
    Started,
    /// Its handler continued without it, and saw no outcome.
    Dropped,
    /// It took longer than it may.
    TimedOut,
    /// It gave this value.
    Value(Leaf),
    /// It failed with this error.
    Error(StepError),
}

/// The end of a question, as the journal has it.
pub(crate) enum AnswerEntry {
    /// The client answered this, to these words.
    Given(Leaf, Asked),
    /// It was asked once, need not be answered, and was not.
    Skipped,
}

/// A question that the client was asked, by its journal. [`Journal::settle_pending`] gives those that were open.
///
/// ```
/// use mrtr_flow::{Failure, Flow, Journal, Pending, RunContext, run};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let count = async |flow: Flow| Ok::<_, Failure>(flow.roots("roots").await?.len());
/// let mut journal = run(count, Journal::default(), RunContext::for_tests()).await.journal;
///
/// // The client answered nothing.
/// let pending: Vec<Pending> = journal.settle_pending(|_| None);
/// assert_eq!(pending[0].key(), "roots");
/// # }
/// ```
#[derive(Debug)]
pub struct Pending(Leaf);

impl Pending {
    /// Returns its name.
    pub fn key(&self) -> &str {
        self.0.as_str()
    }
}

/// The error for bytes that are no journal.
///
/// ```
/// use mrtr_flow::Journal;
///
/// let error = Journal::from_bytes(vec![9]).unwrap_err();
/// assert_eq!(error.to_string(), "the journal is truncated, or a newer version wrote it");
/// ```
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct JournalError(PayloadError);

impl Journal {
    /// Reads entries that [`to_bytes`](Self::to_bytes) wrote or a sink was given, one after the other.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self, JournalError> {
        let bytes = bytes.into();
        Self::read_from(&bytes).map_err(JournalError)
    }

    fn read_from(bytes: &[u8]) -> Result<Self, PayloadError> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let slots = Slots::read(bytes).ok_or_else(unreadable)?;
        Ok(Self(Some(Box::new(slots))))
    }

    /// Writes the entries, one after the other, without those whose place a later one has taken.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write_to(&mut bytes);
        bytes
    }

    /// Appends entries that a sink was given.
    pub fn replay(&mut self, entries: &[u8]) -> Result<(), JournalError> {
        self.slots_mut().append(entries).ok_or_else(|| JournalError(unreadable()))
    }

    /// Returns true if the journal has nothing that must be remembered.
    pub fn is_empty(&self) -> bool {
        self.all().all(|entry| matches!(entry.kind(), EntryKind::UnsealedAnswer | EntryKind::QuestionOpened))
    }

    /// Returns the names of the questions that were answered, and of the optional ones that were left unanswered.
    pub fn answered(&self) -> impl Iterator<Item = &str> {
        let settled = |entry: &View<'_>| matches!(entry.kind(), EntryKind::Answered | EntryKind::Skipped);
        self.all().filter(settled).map(View::name)
    }

    /// Returns the names of the steps that were started.
    pub fn steps(&self) -> impl Iterator<Item = &str> {
        self.all().filter(|entry| entry.kind().space() == Space::Step).map(View::name)
    }

    /// Returns what is remembered, in order: the kind of each entry, its name, and its content, such as the JSON of an
    /// answer. The name is empty for an entry about the flow itself, and the content where there is none.
    ///
    /// ```
    /// use mrtr_flow::{Asked, EntryKind, Journal};
    ///
    /// let mut journal = Journal::default();
    /// let answer = serde_json::value::RawValue::from_string(r#"{"roots": []}"#.to_owned())?;
    /// journal.answer("roots", &answer, Asked::default());
    /// let entries: Vec<_> = journal.contents().collect();
    /// assert_eq!(entries, [(EntryKind::Answered, "roots", r#"{"roots": []}"#)]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn contents(&self) -> impl Iterator<Item = (EntryKind, &str, &str)> {
        self.all().map(|entry| (entry.kind(), entry.name(), entry.text()))
    }

    /// Records the answer to a question that was asked, in place of an earlier one. The next run decides whether the
    /// answer will do. `asked` is the question's [`asked`](crate::Question::asked).
    pub fn answer(&mut self, key: impl AsRef<str>, response: &RawValue, asked: Asked) {
        self.put_answer(key.as_ref(), response.into(), asked);
    }

    /// Notes that an optional question was asked and not answered.
    pub fn skip(&mut self, key: impl AsRef<str>) {
        self.put_skipped(key.as_ref());
    }
}

impl Journal {
    fn all(&self) -> impl DoubleEndedIterator<Item = View<'_>> {
        self.0.iter().flat_map(|slots| slots.iter())
    }

    fn get(&self, space: Space, name: &str) -> Option<View<'_>> {
        self.0.as_ref()?.get(space, name)
    }

    fn slots_mut(&mut self) -> &mut Slots {
        self.0.get_or_insert_default()
    }

    fn put(&mut self, name: &str, kind: EntryKind, detail: Detail, leaf: Leaf) -> Option<usize> {
        self.slots_mut().put(name, Parts { kind, detail, leaf })
    }

    /// Returns what the journal has about a question.
    pub(crate) fn answer_to(&self, key: &str) -> Option<AnswerEntry> {
        let entry = self.get(Space::Question, key)?;
        match entry.kind() {
            EntryKind::Answered => Some(AnswerEntry::Given(entry.leaf(), entry.detail().asked())),
            EntryKind::Skipped => Some(AnswerEntry::Skipped),
            _ => None,
        }
    }

    /// Returns true if a question was answered, or asked and left unanswered. Visits and decisions do not count.
    pub(crate) fn is_settled(&self, key: &str) -> bool {
        let entry = self.get(Space::Question, key);
        entry.is_some_and(|entry| matches!(entry.kind(), EntryKind::Answered | EntryKind::Skipped))
    }

    /// Returns true if a question was answered. A question that was left unanswered, or whose page was found visited,
    /// has no answer.
    pub(crate) fn has_answer(&self, key: &str) -> bool {
        self.get(Space::Question, key).is_some_and(|entry| entry.kind() == EntryKind::Answered)
    }

    /// Puts an answer in, and returns the length of the one whose place it takes.
    pub(crate) fn put_answer(&mut self, key: &str, response: Leaf, asked: Asked) -> Option<usize> {
        self.slots_mut().new_answers += key.len() + response.len() + PER_ENTRY;
        self.put(key, EntryKind::Answered, Detail::Asked { asked, optional: false }, response)
    }

    /// Notes that an optional question cannot be asked, or was not answered.
    pub(crate) fn put_skipped(&mut self, key: &str) -> Option<usize> {
        self.put(key, EntryKind::Skipped, Detail::None, Leaf::default())
    }

    pub(crate) fn remove_answer(&mut self, key: &str) -> Option<usize> {
        self.0.as_mut()?.remove(Space::Question, key)
    }

    /// Notes a question that the client is asked.
    pub(crate) fn put_opened(&mut self, question: &Question) {
        let detail = Detail::Asked { asked: question.asked, optional: question.optional };
        self.put(&question.key, EntryKind::QuestionOpened, detail, Leaf::default());
    }

    /// Records the answers to the open questions, and returns those questions. If one needs an answer and has none,
    /// the next run asks it again, provided that its handler still wants it.
    ///
    /// ```
    /// use mrtr_flow::{Failure, Flow, Journal, Outcome, RunContext, run};
    /// use serde_json::value::RawValue;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let count = async |flow: Flow| Ok::<_, Failure>(flow.roots("roots").await?.len());
    /// let mut journal = run(count, Journal::default(), RunContext::for_tests()).await.journal;
    ///
    /// let answer = RawValue::from_string(r#"{"roots": []}"#.to_owned())?;
    /// let pending = journal.settle_pending(|key| (key == "roots").then_some(&*answer));
    /// assert_eq!(pending[0].key(), "roots");
    /// let ran = run(count, journal, RunContext::for_tests()).await;
    /// assert!(matches!(ran.outcome, Outcome::Done(0)));
    /// # Ok(()) }
    /// ```
    pub fn settle_pending<'a>(&mut self, mut answer: impl FnMut(&str) -> Option<&'a RawValue>) -> Vec<Pending> {
        let mut pending = Vec::new();
        let Some(slots) = &mut self.0 else { return pending };
        let mut new_answers = 0;
        slots.settle_open(|name, detail| {
            let (answer, is_optional) = (answer(name.as_str()), matches!(detail, Detail::Asked { optional: true, .. }));
            new_answers += answer.map_or(0, |answer| name.len() + answer.get().len() + PER_ENTRY);
            pending.push(Pending(name));
            match answer {
                Some(answer) => Some((EntryKind::Answered, answer.into())),
                None => is_optional.then(|| (EntryKind::Skipped, Leaf::default())),
            }
        });
        slots.new_answers += new_answers;
        pending
    }

    /// Forgets which questions are open, optional ones too. This answers none of them, and skips none.
    pub(crate) fn forget_opened(&mut self) {
        if let Some(slots) = &mut self.0 {
            slots.settle_open(|_, _| None);
        }
    }

    pub(crate) fn step(&self, name: &str) -> Option<StepEntry> {
        let entry = self.get(Space::Step, name)?;
        Some(match entry.kind() {
            EntryKind::StepFinished => StepEntry::Value(entry.leaf()),
            EntryKind::StepFailed => {
                let visibility = match entry.detail() {
                    Detail::Visibility(visibility) => visibility,
                    _ => Visibility::Internal,
                };
                StepEntry::Error(StepError { message: entry.text().to_owned(), visibility })
            }
            EntryKind::StepDropped => StepEntry::Dropped,
            EntryKind::StepTimedOut => StepEntry::TimedOut,
            _ => StepEntry::Started,
        })
    }

    /// Puts a step in, and returns the length of the entry whose place it takes.
    pub(crate) fn put_step(&mut self, name: &str, entry: &StepEntry) -> Option<usize> {
        let Parts { kind, detail, leaf } = entry.parts();
        self.put(name, kind, detail, leaf)
    }

    pub(crate) fn has_visited(&self, key: &str) -> bool {
        self.get(Space::Visit, key).is_some()
    }

    pub(crate) fn put_visited(&mut self, key: &str) {
        self.put(key, EntryKind::Visited, Detail::None, Leaf::default());
    }

    /// Counts how often the flow looked for a visit that the user consented to.
    pub(crate) fn looks_for_visit(&self, key: &str) -> u32 {
        self.get(Space::Consent, key).map_or(0, |entry| entry.detail().count())
    }

    pub(crate) fn put_consented(&mut self, key: &str, looks: u32) {
        self.put(key, EntryKind::Consented, Detail::Count(looks), Leaf::default());
    }

    pub(crate) fn decision(&self, key: &str) -> Option<Leaf> {
        self.get(Space::Decision, key).map(View::leaf)
    }

    pub(crate) fn put_decision(&mut self, key: &str, decision: Leaf) -> Option<usize> {
        self.put(key, EntryKind::Decided, Detail::None, decision)
    }

    pub(crate) fn unsealed_answer(&self, key: &str) -> Option<Leaf> {
        let slots = self.0.as_ref()?;
        // Those of an earlier round stand in its state, as far as there was room for them.
        let carried = slots.get(Space::Unsealed, key).map(View::leaf);
        carried.or_else(|| slots.unsealed.as_ref()?.get(key))
    }

    /// Keeps answers that came without a state.
    pub(crate) fn put_unsealed(&mut self, answers: UnsealedAnswers) {
        self.slots_mut().unsealed = Some(Box::new(answers));
    }

    pub(crate) fn remove_unsealed(&mut self, key: &str) {
        if let Some(slots) = &mut self.0 {
            slots.remove(Space::Unsealed, key);
            if let Some(unsealed) = &mut slots.unsealed {
                unsealed.mark_used(key);
            }
        }
    }

    /// Forgets answers that came without a state: they count no more.
    pub(crate) fn drop_unsealed(&mut self) {
        if let Some(slots) = &mut self.0 {
            slots.unsealed = None;
        }
    }

    /// Makes entries of the answers that came without a state and that no run has used, as far as they fit into `room`,
    /// and forgets the others. It does not keep those that a question asks for now.
    pub(crate) fn carry_unsealed(&mut self, mut room: usize, is_asked: impl Fn(&str) -> bool) {
        let Some(slots) = &mut self.0 else { return };
        let mut stays = |key: &str, length: usize| {
            let left = room.checked_sub(key.len() + length + PER_ENTRY).filter(|_| !is_asked(key));
            room = left.unwrap_or(room);
            left.is_some()
        };
        let is_unsealed = |entry: &View<'_>| entry.kind() == EntryKind::UnsealedAnswer;
        // Most journals have none: a state is opened with all that it holds.
        if slots.iter().any(|entry| is_unsealed(&entry)) {
            slots.retain(|entry| !is_unsealed(&entry) || stays(entry.name(), entry.size()));
        }
        let Some(unsealed) = slots.unsealed.take() else { return };
        for (key, answer) in unsealed.unused() {
            if stays(&key, answer.len()) {
                slots.put(&key, Parts { kind: EntryKind::UnsealedAnswer, detail: Detail::None, leaf: answer });
            }
        }
    }

    /// Counts how often a pinned question changed its wording under an answer.
    pub(crate) fn count_rewording(&mut self, key: &str) -> u32 {
        let times = self.get(Space::Reworded, key).map_or(0, |entry| entry.detail().count()) + 1;
        self.put(key, EntryKind::Reworded, Detail::Count(times), Leaf::default());
        times
    }

    /// The progress at the last yield point.
    pub(crate) fn progress(&self) -> Option<Leaf> {
        self.get(Space::Progress, "").map(View::leaf)
    }

    pub(crate) fn put_progress(&mut self, progress: Leaf) -> Option<usize> {
        self.put("", EntryKind::Progress, Detail::None, progress)
    }

    /// Returns the number of times that the flow was shed.
    pub(crate) fn sheds(&self) -> u32 {
        self.get(Space::Shed, "").map_or(0, |entry| entry.detail().count())
    }

    pub(crate) fn count_shed(&mut self) -> u32 {
        let times = self.sheds() + 1;
        self.put("", EntryKind::Shed, Detail::Count(times), Leaf::default());
        times
    }

    /// The value that a handler in manual mode wants back.
    pub(crate) fn carried(&self) -> Option<Leaf> {
        self.get(Space::Carried, "").map(View::leaf)
    }

    pub(crate) fn put_carried(&mut self, carried: Option<Leaf>) {
        match (carried, &mut self.0) {
            (Some(carried), _) => {
                self.put("", EntryKind::Carried, Detail::None, carried);
            }
            (None, Some(slots)) => {
                slots.remove(Space::Carried, "");
            }
            (None, None) => {}
        }
    }

    /// Returns true if an outside service may hold an id that follows from this flow's.
    pub(crate) fn gave_keys(&self) -> bool {
        self.get(Space::Keys, "").is_some()
    }

    /// Notes that a key was given out; returns true if it is the first.
    pub(crate) fn put_key_given(&mut self) -> bool {
        let is_news = !self.gave_keys();
        if is_news {
            self.put("", EntryKind::KeyGiven, Detail::None, Leaf::default());
        }
        is_news
    }

    pub(crate) fn has_steps(&self) -> bool {
        self.all().any(|entry| entry.kind().space() == Space::Step)
    }

    /// Returns roughly how many bytes it takes, sealed. Answers that no run has used take none: they go along if there
    /// is room.
    pub(crate) fn size(&self) -> usize {
        self.all().filter(|entry| entry.kind() != EntryKind::UnsealedAnswer).map(cost).sum()
    }

    /// Returns the answer with which it grew beyond this many bytes, if an answer did: the run measures what a handler
    /// records as it records it.
    pub(crate) fn excess(&self, limit: usize) -> Option<&str> {
        let is_answer = |entry: &View<'_>| matches!(entry.kind(), EntryKind::Answered | EntryKind::Skipped);
        let counted = |entry: &View<'_>| entry.kind() != EntryKind::UnsealedAnswer && !is_answer(entry);
        let mut size: usize = self.all().filter(counted).map(cost).sum();
        if size > limit {
            return None;
        }
        let grown = self.all().filter(is_answer).find(|answer| {
            size += cost(*answer);
            size > limit
        });
        grown.map(View::name)
    }

    /// Returns the answer that would be too much even if the handler had the client carry nothing by hand. The handler
    /// itself must bound what it has carried.
    pub(crate) fn excess_beside_carried(&self, limit: usize) -> Option<&str> {
        let carried = self.get(Space::Carried, "").map_or(0, cost);
        self.excess(limit + carried)
    }

    /// Returns roughly how many bytes the answers take that came since the last run.
    pub(crate) fn new_answers(&self) -> usize {
        self.0.as_ref().map_or(0, |slots| slots.new_answers)
    }

    /// Notes that a run has ended: answers that come from now on are new to the next one.
    pub(crate) fn run_ended(&mut self) {
        if let Some(slots) = &mut self.0 {
            slots.new_answers = 0;
        }
    }

    /// Names the entry that takes the most bytes, in words for the log.
    pub(crate) fn largest(&self) -> Option<String> {
        let largest = self.all().max_by_key(|entry| entry.size())?;
        let (name, size) = (largest.name(), largest.size());
        let what = match largest.kind().space() {
            Space::Step => format!("step `{name}`"),
            Space::Progress => "the progress".to_owned(),
            Space::Carried => "the state carried by hand".to_owned(),
            _ => format!("answer `{name}`"),
        };
        Some(format!("{what} takes {size} of them"))
    }

    fn write_to(&self, out: &mut Vec<u8>) {
        if let Some(slots) = &self.0 {
            slots.write(out);
        }
    }
}

impl StepEntry {
    fn parts(&self) -> Parts<Leaf> {
        let plain = |kind| Parts { kind, detail: Detail::None, leaf: Leaf::default() };
        match self {
            Self::Started => plain(EntryKind::StepStarted),
            Self::Dropped => plain(EntryKind::StepDropped),
            Self::TimedOut => plain(EntryKind::StepTimedOut),
            Self::Value(value) => Parts { leaf: value.clone(), ..plain(EntryKind::StepFinished) },
            Self::Error(StepError { message, visibility }) => Parts {
                kind: EntryKind::StepFailed,
                detail: Detail::Visibility(*visibility),
                leaf: Leaf::of_text(message),
            },
        }
    }

    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Started | Self::Dropped | Self::TimedOut => 0,
            Self::Value(value) => value.len(),
            Self::Error(error) => error.message.len(),
        }
    }
}

impl HeapSize for Journal {
    fn heap_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |slots| allocated(size_of_val(&**slots)) + slots.heap_bytes())
    }
}

/// A state carries a flow's journal, with the questions that the reply asks.
impl Payload for Journal {
    const KIND: &'static str = "mrtr";

    fn write(&self, out: &mut Vec<u8>) -> Result<(), PayloadError> {
        out.push(VERSION);
        self.write_to(out);
        Ok(())
    }

    fn read(bytes: &[u8]) -> Result<Self, PayloadError> {
        let Some((&VERSION, entries)) = bytes.split_first() else { return Err(unreadable()) };
        Self::read_from(entries)
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all().map(|entry| (entry.kind(), entry.name()))).finish()
    }
}

fn cost(entry: View<'_>) -> usize {
    entry.name_length() + entry.size() + PER_ENTRY
}

/// The version of what a state carries of a flow.
const VERSION: u8 = 2;

/// The most bytes around a name and a leaf: two lengths, a kind, a wording and flags.
pub(crate) const PER_ENTRY: usize = 16;
