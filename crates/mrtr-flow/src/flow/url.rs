//! Questions that ask a person to visit a URL: for consent first, and then until the visit is done.

use std::future::{Future, pending};
use std::pin::Pin;
use std::time::Duration;

use mrtr_schema::elicitation::{ElicitAction, ElicitRequest, ElicitResult, ElicitUrlParams, Url};
use mrtr_schema::{Dialect, InputRequest, Wire};
use serde_json::value::RawValue;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::ask::{Ask, Asking, Required};
use super::question::{Fingerprint, QuestionKind, sealed, with_note};
use super::until::settle;
use super::{Answered, Flow};
use crate::engine::journal::Asked;
use crate::engine::{ActiveRun, Evaluation, Otherwise, Question, Unsettled};
use crate::error::FlowError;

/// A URL for a person to visit. Await it for their consent, or use [`until`](Self::until) to wait for the visit.
///
/// ```
/// # use mrtr_flow::{Failure, Flow};
/// # use mrtr_flow::flow::UrlAsk;
/// /// Ten minutes to read them.
/// fn terms(flow: &Flow) -> UrlAsk<'_> {
///     let ask = flow.elicit_url("terms", "Please read our terms", "https://example.com/terms");
///     ask.valid_for(std::time::Duration::from_secs(600))
/// }
/// ```
#[derive(Debug)]
#[must_use = "a question is asked when it is awaited"]
pub struct UrlAsk<'a> {
    flow: &'a Flow,
    key: String,
    question: UrlQuestion,
    valid_for: Option<Duration>,
}

/// The question: a message, and the URL to visit.
#[derive(Debug)]
pub(super) struct UrlQuestion {
    message: String,
    url: String,
    id: String,
}

impl sealed::Sealed for UrlQuestion {}

impl QuestionKind for UrlQuestion {
    type Value = ();

    const NEEDS_STATE: bool = true;

    fn request(&self, note: Option<&str>) -> Result<InputRequest, String> {
        let url = Url::new(&*self.url).map_err(|error| error.to_string())?;
        let mut params = ElicitUrlParams::new(with_note(&self.message, note), url);
        params.elicitation_id = Some(self.id.clone());
        Ok(ElicitRequest::new(params).into())
    }

    fn read(&self, response: &RawValue, dialect: Dialect) -> Result<Answered<()>, String> {
        let result = ElicitResult::read(response, dialect).map_err(|error| error.to_string())?;
        Ok(match result.action {
            ElicitAction::Accept => Answered::Accepted(()),
            ElicitAction::Decline => Answered::Declined,
            ElicitAction::Cancel => Answered::Cancelled,
        })
    }

    fn wording(&self) -> u64 {
        xxh3_64_with_seed(self.url.as_bytes(), xxh3_64(self.message.as_bytes()))
    }
}

impl<'a> UrlAsk<'a> {
    pub(super) fn new(flow: &'a Flow, key: &str, message: String, url: String) -> Self {
        let id = flow.interaction_id(key);
        Self { flow, key: flow.name(key), question: UrlQuestion { message, url, id }, valid_for: None }
    }

    /// Waits this long for the answer, rather than as long as the tool usually does.
    pub fn valid_for(mut self, duration: Duration) -> Self {
        self.valid_for = Some(duration);
        self
    }

    /// Asks until `done` returns true: an accept is consent to go there, and does not say that the visit is done.
    ///
    /// Every run calls `done` until it has returned true once.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// # async fn connected(id: &str) -> bool { true }
    /// async fn connect(flow: Flow) -> Result<String, Failure> {
    ///     let id = flow.interaction_id("connect");
    ///     let url = format!("https://example.com/connect?id={id}");
    ///     flow.elicit_url("connect", "Please connect your account", url).until(|| connected(&id)).await?;
    ///     Ok("connected".into())
    /// }
    /// ```
    pub fn until<D, F>(self, done: D) -> UrlUntil<'a, D>
    where
        D: FnMut() -> F + Send + 'a,
        F: Future<Output = bool> + Send + 'a,
    {
        UrlUntil { ask: self, done }
    }

    fn ask(self) -> Asking<'a, UrlQuestion, Required> {
        let mut ask = Ask::new(self.flow, self.key, self.question);
        if let Some(duration) = self.valid_for {
            ask = ask.valid_for(duration);
        }
        ask.into_future()
    }
}

