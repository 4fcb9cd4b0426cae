//! A call of a session: it stays open while its client is asked, and its handler runs again with the answers.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use mrtr_flow::{Failure, Journal, Question, StopReason, StopSignal, ToolError};
use mrtr_schema::{Backoff, HeapSize, InputRequest, RequestId};
use mrtr_state::Timestamp;
use tokio::sync::Notify;

use super::memory::Share;
use super::notices;
use super::one::Session;
use super::open_questions::{Answer, Delivered, Difference, MOST_ASKED, OpenQuestions, Standing};
use super::stream::CallStream;
use crate::error::misuse;
use crate::protocol::gate::Subject;
use crate::round::live::{LiveClient, LiveRun, NotAnswered, Wait};
use crate::support::changes::Changes;
use crate::support::fair::Full;
use crate::support::notify::MessageSink;
use crate::support::permit::Held;

/// A call that is open.
pub(super) struct Call {
    pub(super) id: RequestId,
    session: Arc<Session>,
    pub(super) stream: Arc<CallStream>,
    pub(super) stop: StopSignal,
    questions: Mutex<OpenQuestions>,
    /// An answer has come.
    arrived: Notify,
    kept: Mutex<Kept>,
    changes: Changes,
    /// What it is about, where its caller has to be allowed to answer.
    pub(super) subject: OnceLock<Subject>,
}

/// The things that a call keeps.
struct Kept {
    /// For its message and its journal.
    share: Share,
    message: usize,
    journal: usize,
    /// The permit that its run holds of the transport. The call itself brings it, and later each answer that lets the
    /// call continue. Between runs there is none.
    permit: Option<Held<'static>>,
    /// The time since which it waits for something that is settled elsewhere, and the number of times that it looked.
    pause: Option<(Timestamp, u32)>,
}

impl Kept {
    /// Resizes the share to what the call keeps, and this many bytes of answers that no run has used yet.
    fn resize(&mut self, answers: usize) -> Result<(), Full> {
        self.share.resize(self.message + self.journal + answers)
    }
}

impl Call {
    pub(super) fn new(
        session: &Arc<Session>,
        id: RequestId,
        stream: Arc<CallStream>,
        (share, message): (Share, usize),
        permit: Option<Held<'static>>,
        changes: Changes,
    ) -> Self {
        Self {
            id,
            session: Arc::clone(session),
            stream,
            stop: StopSignal::new(),
            questions: Mutex::default(),
            arrived: Notify::new(),
            kept: Mutex::new(Kept { share, message, journal: 0, permit, pause: None }),
            changes,
            subject: OnceLock::new(),
        }
    }

    fn questions(&self) -> MutexGuard<'_, OpenQuestions> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Timestamp {
        self.session.clock.now()
    }

    /// Delivers an answer to the question that was asked under this id. The next run takes over the permit with which
    /// the answer came.
    pub(super) fn deliver(&self, id: i64, answer: &Answer<'_>, permit: Option<Held<'static>>) {
        self.stream.settled(id);
        let mut questions = self.questions();
        let Some(key) = questions.key_of(id) else { return };
        match questions.deliver(id, answer, self.session.revision) {
            None => return,
            Some(Delivered::Settled) => {
                // Answers stay here until the others have come, however many the client sends.
                let answers = questions.answered_bytes();
                if self.kept().resize(answers).is_err() {
                    questions.fail(&key, no_room());
                }
            }
            Some(Delivered::AskAgain(request)) => {
                tracing::info!(key, "an answer is refused, and asked for again");
                match self.send(&key, &request) {
                    Ok(id) => return questions.asked_again(&key, id),
                    Err(failure) => questions.fail(&key, failure),
                }
            }
        }
        drop(questions);
        if let Some(permit) = permit {
            self.kept().permit = Some(permit);
        }
        self.arrived.notify_one();
    }

    /// Sends a question under a fresh id.
    fn send(&self, key: &str, request: &InputRequest) -> Result<i64, Failure> {
        let id = self.session.question_id(&self.id);
        let text = request.to_request(id, self.session.revision).map_err(|error| {
            self.session.forget_question(id);
            misuse(format!("the question `{key}` cannot be asked: {error}"))
        })?;
        self.stream.ask(id, text).map_err(|_| {
            self.session.forget_question(id);
            no_room()
        })?;
        Ok(id)
    }

    /// Asks what a run asks, as far as it is not asked already, and takes back what it does not ask any more.
    fn put(&self, asked: Vec<Question>, patience: Duration) -> Result<(), Failure> {
        let most = self.session.limits.questions;
        if asked.len() > most {
            let text = format!("This tool asks {} questions at once; a session takes {most}", asked.len());
            return Err(ToolError::new(text).into());
        }
        let mut questions = self.questions();
        let Difference { new, gone } = questions.compare(asked);
        self.withdraw(gone);
        for question in new {
            let id = if questions.is_consented(&question) {
                None
            } else if questions.count_asked(&question.key) > MOST_ASKED {
                return Err(ToolError::new(format!("`{}` was asked too often", question.key)).into());
            } else {
                // From here on, the call waits for something else.
                self.kept().pause = None;
                Some(self.send(&question.key, &question.request)?)
            };
            questions.opened(question, id, patience, self.now());
        }
        debug_assert!(questions.len() <= most);
        Ok(())
    }

    /// Tells the client that these are asked no more. A late answer finds nothing.
    fn withdraw(&self, ids: Vec<i64>) {
        for id in ids {
            self.session.forget_question(id);
            self.stream.settled(id);
            if let Some(notice) = notices::withdrawn(id, self.session.revision) {
                self.stream.tell(notice);
            }
        }
    }

    /// Waits until something came, for so long at most.
    async fn wait(&self, at_most: Duration) -> Result<(), NotAnswered> {
        tokio::select! {
            biased;
            _ = self.stop.wait() => Err(NotAnswered::Stopped),
            () = self.arrived.notified() => Ok(()),
            () = self.session.clock.sleep(at_most) => Ok(()),
            () = self.changes.ended() => {
                let text = "The server is shutting down and waits for no more answers; make the call again";
                Err(NotAnswered::Failed(ToolError::new(text).into()))
            }
        }
    }

    fn patience(&self, wait: Wait) -> Duration {
        wait.patience.unwrap_or(self.session.limits.question_timeout)
    }

    /// The pause before the next look: twice as long each time, up to a minute.
    fn longer(&self, first: Duration, now: Timestamp) -> Duration {
        let mut kept = self.kept();
        let (_, looks) = kept.pause.get_or_insert((now, 0));
        let pause = Backoff::new(first, LONGEST_PAUSE.max(first)).pause(*looks);
        *looks += 1;
        pause
    }

    /// The call ends: open questions are taken back, and the response goes out, unless the client does not want it any
    /// more.
    pub(super) fn end(&self, response: Option<String>) {
        let open = self.questions().close();
        self.withdraw(open);
        self.stream.end(response.filter(|_| self.stop.raised().is_none()));
        self.session.call_ended(self);
        self.kept().permit = None;
    }
}

