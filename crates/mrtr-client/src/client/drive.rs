//! The driver of a call: it does what the state machine wants, has the handlers answer questions, and tells the machine
//! what came of it.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use mrtr_schema::{InputRequest, Json, ReadError};
use tokio::runtime::Handle;
use tracing::{Instrument, Span, info_span};

use super::Client;
use super::event_queues::EventReporter;
use crate::error::lacking;
use crate::handlers::{QuestionContext, Unanswered};
use crate::{
    Action, AnswerError, Call, CallError, CallErrorKind, CallOutcome, CredentialsFingerprint, EventKind, Outgoing,
    PendingCall, PendingTask,
};

/// A call that is done.
pub(super) struct CompletedCall {
    pub(super) result: Json,
    /// The call, as it was sent last: the result is of its revision.
    pub(super) pending: PendingCall,
    /// The credentials that the result came for.
    pub(super) credentials: Option<CredentialsFingerprint>,
    /// True if the result may be kept, provided that its server says so.
    pub(super) is_cacheable: bool,
}

/// A call being driven over the client's transport.
pub(super) struct CallDriver<'a> {
    pub(super) client: &'a Client,
    pub(super) reporter: EventReporter,
    pub(super) call: Call,
    /// The credentials that the last reply came for.
    pub(super) credentials: Option<CredentialsFingerprint>,
    /// The last round that was reported.
    reported_round: u32,
    /// The place to note that the call has become a task.
    became_task: Option<BecameTask>,
    /// True if the caller drives the call, and answers questions by hand.
    pub(super) is_by_hand: bool,
    /// The number of times that the call was sent in another era than before, or in another session.
    pub(super) era_switches: u32,
    /// True if the call is under way in a session, and does more than read: then it cannot be resumed.
    pub(super) is_held: bool,
}

/// The task that a call has become, if it has.
type BecameTask = Arc<Mutex<Option<PendingTask>>>;

impl Client {
    /// Runs a call to its end; if the future is dropped before that, the task that it has become is cancelled.
    pub(super) async fn drive_or_cancel(&self, pending: PendingCall) -> Result<CompletedCall, CallError> {
        let guard = CancelOnDrop { client: self, task: BecameTask::default() };
        let ended = self.drive(pending, Some(&guard.task)).await;
        // A caller that has the error has the call, and with it the task.
        guard.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        ended
    }

    /// Runs a call to its end.
    ///
    /// If the call becomes a task, that is noted for a caller that may give up.
    pub(super) async fn drive(
        &self,
        pending: PendingCall,
        became_task: Option<&BecameTask>,
    ) -> Result<CompletedCall, CallError> {
        let mut driver = CallDriver::new(self, pending);
        driver.became_task = became_task.cloned();
        let span = driver.span();
        let ran = driver.run().instrument(span).await;
        driver.end(ran)
    }

    /// Runs a call to its end, or until this future is done.
    pub(super) async fn drive_until(
        &self,
        pending: PendingCall,
        stop: impl Future<Output = ()>,
    ) -> Result<CompletedCall, CallError> {
        let mut driver = CallDriver::new(self, pending);
        let span = driver.span();
        let ran = tokio::select! {
            biased;
            () = stop => None,
            ran = driver.run().instrument(span) => Some(ran),
        };
        let ran = ran.unwrap_or_else(|| {
            // The server may have begun with the call. If it were saved as a call that was never sent, the server would
            // run it twice.
            if driver.is_held {
                driver.call.hold(1);
            }
            Err(CallErrorKind::Interrupted.of(driver.pending()))
        });
        driver.end(ran)
    }
}

impl<'a> CallDriver<'a> {
    pub(super) fn new(client: &'a Client, pending: PendingCall) -> Self {
        let reporter = EventReporter::new(client, &pending);
        // Pauses should differ between clients, and a server that guesses them does no harm. So the hasher's keys will
        // do, and no call asks the system for randomness.
        let seed = RandomState::new().hash_one(reporter.call);
        let call = Call::resume(pending, client.0.limits, seed);
        Self {
            client,
            reporter,
            call,
            credentials: None,
            reported_round: 0,
            became_task: None,
            is_by_hand: false,
            era_switches: 0,
            is_held: false,
        }
    }

