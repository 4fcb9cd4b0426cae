//! A call whose client waits: its handler runs again and again over a journal that stays here, until it is done.

//!
//! A round knows of the client what [`LiveClient`] says. The session implements it: imports go down only.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mrtr_flow::for_server::{JournalLimit, Runner, internal_error, resolve_manual_questions};
use mrtr_flow::{
    Failure, Journal, Outcome, ProtocolError, Question, RunReport, StopSignal, ToolError, check_capabilities, run,
};
use mrtr_schema::{ClientCapabilities, ErrorCode, ErrorObject, Json};

use super::{Round, RoundEnd};
use crate::definition::flow_output::FlowOutput;
use crate::definition::handler::{Handler, RunningHandler};
use crate::definition::output::Output;
use crate::support::metrics;
use crate::support::shed::LoadGuard;

/// The facts about a client that does not say them in each request.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownClient {
    pub(crate) capabilities: Arc<ClientCapabilities>,
    /// The client itself, where its request waits while it is asked.
    pub(crate) live: Option<Arc<dyn LiveClient>>,
}

/// A client whose request waits: its questions are put to it by messages of their own, and the journal stays here.
#[async_trait]
pub(crate) trait LiveClient: fmt::Debug + Send + Sync {
    /// Begins a run, which may take a while. Returns the signal that stops it, and how large its journal may become.
    fn run_begins(&self) -> LiveRun;

    /// Ends a run that left this journal. Fails if the journal is larger than what the server may keep for the client.
    async fn run_ended(&self, journal: &Journal) -> Result<(), NotAnswered>;

    /// The reason why the server cannot ask it anything, if there is one.
    fn unaskable(&self) -> Option<&'static str> {
        None
    }

    /// Puts the questions of a run, and waits until each is settled, or until one of them may have been settled
    /// elsewhere; `wait` says how long.
    async fn ask(&self, questions: Vec<Question>, journal: &mut Journal, wait: Wait) -> Result<(), NotAnswered>;

    /// Waits for what is settled elsewhere, and asks nothing.
    async fn pause(&self, wait: Wait) -> Result<(), NotAnswered>;
}

/// The times to wait between two runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    /// The wait for an answer, if it is not the usual one.
    pub(crate) patience: Option<Duration>,
    /// The wait until the next run, if no answer comes.
    pub(crate) look_again: Option<Duration>,
}

/// The bounds of a run whose client waits.
pub(crate) struct LiveRun {
    pub(crate) stop: StopSignal,
    pub(crate) journal_limit: usize,
}

/// The reason why a call does not continue.
#[derive(Debug)]
pub(crate) enum NotAnswered {
    /// It was stopped: the client wants no reply any more.
    Stopped,
    /// A question failed, or nothing more is waited for.
    Failed(Failure),
}

impl Round<'_> {
    /// Runs the handler until it is done, and has the client asked in between. One meaning of a handler: each run ends
    /// when only questions are left, as in a round, and the next one begins with their answers.
    pub(super) async fn run_live<R: FlowOutput>(
        &mut self,
        live: &dyn LiveClient,
        handler: &Handler<R>,
        arguments: &Json,
        finish: impl FnOnce(&mut R),
    ) -> Result<RoundEnd, ErrorObject> {
        let (patience, mut journal) = (self.settings.question_timeout, std::mem::take(&mut self.journal));
        let result = loop {
            let mut context = self.run_context(self.shared.clock.now());
            let LiveRun { stop, journal_limit } = live.run_begins();
            (context.stop, context.journal_limit) = (Some(stop), JournalLimit::of(journal_limit));
            context.runner = Runner::Session;
            let running = LoadGuard::begin(&self.shared.load);
            if running.is_held {
                running.wait_for_release().await;
            }
            // The box goes with the run, so that a call that waits for a person takes little memory.
            let started = async |flow| match handler.start(flow, arguments.as_raw()) {
                Ok(RunningHandler(running)) => running.await,
                Err(ended) => ended,
            };
            let ran = Box::pin(run(started, journal, context)).await;
            drop(running);
            let RunReport { outcome, journal: left, look_again, .. } =
                resolve_manual_questions(ran, &self.shared.environment, Output::into_manual);
            journal = left;
            let ended = live.run_ended(&journal).await;
            let waited = match outcome {
                Outcome::Done(mut result) => {
                    finish(&mut result);
                    break self.complete(result, "done");
                }
                Outcome::Failed(failure) => break self.failed::<R>(failure),
                Outcome::Stopped(_) => Err(NotAnswered::Stopped),
                Outcome::IntoTask => return Ok(RoundEnd::IntoTask(Box::new(journal))),
                Outcome::Waiting(_) | Outcome::Yielded { .. } if ended.is_err() => ended,
                Outcome::Waiting(questions) => {
                    if let Some(reason) = live.unaskable() {
                        let keys: Vec<_> = questions.iter().map(|question| format!("`{}`", question.key)).collect();
                        let text = format!("This call would ask for {}, and {reason}", keys.join(", "));
                        Err(NotAnswered::Failed(ToolError::new(text).into()))
                    } else {
                        if let Err(error) = self.check_questions(&questions) {
                            self.concluded("missing_capability");
                            break self.refused_question::<R>(error);
                        }
                        metrics::asked(questions.iter().map(|question| &question.request), 0);
                        live.ask(questions, &mut journal, Wait { patience, look_again }).await
                    }
                }
                Outcome::Yielded { pause, .. } => live.pause(Wait { patience, look_again: Some(pause) }).await,
            };
            match waited {
                Ok(()) => self.concluded("asked"),
                Err(NotAnswered::Failed(failure)) => break self.failed::<R>(failure),
                Err(NotAnswered::Stopped) => {
                    self.concluded("abandoned");
                    break Err(internal_error());
                }
            }
        };
        result.map(RoundEnd::Result)
    }

    /// Checks that this client may be asked all of this, in the revision of its session.
    fn check_questions(&self, questions: &[Question]) -> Result<(), ErrorObject> {
        let (method, revision) = (&self.request.method, self.revision());
        if !self.request.may_ask() {
            return Err(ErrorObject::new(ErrorCode::INTERNAL_ERROR, format!("Nothing can be asked on `{method}`")));
        }
        let requests = || questions.iter().map(|question| &question.request);
        check_capabilities(requests(), &self.request.capabilities, revision).map_err(ProtocolError::into_object)?;
        let unsayable = requests().find_map(|request| request.check_in(revision).err());
        match unsayable {
            Some(reason) => Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("This cannot be asked: {reason}"))),
            None => Ok(()),
        }
    }

    /// Reports a question that was refused: for a tool, to the model; for anything else, to the caller as an error.
    fn refused_question<R: FlowOutput>(&self, error: ErrorObject) -> Result<String, ErrorObject> {
        match R::failed(error.message.clone()) {
            Ok(result) => self.results.write_output(result, self.revision()),
            Err(_) => Err(error),
        }
    }
}
