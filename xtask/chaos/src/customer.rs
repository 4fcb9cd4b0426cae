//! One customer: places an order, answers its questions through any worker that lives, and notes what it is told.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fastrand::Rng;
use mrtr_client::{CallError, CallErrorKind, Client, PendingCall, RoundOutcome};
use mrtr_schema::{ErrorCode, Json};
use serde_json::{Value, json};

use crate::tools::Receipts;

/// The habits of customers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habits {
    /// The most time that one thinks about a question.
    pub(crate) thought: Duration,
    /// The most time that a step of its order takes.
    pub(crate) step: Duration,
}

pub(crate) struct Customer<'a> {
    workers: &'a [Client],
    habits: Habits,
    random: Rng,
    entry: Entry,
    /// The reason why the last request had no reply.
    last_error: Option<String>,
}

impl<'a> Customer<'a> {
    pub(crate) fn new(order: u64, workers: &'a [Client], habits: Habits, random: Rng) -> Self {
        Self { workers, habits, random, entry: Entry { order, ..Entry::default() }, last_error: None }
    }

    /// Sees the order through, until this moment at the latest.
    pub(crate) async fn see_through(mut self, deadline: Instant) -> Entry {
        let began = Instant::now();
        let outcome = tokio::time::timeout_at(deadline.into(), self.order()).await;
        let outcome = outcome.unwrap_or_else(|_| {
            let why = self.last_error.as_deref().unwrap_or("every request was answered");
            Outcome::Wrong(format!("it has not ended; of the last request: {why}"))
        });
        Entry { outcome: Some(outcome), took: began.elapsed(), ..self.entry }
    }

    async fn order(&mut self) -> Outcome {
        let step_ms = self.below(self.habits.step);
        let block_ms = if self.random.u64(..ORDERS_A_BLOCK) == 0 { LONGER_THAN_A_LEASE_MS } else { 0 };
        let order = json!({ "order": self.entry.order, "step_ms": step_ms, "block_ms": block_ms });
        let call = self.workers[0].prepare_tool("order", order);
        let mut pending = match call {
            Ok(pending) => pending,
            Err(error) => return Outcome::Wrong(error.to_string()),
        };
        loop {
            match self.exchange(&pending).await {
                Ok(RoundOutcome::Complete(result)) => return completed(&result),
                Ok(RoundOutcome::Task(next, pause)) => {
                    self.acknowledged(&pending, &next).await;
                    pending = next;
                    tokio::time::sleep(pause).await;
                }
                Ok(RoundOutcome::Asked(asked)) => match self.answer(asked).await {
                    Ok(answered) => pending = answered,
                    Err(error) => return Outcome::Wrong(error),
                },
                // No order sheds load, so the worker was busy and has not begun: send the same request to any worker
                // again.
                Ok(RoundOutcome::BackOff(_, pause)) => tokio::time::sleep(pause).await,
                Ok(_) => return Outcome::Wrong("a round ended in no way that there is".to_owned()),
                Err(error) if passes(&error) => self.lost(&pending, &error).await,
                Err(error) => return Outcome::Wrong(told(&error)),
            }
        }
    }

    /// Sends the next request to any of the workers.
    async fn exchange(&mut self, pending: &PendingCall) -> Result<RoundOutcome, CallError> {
        let worker = &self.workers[self.random.usize(..self.workers.len())];
        worker.advance(pending.clone().trust_other_server(worker.server())).await
    }

    /// Notes what a reply has acknowledged: the task, or the answers that were sent.
    async fn acknowledged(&mut self, sent: &PendingCall, next: &PendingCall) {
        if sent.task().is_none() {
            self.entry.task = next.task().map(|task| task.id().to_owned());
        }
        let answers = answers_in(sent);
        if answers.is_empty() {
            return;
        }
        self.entry.answers.extend(answers);
        if self.random.u8(..4) == 0 {
            self.contradict(sent.clone()).await;
        }
    }

