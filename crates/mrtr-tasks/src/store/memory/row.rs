//! One task in memory: its record, and what it holds.

use mrtr_state::Timestamp;

use super::super::{AcquiredTask, Answer, KeptQuestion, NewTask, Recorded, StoreError, TASK_BYTES};
use crate::record::{Change, Event, TransitionError};
use crate::{Owner, TaskRecord};

pub(super) struct Row {
    pub(super) record: TaskRecord,
    pub(super) message: Option<Vec<u8>>,
    pub(super) result: Option<Vec<u8>>,
    call: Vec<u8>,
    entries: Vec<Vec<u8>>,
    /// The questions in the order in which they were opened; without a body once they are not open any more.
    questions: Vec<(String, Option<Vec<u8>>)>,
    /// The number of bytes of all of these, as [`TASK_BYTES`] says.
    held: u64,
}

impl Row {
    pub(super) fn new(task: NewTask) -> Self {
        let NewTask { record, call, entries } = task;
        let held = length(&call) + entries.as_deref().map_or(0, length);
        let entries = entries.into_iter().collect();
        Self { record, message: None, result: None, call, entries, questions: Vec::new(), held }
    }

    /// The number of bytes that it keeps.
    pub(super) fn bytes(&self) -> u64 {
        TASK_BYTES + self.held
    }

    /// Keeps its result.
    pub(super) fn add_result(&mut self, result: Vec<u8>) {
        self.held += length(&result);
        self.result = Some(result);
    }

    pub(super) fn check_owner(&self, owner: Option<&Owner>) -> Result<(), StoreError> {
        if owner.is_none_or(|owner| *owner == self.record.owner) { Ok(()) } else { Err(StoreError::NotFound) }
    }

    pub(super) fn apply(&mut self, event: Event<'_>, now: Timestamp) -> Result<(), TransitionError> {
        self.record.apply(event, now)?;
        if self.record.ended.is_some() {
            (self.call, self.entries, self.questions, self.held) = Default::default();
        }
        Ok(())
    }

    pub(super) fn record(
        &mut self,
        recorded: Recorded,
        now: Timestamp,
        event: impl FnOnce(Change<'_>) -> Event<'_>,
    ) -> Result<(), StoreError> {
        let Recorded { entries, opened, retired, progressed, lasts, message } = recorded;
        let keys: Vec<_> = opened.iter().map(|question| question.key.clone()).collect();
        let mut record = self.record.clone();
        record.apply(event(Change { opened: &keys, retired: &retired, progressed, lasts }), now)?;
        self.refuse_used_keys(&keys)?;
        self.record = record;
        self.close(&retired);
        self.held += opened.iter().map(|question| length(&question.body)).sum::<u64>();
        self.held += entries.as_deref().map_or(0, length);
        self.questions.extend(opened.into_iter().map(|question| (question.key, Some(question.body))));
        self.entries.extend(entries);
        self.message = message.or(self.message.take());
        Ok(())
    }

    pub(super) fn compact(&mut self, first: usize, entries: Vec<u8>) {
        let first = first.min(self.entries.len());
        if first > 0 {
            self.held += length(&entries);
            let folded = self.entries.splice(..first, [entries]);
            self.held -= folded.map(|entry| length(&entry)).sum::<u64>();
        }
    }

    /// Keeps answers, and returns the keys that were answered: of two answers to one key, the first counts.
    pub(super) fn answer(&mut self, answers: Vec<Answer>, now: Timestamp) -> Result<Vec<String>, TransitionError> {
        let mut accepted: Vec<Answer> = Vec::new();
        for answer in answers {
            let is_open = self.record.open.contains(&answer.key);
            if is_open && !accepted.iter().any(|earlier| earlier.key == answer.key) {
                accepted.push(answer);
            }
        }
        let (keys, entries): (Vec<_>, Vec<_>) = accepted.into_iter().map(|answer| (answer.key, answer.entry)).unzip();
        self.apply(Event::Answer { keys: &keys }, now)?;
        self.held += entries.iter().map(|entry| length(entry)).sum::<u64>();
        self.entries.extend(entries);
        self.close(&keys);
        Ok(keys)
    }

    /// Asks a question again, and returns whether its key was still open.
    pub(super) fn ask_anew(&mut self, key: &str, again: KeptQuestion, now: Timestamp) -> Result<bool, StoreError> {
        let mut record = self.record.clone();
        let is_open = record.open.iter().any(|open| open == key);
        record.apply(Event::AskAnew { retired: key, opened: &again.key }, now)?;
        self.refuse_used_keys(std::slice::from_ref(&again.key))?;
        if is_open && let Some(place) = self.questions.iter().position(|(known, _)| known == key) {
            self.record = record;
            self.questions[place].1 = None;
            self.held += length(&again.body);
            self.questions.insert(place, (again.key, Some(again.body)));
        }
        Ok(is_open)
    }

    pub(super) fn open(&self) -> Vec<KeptQuestion> {
        let open = |(key, body): &(String, Option<Vec<u8>>)| {
            let body = body.clone()?;
            Some(KeptQuestion { key: key.clone(), body })
        };
        self.questions.iter().filter_map(open).collect()
    }

    pub(super) fn acquired(&self) -> AcquiredTask {
        let (record, call, entries) = (self.record.clone(), self.call.clone(), self.entries.clone());
        let used = self.questions.iter().filter(|(_, body)| body.is_none()).map(|(key, _)| key.clone()).collect();
        AcquiredTask { record, call, entries, open: self.open(), used }
    }

    fn refuse_used_keys(&self, keys: &[String]) -> Result<(), StoreError> {
        let is_used = |(at, key): &(usize, &String)| {
            keys[..*at].contains(key) || self.questions.iter().any(|(known, _)| known == *key)
        };
        let used = keys.iter().enumerate().find(is_used);
        used.map_or(Ok(()), |(_, key)| Err(StoreError::KeyUsed(key.clone())))
    }

    fn close(&mut self, keys: &[String]) {
        let closed = self.questions.iter_mut().filter(|(key, _)| keys.contains(key));
        closed.for_each(|(_, body)| *body = None);
    }
}

fn length(bytes: &[u8]) -> u64 {
    bytes.len() as u64
}