#[async_trait]
impl LiveClient for Call {
    fn run_begins(&self) -> LiveRun {
        LiveRun { stop: self.stop.clone(), journal_limit: self.session.limits.bytes_of_session / 4 }
    }

    async fn run_ended(&self, journal: &Journal) -> Result<(), NotAnswered> {
        let done = self.questions().take_done(journal);
        for elicitation in done {
            self.kept().pause = None;
            if let Some(notice) = notices::visited(&elicitation, self.session.revision) {
                self.stream.tell(notice);
            }
        }
        let mut kept = self.kept();
        kept.permit = None;
        kept.journal = journal.heap_bytes();
        kept.resize(0).map_err(|_| NotAnswered::Failed(no_room()))
    }

    async fn ask(&self, questions: Vec<Question>, journal: &mut Journal, wait: Wait) -> Result<(), NotAnswered> {
        let patience = self.patience(wait);
        // The engine lets the pauses of a visit grow; those of a decision are all the same, so they grow here.
        let is_decided = questions.iter().any(|question| question.look_again.is_some());
        self.put(questions, patience).map_err(NotAnswered::Failed)?;
        let began = self.now();
        let pause = wait.look_again.map(|pause| if is_decided { self.longer(pause, began) } else { pause });
        let look_again = pause.map(|pause| began + pause);
        loop {
            let now = self.now();
            let (standing, late) = self.questions().stand(journal, self.session.revision, now);
            self.withdraw(late);
            let next = match standing {
                Standing::Settled => return Ok(()),
                Standing::Failed(failure) => return Err(NotAnswered::Failed(failure)),
                Standing::Open(next) => next,
            };
            if look_again.is_some_and(|moment| now >= moment) {
                self.questions().record(journal, self.session.revision);
                return Ok(());
            }
            self.wait(look_again.map_or(next, |moment| moment.min(next)).since(now)).await?;
        }
    }

    async fn pause(&self, wait: Wait) -> Result<(), NotAnswered> {
        let (now, patience) = (self.now(), self.patience(wait));
        let first = wait.look_again.unwrap_or_default();
        // The engine lets the pauses of a visit grow by itself.
        let (since, looks) = {
            let mut kept = self.kept();
            let (since, looks) = kept.pause.get_or_insert((now, 0));
            *looks += 1;
            (*since, *looks)
        };
        if now.since(since) >= patience {
            let what = self.questions().waits_for();
            return Err(NotAnswered::Failed(ToolError::new(format!("{what} did not end within {patience:?}")).into()));
        }
        if first.is_zero() {
            if looks > MOST_YIELDS {
                return Err(NotAnswered::Failed(misuse("the handler yields again and again without asking anything")));
            }
            tokio::task::yield_now().await;
            return self.stop.raised().map_or(Ok(()), |_| Err(NotAnswered::Stopped));
        }
        let end = now + first.min(patience.saturating_sub(now.since(since)).max(SHORTEST_PAUSE));
        while self.now() < end {
            self.wait(end.since(self.now())).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl MessageSink for Call {
    async fn notify(&self, message: String) {
        self.stream.notify(message).await;
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Ends a call when it is dropped, if it has not ended: its run was dropped, or it panicked.
pub(super) struct OpenCall(pub(super) Arc<Call>);

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.0.stop.raise(StopReason::Shutdown);
        self.0.end(None);
    }
}

fn no_room() -> Failure {
    ToolError::new("The session has no room for this call; end other calls first").into()
}

/// The number of times in a row that a handler may give way, before that counts as a mistake.
const MOST_YIELDS: u32 = 64;
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