    /// Sends another answer after one that was acknowledged: the first answer counts.
    async fn contradict(&mut self, mut sent: PendingCall) {
        let keys: Vec<_> = sent.questions().map(|(key, _)| key.to_owned()).collect();
        let other = json!({ "value": format!("{}: changed its mind", self.entry.order) });
        if keys.iter().all(|key| sent.accept(key, &other).is_ok()) && self.exchange(&sent).await.is_ok() {
            self.entry.contradictions += 1;
        }
    }

    async fn answer(&mut self, mut asked: PendingCall) -> Result<PendingCall, String> {
        let thought = self.below(self.habits.thought);
        tokio::time::sleep(Duration::from_millis(thought)).await;
        let keys: Vec<_> = asked.unanswered().map(str::to_owned).collect();
        for key in keys {
            if self.entry.answers.contains_key(&key) {
                return Err(format!("`{key}` is asked again, though its answer was acknowledged"));
            }
            let value = format!("{} {key} {}", self.entry.order, self.random.u64(..));
            asked.accept(&key, &json!({ "value": value })).map_err(|error| error.to_string())?;
        }
        Ok(asked)
    }

    /// A random number of milliseconds below this time.
    fn below(&mut self, most: Duration) -> u64 {
        let most = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        self.random.u64(..most.max(1))
    }

    async fn lost(&mut self, pending: &PendingCall, error: &CallError) {
        self.entry.lost_replies += 1;
        self.entry.lost_calls += u64::from(pending.task().is_none());
        self.last_error = Some(told(error));
        tokio::time::sleep(Duration::from_millis(20 + self.random.u64(..100))).await;
    }
}

/// Returns true if the error may come from the worker's death, or from its trouble with the file, and from nothing
/// else.
fn passes(error: &CallError) -> bool {
    match &error.kind {
        CallErrorKind::Transport { .. } => true,
        CallErrorKind::Server { error, .. } => {
            error.code == ErrorCode::INTERNAL_ERROR && error.message == "Internal error"
        }
        _ => false,
    }
}

fn told(error: &CallError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// The answers that a call carries, by key: it saves them as it sends them.
fn answers_in(pending: &PendingCall) -> Vec<(String, String)> {
    let saved = serde_json::to_value(pending).unwrap_or_default();
    let Some(answers) = saved.get("answers").and_then(Value::as_object) else { return Vec::new() };
    let value = |answer: &Value| answer["content"]["value"].as_str().unwrap_or_default().to_owned();
    answers.iter().map(|(key, answer)| (key.clone(), value(answer))).collect()
}

fn completed(result: &Json) -> Outcome {
    let result: Value = serde_json::from_str(result.as_str()).unwrap_or_default();
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    match serde_json::from_str::<Receipts>(text) {
        Ok(receipts) => Outcome::Completed(receipts),
        Err(_) => Outcome::Wrong(format!("it ended in {result}")),
    }
}

/// The number of orders of which one has a step that blocks its thread.
const ORDERS_A_BLOCK: u64 = 20;
/// Longer than the leases of `cargo xtask chaos`.
const LONGER_THAN_A_LEASE_MS: u64 = 2_400;

/// The record of one order, as its client was told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    pub(crate) order: u64,
    /// The task, once its creation was acknowledged.
    pub(crate) task: Option<String>,
    /// Calls without a reply: each may have made a task that the client does not know of.
    pub(crate) lost_calls: u64,
    /// Answers that were acknowledged, by question.
    pub(crate) answers: BTreeMap<String, String>,
    /// Answers that were sent again, otherwise, after they had been acknowledged.
    pub(crate) contradictions: u64,
    /// Requests without a reply.
    pub(crate) lost_replies: u64,
    /// The end of the order; none if it did not end.
    pub(crate) outcome: Option<Outcome>,
    /// The time that it took, with the time that its client thought.
    pub(crate) took: Duration,
}

#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    Completed(Receipts),
    /// The client got a reply that it must not get.
    Wrong(String),
}