    pub(super) fn span(&self) -> Span {
        let (method, name) = (self.reporter.method(), self.reporter.name());
        info_span!("call", server = &*self.client.0.server_name, call = self.reporter.call, method, name)
    }

    /// Does what the call wants done until it is over, and says whether its result may be kept.
    async fn run(&mut self) -> Result<bool, CallError> {
        let mut is_cacheable = true;
        let mut is_task = false;
        loop {
            match self.call.action() {
                Action::Send(outgoing) => {
                    // The result of a retry comes from its answers as much as from the request (CL-6).
                    is_cacheable &= !outgoing.is_retry;
                    self.send(outgoing).await?;
                }
                Action::Gather(questions) => self.gather(questions).await?,
                Action::Wait(pause) => {
                    // The machine has bounded the pause, whatever the server wanted.
                    self.report_wait(pause, &mut is_task);
                    tokio::time::sleep(pause).await;
                    self.call.waited();
                }
                Action::Done => return Ok(is_cacheable),
            }
        }
    }

    /// Ends the call, and gives its result or its error.
    fn end(self, ran: Result<bool, CallError>) -> Result<CompletedCall, CallError> {
        let CallDriver { client, reporter, call, credentials, .. } = self;
        reporter.close();
        let is_cacheable = ran?;
        let was_task_refused = call.was_task_refused();
        match call.end() {
            (Some(CallOutcome::Complete(result)), pending) => {
                Ok(CompletedCall { result, pending, credentials, is_cacheable })
            }
            (outcome, pending) => Err(client.failed(outcome, pending, was_task_refused)),
        }
    }

    /// Says once that the call has become a task, and each time that it backs off.
    fn report_wait(&self, pause: Duration, is_task: &mut bool) {
        match self.call.pending().task() {
            Some(_) if *is_task => {}
            Some(task) => {
                *is_task = true;
                self.reporter.emit(EventKind::Task(task.id().to_owned()));
            }
            None => self.reporter.emit(EventKind::BackOff(pause)),
        }
    }

    pub(super) fn pending(&self) -> Box<PendingCall> {
        Box::new(self.call.pending().clone())
    }

    /// Sends a request, and tells the call what came back.
    pub(super) async fn send(&mut self, outgoing: Outgoing) -> Result<(), CallError> {
        let pending = self.call.pending();
        let brings_news = pending.rounds() == 0 || !pending.answers.is_empty();
        let round = pending.rounds().saturating_add(u32::from(brings_news));
        // If the client sends a request again, since the server was busy or has another version, the round is the same.
        if brings_news && round > self.reported_round {
            self.reported_round = round;
            self.reporter.emit(EventKind::Round(round));
        }
        // The span of the call has the method already, unless the request is about its task.
        let method = Some(&*outgoing.method).filter(|method| *method != self.reporter.method());
        let span = info_span!("round", round, method);
        self.exchange(outgoing).instrument(span).await?;
        if let (Some(became), Some(task)) = (&self.became_task, self.call.pending().task()) {
            became.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| task.clone());
        }
        if let Some(revision) = self.call.agreed_revision() {
            self.client.set_revision(revision);
        }
        Ok(())
    }
}

