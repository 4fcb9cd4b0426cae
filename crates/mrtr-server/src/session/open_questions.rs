//! The questions that a call asked its client, and the outcome of each.

use std::collections::HashMap;
use std::time::Duration;

use mrtr_flow::for_server::{RoundJournal, echo};
use mrtr_flow::{Failure, FlowError, Journal, Question, ToolError, check_answer};
use mrtr_schema::elicitation::{ElicitAction, ElicitParams, ElicitResult};
use mrtr_schema::input::InputKind;
use mrtr_schema::{HeapSize, InputRequest, JsonObject, Revision, Wire};
use mrtr_state::Timestamp;
use serde_json::value::RawValue;

use crate::support::metrics;

/// The questions of a call.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions {
    open: Vec<OpenQuestion>,
    /// The visits that a person consented to and that were not found done.
    visits: Vec<Visit>,
    /// The number of times that each was asked.
    asked: HashMap<String, u32>,
}

#[derive(Debug)]
struct OpenQuestion {
    question: Question,
    /// The id under which it was asked. There is none if the flow only looks whether it is done, because the client
    /// consented to it before.
    id: Option<i64>,
    patience: Duration,
    deadline: Timestamp,
    /// The number of answers to it that would not do.
    refused: u32,
    settled: Option<Settled>,
}

/// The outcome of a question.
#[derive(Debug)]
enum Settled {
    Answered(Box<RawValue>),
    Skipped,
    Failed(Failure),
}

/// A visit to a URL that a person consented to.
#[derive(Debug)]
struct Visit {
    key: String,
    request: InputRequest,
    /// The name by which the client knows it.
    elicitation: Option<String>,
}

