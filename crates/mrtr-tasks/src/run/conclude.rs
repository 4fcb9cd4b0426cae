//! The end of a run: the task waits, ends, or goes to another run.

use std::sync::Arc;
use std::time::Duration;

use mrtr_flow::{Outcome, RunReport, StopReason, StopSignal};
use mrtr_schema::CallToolResult;
use mrtr_server::Failure;
use mrtr_server::extend::ToolCall;

use super::sink::{Broken, PAUSE_AFTER_FAILURE, Sink};
use crate::End;
use crate::body::{QuestionBody, ResultBody, internal_error};
use crate::count;
use crate::record::TransitionError;
use crate::store::{Recorded, Run, StoreError};
use crate::tasks::Inner;
use crate::vault::Kind;

/// Keeps the outcome of a run.
pub(super) async fn conclude(
    inner: &Arc<Inner>,
    run: Run,
    call: &ToolCall,
    sink: &Sink,
    signal: &StopSignal,
    ran: Option<Result<RunReport<CallToolResult>, Failure>>,
) {
    let outcome = match (sink.broken(), ran) {
        (Some(Broken::Ends(error)), _) => finish(inner, run, ResultBody::Error(error.object().clone())).await,
        (Some(Broken::Lost), _) => "lost",
        (Some(Broken::Store), _) => hand_over(inner, run, PAUSE_AFTER_FAILURE).await,
        // The run was dropped, since it would not end by itself.
        (None, None) => stopped(inner, run, signal.raised()).await,
        (None, Some(Ok(report))) => ended(inner, run, call, sink, signal, report).await,
        (None, Some(Err(failure))) => {
            // The server or the tool is gone: another instance may have it.
            tracing::warn!(?failure, "a task is left for another instance");
            hand_over(inner, run, PAUSE_AFTER_FAILURE).await
        }
    };
    tracing::Span::current().record("outcome", outcome);
    count::ran(outcome);
}

async fn ended(
    inner: &Arc<Inner>,
    run: Run,
    call: &ToolCall,
    sink: &Sink,
    signal: &StopSignal,
    report: RunReport<CallToolResult>,
) -> &'static str {
    let RunReport { outcome, look_again, .. } = report;
    match outcome {
        Outcome::Done(result) => finish(inner, run, ResultBody::of(Ok(&result), call.revision)).await,
        Outcome::Failed(failure) => {
            let failed = call.failed(failure);
            finish(inner, run, ResultBody::of(failed.as_ref().map_err(Clone::clone), call.revision)).await
        }
        Outcome::IntoTask => {
            tracing::error!("the handler of a task asks to become a task again");
            finish(inner, run, ResultBody::Error(internal_error("Internal error").object().clone())).await
        }
        Outcome::Waiting(questions) => {
            let shown = match shown(inner, run).await {
                Ok(shown) => shown,
                Err(outcome) => return outcome,
            };
            match sink.park(&questions, &shown) {
                Ok(recorded) => park(inner, run, recorded, look_again).await,
                Err(Broken::Ends(error)) => finish(inner, run, ResultBody::Error(error.object().clone())).await,
                Err(Broken::Lost | Broken::Store) => hand_over(inner, run, PAUSE_AFTER_FAILURE).await,
            }
        }
        Outcome::Yielded { pause, .. } => {
            let shown = match shown(inner, run).await {
                Ok(shown) => shown,
                Err(outcome) => return outcome,
            };
            let retired = shown.into_iter().map(|(key, _)| key).collect();
            // A pause is for a visit; a yield point has none.
            let message = if pause.is_zero() { None } else { sink.message_of_visit() };
            park(inner, run, Recorded { retired, message, ..Recorded::default() }, Some(pause)).await
        }
        Outcome::Stopped(reason) => stopped(inner, run, signal.raised().or(Some(reason))).await,
    }
}

/// Reads the questions that are shown now: an answer may have come, or a question may have been asked anew, since the
/// run began.
async fn shown(inner: &Inner, run: Run) -> Result<Vec<(String, QuestionBody)>, &'static str> {
    let read = async {
        let task = inner.store.get(run.id, None).await.ok()?;
        let vault = &inner.attached()?.vault;
        let open = task.open.into_iter();
        open.map(|kept| Some((kept.key, vault.open_body(Kind::Question, run.id, &kept.body).ok()?))).collect()
    };
    match read.await {
        Some(shown) => Ok(shown),
        None => Err(hand_over(inner, run, PAUSE_AFTER_FAILURE).await),
    }
}

async fn stopped(inner: &Inner, run: Run, reason: Option<StopReason>) -> &'static str {
    match reason {
        Some(StopReason::Cancelled) => "cancelled",
        // If no other run has it yet, it was the store that failed: that is no lost run.
        Some(StopReason::LeaseLost) => hand_over(inner, run, PAUSE_AFTER_FAILURE).await,
        _ => hand_over(inner, run, Duration::ZERO).await,
    }
}

async fn finish(inner: &Inner, run: Run, body: ResultBody) -> &'static str {
    let end = match &body {
        ResultBody::Result(result) => {
            let is_error = result.clone().into_object().and_then(|result| result.get("isError"));
            End::Completed { is_error: is_error.is_some_and(|is_error| is_error.as_str() == "true") }
        }
        ResultBody::Error(_) => End::Failed,
    };
    let Some(attached) = inner.attached() else { return "lost" };
    let Ok(sealed) = attached.vault.seal_body(Kind::Result, run.id, &body) else {
        tracing::error!("the result of a task cannot be written");
        return hand_over(inner, run, PAUSE_AFTER_FAILURE).await;
    };
    let kept = persist(inner, || inner.store.finish(run, end, sealed.clone())).await;
    if kept {
        count::ended(end);
        return end.as_str();
    }
    "lost"
}

async fn park(inner: &Inner, run: Run, recorded: Recorded, look_again: Option<Duration>) -> &'static str {
    let kept = persist(inner, || inner.store.park(run, recorded.clone(), look_again)).await;
    if kept { "waiting" } else { "lost" }
}

pub(super) async fn hand_over(inner: &Inner, run: Run, pause: Duration) -> &'static str {
    let kept = persist(inner, || inner.store.hand_over(run, pause)).await;
    if kept { "handed_over" } else { "lost" }
}

/// Repeats a write until the store has kept it, since the store may fail for a while. Returns whether it was kept.
///
/// However long the store fails, the run was not lost: no other has the task until the store says so. An instance that
/// shuts down waits no longer than a lease may last.
async fn persist<F: Future<Output = Result<(), StoreError>>>(inner: &Inner, verb: impl Fn() -> F) -> bool {
    let began = tokio::time::Instant::now();
    let mut was_unsure = false;
    loop {
        match verb().await {
            Ok(()) => return true,
            // It was kept the time before, though the store could not say so.
            Err(StoreError::Refused(TransitionError::Ended | TransitionError::Lost)) if was_unsure => return true,
            Err(StoreError::Refused(_) | StoreError::NotFound | StoreError::KeyUsed(_)) => return false,
            // Once is enough for the log: an outage may be long, and there may be many runs.
            Err(error) if !was_unsure => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the end of a run was not stored");
                was_unsure = true;
            }
            Err(_) => {}
        }
        if inner.is_shutting_down() && began.elapsed() + RETRY >= inner.options.lease * 2 / 3 {
            return false;
        }
        tokio::time::sleep(RETRY).await;
    }
}

const RETRY: Duration = Duration::from_millis(200);