impl CallDriver<'_> {
    /// Has the handlers answer all questions of a round. If one does not, the others are cancelled.
    async fn gather(&mut self, questions: Vec<(String, InputRequest)>) -> Result<(), CallError> {
        self.reporter.emit(EventKind::Asked(questions.iter().map(|(key, _)| key.clone()).collect()));
        match self.client.0.limits.gathering {
            None => self.gather_all(questions).await,
            Some(limit) => {
                let gathered = tokio::time::timeout(limit, self.gather_all(questions)).await;
                gathered.unwrap_or_else(|_| Err(CallErrorKind::GatheringTooLong.of(self.pending())))
            }
        }
    }

    async fn gather_all(&mut self, questions: Vec<(String, InputRequest)>) -> Result<(), CallError> {
        let client = self.client;
        let revision = self.call.pending().revision();
        let answering = questions.into_iter().map(|(key, request)| {
            let context = self.question_context(key.clone());
            async move {
                let method = request.method().to_owned();
                (key, method, client.0.handlers.answer(request, context, revision).await)
            }
        });
        let mut answering: FuturesUnordered<_> = answering.collect();
        // The call takes each answer as soon as it is there: if another question fails, the error still has the
        // answers.
        while let Some((key, method, answered)) = answering.next().await {
            let taken = match answered {
                Ok(answer) => self.call.answered(&key, &answer),
                Err(Unanswered::Unknown) => self.call.skipped(&key),
                Err(unanswered) => return Err(self.unanswered(key, method, unanswered)),
            };
            taken.map_err(|error| CallErrorKind::InvalidAnswer { error }.of(self.pending()))?;
            if self.call.pending().answers.contains_key(&key) {
                self.reporter.emit(EventKind::Answered(key));
            }
        }
        Ok(())
    }

    fn question_context(&self, key: String) -> QuestionContext {
        self.context_of(key, self.call.pending().rounds())
    }

    /// The context of a question: who asks, and in which round.
    pub(super) fn context_of(&self, key: String, round: u32) -> QuestionContext {
        // A task of which only the id is known may be any tool's.
        let is_unnamed_task = self.call.pending().is_unnamed_task();
        QuestionContext {
            server: Arc::clone(&self.client.0.server_name),
            call: self.reporter.call,
            method: self.reporter.method().to_owned(),
            name: self.reporter.name().filter(|_| !is_unnamed_task).map(str::to_owned),
            round,
            key,
        }
    }

    pub(super) fn unanswered(&self, key: String, method: String, unanswered: Unanswered) -> CallError {
        let kind = match unanswered {
            Unanswered::NoHandler(handler) => CallErrorKind::NoHandler { key: Some(key), method, handler },
            Unanswered::Unknown => CallErrorKind::NoHandler { key: Some(key), method, handler: "on_input" },
            Unanswered::BadQuestion(source) => CallErrorKind::BadQuestion { key, source },
            Unanswered::Failed(source) => match source.downcast::<AnswerError>() {
                Ok(error) => CallErrorKind::InvalidAnswer { error: *error },
                Err(source) => CallErrorKind::NotAnswered { key, source },
            },
        };
        kind.of(self.pending())
    }
}

impl Client {
    /// Makes the error of a call that gave no result. `was_task_refused` says that the server refused a request about
    /// the call's task.
    pub(super) fn failed(
        &self,
        outcome: Option<CallOutcome>,
        pending: PendingCall,
        was_task_refused: bool,
    ) -> CallError {
        let pending = Box::new(pending);
        match outcome {
            Some(CallOutcome::Failed(error)) => {
                if let Some((method, handler)) = lacking(&error, self.capabilities()) {
                    return CallErrorKind::NoHandler { key: None, method: method.to_owned(), handler }.of(pending);
                }
                let error = CallErrorKind::Server { error: Box::new(error) }.of(pending);
                if was_task_refused { error.about_unknown_task() } else { error }
            }
            Some(CallOutcome::Stopped(stop)) => CallErrorKind::Stopped { stop }.of(pending),
            Some(CallOutcome::Complete(_)) | None => {
                CallErrorKind::BadResult { source: ReadError::refused("there is no result") }.of(pending)
            }
        }
    }
}

struct CancelOnDrop<'a> {
    client: &'a Client,
    task: BecameTask,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        // Without a runtime the client cannot cancel the task, which ends when its time is over.
        let Ok(runtime) = Handle::try_current() else { return };
        let client = self.client.clone();
        runtime.spawn(async move {
            if let Err(error) = client.request_cancellation(&task).await {
                tracing::info!(task = task.id(), %error, "a task whose caller gave up could not be cancelled");
            }
        });
    }
}