/// A client's answer to a question.
#[derive(Debug)]
pub(super) enum Answer<'a> {
    Result(&'a RawValue),
    Error { code: i64, message: &'a str },
}

/// The next step after an answer.
#[derive(Debug)]
pub(super) enum Delivered {
    /// It settles its question.
    Settled,
    /// It will not do: the question is asked again, in these words.
    AskAgain(Box<InputRequest>),
}

/// The standing of all questions of a call together.
#[derive(Debug)]
pub(super) enum Standing {
    /// All are settled, and what came is in the journal.
    Settled,
    /// One of them ends the call.
    Failed(Failure),
    /// Some are open, the first of them until then.
    Open(Timestamp),
}

/// The questions of a run, compared with those that are open.
pub(super) struct Difference {
    /// To be asked.
    pub(super) new: Vec<Question>,
    /// Asked no more, by the ids of their requests.
    pub(super) gone: Vec<i64>,
}

impl OpenQuestions {
    /// Compares the questions that a run asks with the open ones. One that is open already stays so, and is not sent
    /// again.
    pub(super) fn compare(&mut self, questions: Vec<Question>) -> Difference {
        let mut left = std::mem::take(&mut self.open);
        let mut new = Vec::new();
        for question in questions {
            let is_same =
                |open: &OpenQuestion| open.question.key == question.key && open.question.request == question.request;
            match left.iter().position(is_same) {
                Some(place) => {
                    let open = left.swap_remove(place);
                    self.open.push(OpenQuestion { question, ..open });
                }
                None => new.push(question),
            }
        }
        let gone = left.into_iter().filter(|open| open.settled.is_none()).filter_map(|open| open.id);
        Difference { new, gone: gone.collect() }
    }

    /// Returns true if a question need not be sent: its client consented to it, and the flow looks whether it is done.
    pub(super) fn is_consented(&self, question: &Question) -> bool {
        question.look_again.is_some()
            && self.visits.iter().any(|visit| visit.key == question.key && visit.request == question.request)
    }

    /// Counts that a question is asked, and says how often it was.
    pub(super) fn count_asked(&mut self, key: &str) -> u32 {
        let times = self.asked.entry(key.to_owned()).or_default();
        *times += 1;
        *times
    }

    pub(super) fn opened(&mut self, question: Question, id: Option<i64>, patience: Duration, now: Timestamp) {
        let patience = question.patience(patience);
        let deadline = now + patience;
        self.open.push(OpenQuestion { question, id, patience, deadline, refused: 0, settled: None });
    }

    /// Delivers the answer to the question that was asked under this id; `None` if that is not open.
    pub(super) fn deliver(&mut self, id: i64, answer: &Answer<'_>, revision: Revision) -> Option<Delivered> {
        let open = self.open.iter_mut().find(|open| open.id == Some(id) && open.settled.is_none())?;
        match open.read(answer, revision) {
            Ok(settled) => {
                open.settled = Some(settled);
                Some(Delivered::Settled)
            }
            Err(reason) => {
                open.refused += 1;
                if open.refused >= MOST_REFUSED {
                    let key = &open.question.key;
                    let text = format!("No answer to `{key}` was accepted: {}", echo::sentence(&reason));
                    open.settled = Some(Settled::Failed(ToolError::new(text).into()));
                    return Some(Delivered::Settled);
                }
                open.id = None;
                Some(Delivered::AskAgain(Box::new(with_reason(&open.question.request, &reason))))
            }
        }
    }

    /// Notes that a question whose answer would not do was asked again, under another id.
    pub(super) fn asked_again(&mut self, key: &str, id: i64) {
        if let Some(open) = self.open.iter_mut().find(|open| open.question.key == key && open.settled.is_none()) {
            open.id = Some(id);
        }
    }

    /// Settles a question that cannot be put to the client.
    pub(super) fn fail(&mut self, key: &str, failure: Failure) {
        if let Some(open) = self.open.iter_mut().find(|open| open.question.key == key) {
            open.settled = Some(Settled::Failed(failure));
        }
    }

    /// The bytes of the answers that came and that no run has taken in.
    pub(super) fn answered_bytes(&self) -> usize {
        let answers = self.open.iter().filter_map(|open| match &open.settled {
            Some(Settled::Answered(answer)) => Some(answer.get().heap_bytes()),
            _ => None,
        });
        answers.sum()
    }

    /// The key of the question that is asked under this id.
    pub(super) fn key_of(&self, id: i64) -> Option<String> {
        self.open.iter().find(|open| open.id == Some(id)).map(|open| open.question.key.clone())
    }

    /// Finds out where the questions stand now. Settles those that took too long, and returns their ids.
    pub(super) fn stand(&mut self, journal: &mut Journal, revision: Revision, now: Timestamp) -> (Standing, Vec<i64>) {
        let mut late = Vec::new();
        for open in self.open.iter_mut().filter(|open| open.settled.is_none() && now >= open.deadline) {
            late.extend(open.id);
            open.settled = Some(open.timed_out());
        }
        if let Some(place) = self.open.iter().position(|open| matches!(open.settled, Some(Settled::Failed(_))))
            && let Some(Settled::Failed(failure)) = self.open.swap_remove(place).settled
        {
            return (Standing::Failed(failure), late);
        }
        let open = self.open.iter().filter(|open| open.settled.is_none());
        if let Some(next) = open.map(|open| open.deadline).min() {
            return (Standing::Open(next), late);
        }
        self.record(journal, revision);
        (Standing::Settled, late)
    }

    /// Puts the answers that came into the journal. Open questions stay open, for the next run to ask again or not.
    pub(super) fn record(&mut self, journal: &mut Journal, revision: Revision) {
        let (settled, open) = std::mem::take(&mut self.open).into_iter().partition(|open| open.settled.is_some());
        let settled: Vec<OpenQuestion> = settled;
        self.open = open;
        for OpenQuestion { question, settled, .. } in settled {
            match settled {
                Some(Settled::Answered(answer)) => {
                    metrics::answered();
                    self.note_visit(&question, &answer, revision);
                    journal.answer(&question.key, &answer, question.asked);
                }
                Some(Settled::Skipped) => journal.skip(&question.key),
                Some(Settled::Failed(_)) | None => {}
            }
        }
        journal.forget_opened();
    }

    fn note_visit(&mut self, question: &Question, answer: &RawValue, revision: Revision) {
        let InputRequest::Elicit(request) = &question.request else { return };
        let ElicitParams::Url(params) = &request.params else { return };
        let read = ElicitResult::read(answer, revision.lenient());
        if read.is_ok_and(|result| result.action == ElicitAction::Accept) {
            self.visits.retain(|visit| visit.key != question.key);
            self.visits.push(Visit {
                key: question.key.clone(),
                request: question.request.clone(),
                elicitation: params.elicitation_id.clone(),
            });
        }
    }

    /// The visits that the journal says are done, by the names under which the client knows them.
    pub(super) fn take_done(&mut self, journal: &Journal) -> Vec<String> {
        let is_done = |visit: &Visit| journal.is_settled_elsewhere(&visit.key);
        let (done, left): (Vec<_>, Vec<_>) = std::mem::take(&mut self.visits).into_iter().partition(is_done);
        self.visits = left;
        done.into_iter().filter_map(|visit| visit.elicitation).collect()
    }

    /// Names, in words, what a person consented to and has not done.
    pub(super) fn waits_for(&self) -> String {
        let keys: Vec<_> = self.visits.iter().map(|visit| format!("`{}`", visit.key)).collect();
        if keys.is_empty() { "it".to_owned() } else { keys.join(" and ") }
    }

    /// Asks nothing any more, and returns the ids of the questions that were open.
    pub(super) fn close(&mut self) -> Vec<i64> {
        let open = std::mem::take(&mut self.open).into_iter();
        open.filter(|open| open.settled.is_none()).filter_map(|open| open.id).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }
}

impl OpenQuestion {
    /// Turns an answer into the outcome of its question, or says why it will not do.
    fn read(&self, answer: &Answer<'_>, revision: Revision) -> Result<Settled, String> {
        let key = &self.question.key;
        Ok(match answer {
            Answer::Result(result) => {
                check_answer(&self.question.request, result, revision)?;
                // Copied, so that what is kept is the answer alone, and not the message that it came in.
                let object = JsonObject::from_raw(result).map_err(|error| error.to_string())?;
                Settled::Answered(object.as_raw().to_owned())
            }
            Answer::Error { .. } if self.question.optional => Settled::Skipped,
            // Clients say by this code that their user refused.
            Answer::Error { code: -1, .. } => match self.question.request.kind() {
                InputKind::Form(_) | InputKind::Url(_) => Settled::Answered(declined()),
                InputKind::Sample(_) | InputKind::Roots | InputKind::Namespaced(_) | InputKind::Unknown(_) => {
                    Settled::Failed(FlowError::Declined { key: key.clone() }.into())
                }
            },
            Answer::Error { code, message } => {
                let text = format!("The client could not answer `{key}`: {} ({code})", echo::sentence(message));
                Settled::Failed(ToolError::new(text).into())
            }
        })
    }

    fn timed_out(&self) -> Settled {
        if self.question.optional {
            return Settled::Skipped;
        }
        let text = format!("No answer to `{}` came within {:?}", self.question.key, self.patience);
        Settled::Failed(ToolError::new(text).into())
    }
}

fn declined() -> Box<RawValue> {
    RawValue::from_string(r#"{"action":"decline"}"#.to_owned()).expect("it is JSON")
}

/// A question, with the reason why the last answer would not do where there is a place for it.
fn with_reason(request: &InputRequest, reason: &str) -> InputRequest {
    let mut request = request.clone();
    if let InputRequest::Elicit(elicit) = &mut request {
        let message = elicit.params.message_mut();
        *message = format!("{message}\n\n{}", echo::sentence(reason));
    }
    request
}

/// The number of times that a question is put again because its answer would not do.
const MOST_REFUSED: u32 = 5;
/// The number of times that a handler may ask under one name, as a handler does that checks answers itself. It is the
/// number of rounds that a flow may have by default.
pub(super) const MOST_ASKED: u32 = 32;
