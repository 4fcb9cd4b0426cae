//! The rules that must hold of every state, and of everything that happens.

use std::fmt;

use mrtr_schema::tasks::TaskStatus;
use mrtr_tasks::End;

use crate::invariants;
use crate::world::{Sent, World};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    /// A rule that holds of every record.
    Record(&'static str),
    NewestRunOnly,
    StepRecordedOnce,
    RecordedStepNotBegun,
    AnswerOnce,
    NothingAfterCancel,
    EndIsFinal,
    CompleteIsWhole,
    StatusFollows,
    KeyOnce,
    NotForgotten,
    EndInReach,
    InnocentNotCounted,
    TrialIsAlone,
    FirstLossIsNoTrial,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Record(rule) => rule,
            Self::NewestRunOnly => "only the newest run changes anything",
            Self::StepRecordedOnce => "the outcome of a step is recorded once at most",
            Self::RecordedStepNotBegun => "a step that is recorded is not begun again",
            Self::AnswerOnce => "an answer that was acknowledged is in the journal, and once",
            Self::NothingAfterCancel => "nothing happens after a cancel was acknowledged",
            Self::EndIsFinal => "what readers were told of an end is final",
            Self::CompleteIsWhole => "a task that completes has all answers and all outcomes",
            Self::StatusFollows => "input_required if and only if a question is unanswered",
            Self::KeyOnce => "a key stands for one question",
            Self::NotForgotten => {
                "a task that has not ended waits for the client or the operator, is due, or a run has it"
            }
            Self::EndInReach => "if all goes well from there on, it ends",
            Self::InnocentNotCounted => "no loss counts of a task that ends no process",
            Self::TrialIsAlone => "nothing runs beside a run that the store has for alone",
            Self::FirstLossIsNoTrial => "what lost one run goes on beside the others",
        })
    }
}

/// The rules that a state breaks.
pub(crate) fn broken_by_state(world: &World) -> Vec<Rule> {
    let World { now, record, journal, client, .. } = world;
    let is_unanswered = (0..3).any(|key| journal.opened[key] > 0 && journal.answers[key] == 0);
    let asks = record.end(*now).is_none() && is_unanswered;
    let is_idle = record.open.is_empty() && record.attention().or(record.trial()).is_none();
    let is_forgotten = record.ended.is_none() && is_idle && record.set_aside.is_none();
    let is_complete = matches!(record.end(*now), Some(End::Completed { .. }));
    let missing = |key: usize| client.answers[key] == Sent::Acknowledged && journal.answers[key] == 0;
    let rules = [
        (journal.outcomes.iter().any(|&times| times > 1), Rule::StepRecordedOnce),
        (journal.answers.iter().any(|&times| times > 1) || (0..3).any(missing), Rule::AnswerOnce),
        (is_complete && (journal.outcomes.contains(&0) || is_unanswered), Rule::CompleteIsWhole),
        ((record.status(*now) == TaskStatus::InputRequired) != asks, Rule::StatusFollows),
        (journal.opened.iter().any(|&times| times > 1), Rule::KeyOnce),
        (is_forgotten, Rule::NotForgotten),
    ];
    let broken = rules.into_iter().filter_map(|(is_broken, rule)| is_broken.then_some(rule));
    broken.chain(invariants::broken(record, *now).map(Rule::Record)).collect()
}

/// The rules that a step between two states breaks: a run wrote under this fence, or began this step.
pub(crate) fn broken_by_step(before: &World, after: &World, fence: Option<u64>, begun: Option<usize>) -> Vec<Rule> {
    let is_changed = before.record != after.record || before.journal != after.journal;
    let is_old = fence.is_some_and(|fence| fence != before.record.fence);
    let told = before.record.end(before.now);
    let rules = [
        (is_old && is_changed, Rule::NewestRunOnly),
        (begun.is_some_and(|step| before.journal.outcomes[step] > 0), Rule::RecordedStepNotBegun),
        (before.client.cancel == Sent::Acknowledged && is_changed, Rule::NothingAfterCancel),
        (told.is_some() && told != after.record.end(after.now), Rule::EndIsFinal),
    ];
    let broken = rules.into_iter().filter_map(|(is_broken, rule)| is_broken.then_some(rule));
    broken.chain(invariants::broken_step(&before.record, &after.record).map(Rule::Record)).collect()
}
