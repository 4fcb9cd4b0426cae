//! The answers that a saved call keeps: whether the server may have taken them, and which of them are saved again.

use std::collections::BTreeMap;

use mrtr::client::{Stop, TransportFailure};
use mrtr::{CallError, CallErrorKind, PendingCall};
use serde_json::Value;
use serde_json::value::RawValue;

/// A call with the answers that were given before now.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) call: PendingCall,
    /// True if the answers were sent, and the server may have acted on them.
    pub(crate) may_be_taken: bool,
}

/// The answers of a failed attempt, as far as its error tells what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// The server does not let this caller in: the answers may be those of a person who may not answer.
    TurnedAway,
    /// The answers did not reach the server, or it was too busy to look at them.
    NotTaken,
    /// The answers were sent, and the server may have acted on them.
    MayBeTaken,
}

impl Kept {
    /// A call that has no answers yet.
    pub(crate) fn new(call: PendingCall) -> Self {
        Self { call, may_be_taken: false }
    }

    /// A call from a file. A file of an older mrtr does not say what became of the answers: they were sent if none was
    /// missing.
    pub(crate) fn saved(call: PendingCall, may_be_taken: Option<bool>) -> Self {
        let may_be_taken = may_be_taken.unwrap_or_else(|| call.unanswered().next().is_none());
        Self { may_be_taken: may_be_taken && has_answers(&call), call }
    }

    /// Returns true if an attempt had answers that are not these.
    pub(crate) fn has_other_answers(&self, attempt: &PendingCall) -> bool {
        answered(attempt).any(|key| !have_same_answer(&self.call, attempt, key).unwrap_or_default())
    }

    /// The call to save after a failed attempt.
    pub(crate) fn after(&self, attempt: PendingCall, delivery: Delivery) -> anyhow::Result<Self> {
        let is_same_round = round(&self.call)? == round(&attempt)?;
        Ok(match delivery {
            Delivery::TurnedAway if is_same_round => self.clone(),
            Delivery::TurnedAway => Self::new(reopened(&attempt, |_| true)?),
            // The answers that an earlier attempt sent are still those of this round.
            Delivery::NotTaken => Self { may_be_taken: self.may_be_taken && is_same_round, call: attempt },
            Delivery::MayBeTaken => Self { may_be_taken: has_answers(&attempt), call: attempt },
        })
    }
}

impl Delivery {
    pub(crate) fn of(error: &CallError) -> Self {
        let has_open = error.pending().is_some_and(|call| call.unanswered().next().is_some());
        match &error.kind {
            CallErrorKind::Transport { source, .. } => match source.failure() {
                TransportFailure::Unauthorized | TransportFailure::Forbidden => Self::TurnedAway,
                _ if has_open || !source.may_have_run() => Self::NotTaken,
                _ => Self::MayBeTaken,
            },
            // Answers are sent once no question is open.
            _ if has_open => Self::NotTaken,
            CallErrorKind::Stopped { stop: Stop::TooManyStateOnlyRounds(_), .. } => Self::NotTaken,
            _ => Self::MayBeTaken,
        }
    }
}

fn has_answers(call: &PendingCall) -> bool {
    answered(call).next().is_some()
}

/// The questions that have an answer.
pub(crate) fn answered(call: &PendingCall) -> impl Iterator<Item = &str> {
    let open: Vec<_> = call.unanswered().collect();
    call.questions().map(|(key, _)| key).filter(move |key| !open.contains(key))
}

/// A copy of a call, without its answers to the questions under these keys.
pub(crate) fn reopened(call: &PendingCall, is_reopened: impl Fn(&str) -> bool) -> serde_json::Result<PendingCall> {
    // As text, since numbers of the call may have more digits than a value keeps.
    let mut members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(&serde_json::to_string(call)?)?;
    if let Some(answers) = members.get_mut(ANSWERS) {
        let mut by_key: BTreeMap<String, Box<RawValue>> = serde_json::from_str(answers.get())?;
        by_key.retain(|key, _| !is_reopened(key));
        *answers = serde_json::value::to_raw_value(&by_key)?;
    }
    serde_json::from_str(&serde_json::to_string(&members)?)
}

/// Returns true if two states of a call have the same answer to a question.
pub(crate) fn have_same_answer(one: &PendingCall, other: &PendingCall, key: &str) -> serde_json::Result<bool> {
    let answer = |call| Ok(serde_json::to_value::<&PendingCall>(call)?[ANSWERS][key].clone());
    Ok(answer(one)? == answer(other)?)
}

/// The parts of a call that change once the server has taken its answers.
fn round(call: &PendingCall) -> serde_json::Result<[Value; 3]> {
    let saved = serde_json::to_value(call)?;
    Ok(["rounds", "state", "asked"].map(|member| saved[member].clone()))
}

/// The member of a saved call that has its answers.
const ANSWERS: &str = "answers";