impl<'a> IntoFuture for UrlAsk<'a> {
    type Output = Result<(), FlowError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.ask())
    }
}

/// A URL for a person to visit, asked until the visit is done.
///
/// ```
/// # use mrtr_flow::{Failure, Flow};
/// # async fn paid() -> bool { true }
/// async fn pay(flow: Flow) -> Result<String, Failure> {
///     let paying = flow.elicit_url("pay", "Please pay there", "https://example.com/pay").until(paid);
///     paying.await?;
///     Ok("paid".into())
/// }
/// ```
#[must_use = "a question is asked when it is awaited"]
pub struct UrlUntil<'a, D> {
    ask: UrlAsk<'a>,
    done: D,
}

impl<D> UrlUntil<'_, D> {
    pub(super) fn key(&self) -> &str {
        &self.ask.key
    }
}

impl<D> std::fmt::Debug for UrlUntil<'_, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.ask.fmt(f)
    }
}

impl<'a, D, F> IntoFuture for UrlUntil<'a, D>
where
    D: FnMut() -> F + Send + 'a,
    F: Future<Output = bool> + Send + 'a,
{
    type Output = Result<(), FlowError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        let (run, key): (&ActiveRun, _) = (&self.ask.flow.run, self.ask.key.clone());
        Box::pin(async move { run.contained(&key, self.take()).await })
    }
}

impl<'a, D, F> UrlUntil<'a, D>
where
    D: FnMut() -> F + Send + 'a,
    F: Future<Output = bool> + Send + 'a,
{
    async fn take(mut self) -> Result<(), FlowError> {
        let run: &ActiveRun = &self.ask.flow.run;
        let fingerprint = Fingerprint::of(&self.ask.question);
        let found = run.evaluate(&self.ask.key, fingerprint.identity, UrlQuestion::NEEDS_STATE);
        match found {
            Evaluation::Park => return pending().await,
            Evaluation::Closed => return Err(FlowError::Closed),
            Evaluation::Given(..) | Evaluation::Ask | Evaluation::Skipped => {}
        }
        if run.visited(&self.ask.key) {
            run.give_way().await;
            return Ok(());
        }
        let Self { ask, done } = &mut self;
        let check = async { done().await.then_some(()) };
        let unsettled = || ask.unsettled(&found, fingerprint.asked());
        let settled = settle(run, &ask.key, unsettled, check, |()| run.record_visit(&ask.key)).await;
        run.give_way().await;
        settled
    }
}

impl UrlAsk<'_> {
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Returns what to do while it is not done: a refusal stands; consent without completion is asked for again.
    fn unsettled(&self, found: &Evaluation, asked: Asked) -> Unsettled {
        let run: &ActiveRun = &self.flow.run;
        let Evaluation::Given(response, answered) = found else {
            return Unsettled { reworded: None, otherwise: self.asked(asked) };
        };
        let read = response.raw().map_err(|error| error.to_string());
        let otherwise = match read.and_then(|response| self.question.read(response, run.context.revision.lenient())) {
            Ok(Answered::Declined) => Otherwise::Refused(FlowError::Declined { key: self.key.clone() }),
            Ok(Answered::Cancelled) => Otherwise::Refused(FlowError::Cancelled { key: self.key.clone() }),
            // A runner that can wait asks for consent once, and then looks whether it was done.
            Ok(Answered::Accepted(())) if run.context.runner.waits() => Otherwise::LookAgain,
            Ok(Answered::Accepted(())) | Err(_) => self.asked(asked),
        };
        let reworded = answered.wording.differs(asked.wording).then_some((*answered, asked));
        Unsettled { reworded, otherwise }
    }

    fn asked(&self, asked: Asked) -> Otherwise {
        let request = match self.question.request(None) {
            Ok(request) => request,
            Err(reason) => return Otherwise::Mistake(format!("the question `{}` cannot be asked: {reason}", self.key)),
        };
        let question = Box::new(Question {
            key: self.key.clone(),
            request,
            optional: false,
            valid_for: self.valid_for,
            asked,
            look_again: None,
            refused: None,
            as_usual: false,
        });
        Otherwise::Ask { question, must_carry: true }
    }
}
