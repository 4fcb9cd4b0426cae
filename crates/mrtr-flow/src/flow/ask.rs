//! A question on its way: read from the journal, or opened.

use std::fmt;
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use mrtr_schema::InputRequest;
use sha2::{Digest, Sha256};

use super::question::Fingerprint;
use super::{Flow, QuestionKind};
use crate::engine::journal::{Asked, Leaf, Pinned};
use crate::engine::{ActiveRun, Admission, Evaluation, HoldId, Question, park};
use crate::error::FlowError;

/// A question. Await it for the answer; it ends in an error if the person declined or cancelled.
///
/// The flow checks the answer against the question, and asks again if the answer does not fit.
///
/// ```
/// # use mrtr_flow::{Failure, Flow};
/// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Login { name: String }
/// async fn greet(flow: Flow) -> Result<String, Failure> {
///     let login = flow.elicit::<Login>("login", "Who are you?").validate(|login: &Login| match login.name.as_str() {
///         "" => Err("A name, please"),
///         _ => Ok(()),
///     });
///     Ok(format!("Hello, {}", login.await?.name))
/// }
/// ```
#[must_use = "a question is asked when it is awaited"]
pub struct Ask<'a, Q: QuestionKind, M = Required> {
    run: &'a ActiveRun,
    key: String,
    question: Q,
    options: Options<Q::Value>,
    mode: PhantomData<M>,
}

struct Options<V> {
    validate: Option<Validate<V>>,
    pinned: bool,
    valid_for: Option<Duration>,
}

/// A handler's own check of an answer, whose error is the reason why the answer would not do.
#[expect(clippy::type_complexity, reason = "this is the name for it")]
struct Validate<V>(Box<dyn Fn(&V) -> Result<(), String> + Send>);

/// The mode of a question that gives the answer, or an error if the person declined or cancelled.
///
/// ```
/// # use mrtr_flow::{Failure, Flow};
/// # #[derive(PartialEq, serde::Deserialize, schemars::JsonSchema)] struct Login { name: String }
/// async fn greet(flow: Flow) -> Result<String, Failure> {
///     let login: Login = flow.elicit("login", "Who are you?").await?;
///     Ok(login.name)
/// }
/// ```
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_enums, reason = "a marker, which has no values")]
pub enum Required {}

/// The mode of a question that gives what the person did.
///
/// ```
/// # use mrtr_flow::{Failure, Flow};
/// # use mrtr_flow::flow::Answered;
/// # #[derive(PartialEq, serde::Deserialize, schemars::JsonSchema)] struct Login { name: String }
/// async fn greet(flow: Flow) -> Result<String, Failure> {
///     let answered = flow.elicit::<Login>("login", "Who are you?").answer().await;
///     Ok(if answered == Answered::Declined { "no" } else { "yes" }.to_owned())
/// }
/// ```
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_enums, reason = "a marker, which has no values")]
pub enum FullAnswer {}

/// The mode of a question that gives the answer, or `None` if it was asked and not answered.
///
/// ```
/// # use mrtr_flow::{Failure, Flow};
/// # #[derive(PartialEq, serde::Deserialize, schemars::JsonSchema)] struct Login { name: String }
/// async fn greet(flow: Flow) -> Result<String, Failure> {
///     let login: Option<Login> = flow.elicit("login", "Who are you?").optional().await;
///     Ok(login.map_or("nobody".to_owned(), |login| login.name))
/// }
/// ```
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_enums, reason = "a marker, which has no values")]
pub enum Optional {}

/// The action of a person who was asked: an answer, a refusal, or neither.
///
/// ```
/// # use mrtr_flow::{Failure, Flow};
/// # use mrtr_flow::flow::Answered;
/// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Consent { agreed: bool }
/// async fn delete(flow: Flow) -> Result<String, Failure> {
///     Ok(match flow.elicit::<Consent>("consent", "Delete it?").answer().await {
///         Answered::Accepted(consent) if consent.agreed => "deleted".into(),
///         Answered::Accepted(_) | Answered::Declined => "kept".into(),
///         Answered::Cancelled => "kept for now".into(),
///     })
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a handler must deal with all three (EL-5)")]
pub enum Answered<T> {
    /// The person answered.
    Accepted(T),
    /// The person said no.
    Declined,
    /// The person went away without an answer.
    Cancelled,
}

/// The way in which a question gives its answer. Implemented here alone.
///
/// ```
/// # use mrtr_flow::{Failure, Flow};
/// # use mrtr_flow::flow::{Ask, FormQuestion, Optional};
/// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Login { name: String }
/// /// The mode is part of a question's type.
/// fn who(flow: &Flow) -> Ask<'_, FormQuestion<Login>, Optional> {
///     flow.elicit("login", "Who are you?").optional()
/// }
/// ```
pub trait AnswerMode: Copy + Send {
    /// The output of the question when it is awaited.
    type Output<V>;

    /// The output of the question in a [`Flow::join`].
    type Joined<V>;

    #[doc(hidden)]
    const OPTIONAL: bool = false;

    #[doc(hidden)]
    fn output<V>(key: &str, answered: Answered<V>) -> Self::Output<V>;

    /// Returns the output of the question on a closed flow; `None` if this mode has no way to say so.
    #[doc(hidden)]
    fn closed<V>() -> Option<Self::Output<V>> {
        None
    }

    #[doc(hidden)]
    fn joined<V>(output: Self::Output<V>) -> Result<Self::Joined<V>, FlowError>;
}

impl AnswerMode for Required {
    type Output<V> = Result<V, FlowError>;
    type Joined<V> = V;

    fn output<V>(key: &str, answered: Answered<V>) -> Self::Output<V> {
        match answered {
            Answered::Accepted(value) => Ok(value),
            Answered::Declined => Err(FlowError::Declined { key: key.to_owned() }),
            Answered::Cancelled => Err(FlowError::Cancelled { key: key.to_owned() }),
        }
    }

    fn closed<V>() -> Option<Self::Output<V>> {
        Some(Err(FlowError::Closed))
    }

    fn joined<V>(output: Self::Output<V>) -> Result<V, FlowError> {
        output
    }
}

impl AnswerMode for FullAnswer {
    type Output<V> = Answered<V>;
    type Joined<V> = Answered<V>;

    fn output<V>(_: &str, answered: Answered<V>) -> Answered<V> {
        answered
    }

    fn joined<V>(output: Answered<V>) -> Result<Answered<V>, FlowError> {
        Ok(output)
    }
}

impl AnswerMode for Optional {
    type Output<V> = Option<V>;
    type Joined<V> = Option<V>;

    const OPTIONAL: bool = true;

    fn output<V>(_: &str, answered: Answered<V>) -> Option<V> {
        match answered {
            Answered::Accepted(value) => Some(value),
            Answered::Declined | Answered::Cancelled => None,
        }
    }

    fn joined<V>(output: Option<V>) -> Result<Option<V>, FlowError> {
        Ok(output)
    }
}

impl<'a, Q: QuestionKind> Ask<'a, Q> {
    pub(super) fn new(flow: &'a Flow, key: String, question: Q) -> Self {
        let options = Options { validate: None, pinned: false, valid_for: None };
        Self { run: &flow.run, key, question, options, mode: PhantomData }
    }

    /// Gives what the person did: a refusal is no error then.
    pub fn answer(self) -> Ask<'a, Q, FullAnswer> {
        self.mode()
    }

    /// Asks once, and continues without an answer. It also continues if the client cannot be asked at all.
    pub fn optional(self) -> Ask<'a, Q, Optional> {
        self.mode()
    }

    pub(super) fn into_parts(self) -> (&'a ActiveRun, String, Q, Option<Duration>) {
        (self.run, self.key, self.question, self.options.valid_for)
    }

    fn mode<M>(self) -> Ask<'a, Q, M> {
        let Self { run, key, question, options, mode: _ } = self;
        Ask { run, key, question, options, mode: PhantomData }
    }
}

impl<Q: QuestionKind, M> Ask<'_, Q, M> {
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Checks an answer further. If it will not do, the flow asks again, with the reason.
    ///
    /// The client decides how often it tries. It can get round a limit that the flow keeps: it resends an older state,
    /// unless the tool is single-use.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Age { years: u8 }
    /// async fn enter(flow: Flow) -> Result<String, Failure> {
    ///     let ask = flow.elicit::<Age>("age", "How old are you?");
    ///     let age = ask.validate(|age: &Age| if age.years < 18 { Err("You must be 18") } else { Ok(()) }).await?;
    ///     Ok(format!("{} is old enough", age.years))
    /// }
    /// ```
    pub fn validate<F, E>(mut self, check: F) -> Self
    where
        F: Fn(&Q::Value) -> Result<(), E> + Send + 'static,
        E: fmt::Display,
    {
        let check = move |value: &Q::Value| check(value).map_err(|error| error.to_string());
        self.options.validate = Some(Validate(Box::new(check)));
        self
    }

    /// Ties the answer to the exact wording, for consent: a later run that asks in other words asks again.
    pub fn pinned(mut self) -> Self {
        self.options.pinned = true;
        self
    }

    /// Waits this long for the answer, rather than as long as the tool usually does.
    pub fn valid_for(mut self, duration: Duration) -> Self {
        self.options.valid_for = Some(duration);
        self
    }
}

/// The state of a question that is awaited.
enum Progress<V> {
    /// Its answer is here.
    Answered(Answered<V>),
    /// It waits for its answer, and holds its branch.
    Open(HoldId),
    /// It waits for the end of the run, which does not ask it.
    Parked,
    /// The flow is closed.
    Closed,
}

impl<Q: QuestionKind, M: AnswerMode> Ask<'_, Q, M> {
    /// Reads the answer, or opens the question. A panic on the way ends the run: a handler that catches it has no
    /// answer, and must not continue as if it had.
    fn evaluate(&self) -> Progress<Q::Value> {
        self.run.contain("the question", &self.key, || self.read_or_ask()).unwrap_or(Progress::Parked)
    }

    fn read_or_ask(&self) -> Progress<Q::Value> {
        let fingerprint = Fingerprint::of(&self.question);
        let asked = Asked { pinned: self.options.pinned.then(|| self.wording()), ..fingerprint.asked() };
        let needs_state = asked.pinned.is_some() || Q::NEEDS_STATE;
        match self.run.evaluate(&self.key, fingerprint.identity, needs_state) {
            Evaluation::Park => Progress::Parked,
            Evaluation::Closed => Progress::Closed,
            Evaluation::Skipped if M::OPTIONAL => Progress::Answered(Answered::Declined),
            Evaluation::Skipped | Evaluation::Ask => self.ask(asked, None),
            Evaluation::Given(_, answered) if asked.pinned.is_some() && answered.pinned != asked.pinned => {
                self.ask_in_new_words(asked)
            }
            Evaluation::Given(_, answered)
                if answered.wording.differs(asked.wording)
                    && !self.run.check_answered_wording(&self.key, &answered, &asked) =>
            {
                Progress::Parked
            }
            Evaluation::Given(response, _) => self.take(&response, asked),
        }
    }

    fn take(&self, response: &Leaf, asked: Asked) -> Progress<Q::Value> {
        let dialect = self.run.context.revision.lenient();
        let read = response.raw().map_err(|error| error.to_string());
        let mut answered = read.and_then(|response| self.question.read(response, dialect));
        if let (Ok(Answered::Accepted(value)), Some(Validate(check))) = (&answered, &self.options.validate) {
            match self.run.judge(&self.key, || check(value)) {
                Some(Ok(())) => {}
                Some(Err(reason)) => answered = Err(reason),
                None => return Progress::Parked,
            }
        }
        match answered {
            Ok(answered) => {
                self.run.accept(&self.key, response);
                Progress::Answered(answered)
            }
            Err(reason) => self.ask(asked, Some(&reason)),
        }
    }

    fn ask_in_new_words(&self, asked: Asked) -> Progress<Q::Value> {
        if self.run.reworded(&self.key) > MOST_REWORDINGS {
            let key = &self.key;
            self.run.misuse(format!(
                "the wording of the pinned question `{key}` changes from run to run: word it from recorded values only"
            ));
            return Progress::Parked;
        }
        self.ask(asked, None)
    }

    fn ask(&self, asked: Asked, note: Option<&str>) -> Progress<Q::Value> {
        let request = match self.question.request(note) {
            Ok(request) => request,
            Err(reason) => {
                self.run.misuse(format!("the question `{}` cannot be asked: {reason}", self.key));
                return Progress::Parked;
            }
        };
        if M::OPTIONAL
            && !crate::engine::gate::allows(&request, &self.run.context.capabilities, self.run.context.revision)
        {
            self.run.skip(&self.key);
            return Progress::Answered(Answered::Declined);
        }
        let question = Question {
            key: self.key.clone(),
            request,
            optional: M::OPTIONAL,
            valid_for: self.options.valid_for,
            asked,
            look_again: None,
            refused: note.map(ToOwned::to_owned),
            as_usual: false,
        };
        let must_carry = question.asked.pinned.is_some() || M::OPTIONAL || question.needs_state();
        Progress::Open(self.run.ask(question, must_carry))
    }

    /// Returns a digest of the question, to the letter.
    fn wording(&self) -> Pinned {
        let request = self.question.request(None).ok();
        wording(request.as_ref())
    }
}

fn wording(request: Option<&InputRequest>) -> Pinned {
    let text = request.and_then(|request| serde_json::to_string(request).ok()).unwrap_or_default();
    let digest: [u8; 32] = Sha256::digest(text).into();
    Pinned(*digest.first_chunk().expect("it is longer"))
}

/// A deployment may change the wording of a pinned question, even twice while the user thinks about it.
const MOST_REWORDINGS: u32 = 3;

impl<Q: QuestionKind, M> fmt::Debug for Ask<'_, Q, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ask({})", self.key)
    }
}

impl<'a, Q: QuestionKind + Unpin, M: AnswerMode + Unpin> IntoFuture for Ask<'a, Q, M> {
    type Output = M::Output<Q::Value>;
    type IntoFuture = Asking<'a, Q, M>;

    fn into_future(self) -> Self::IntoFuture {
        Asking { ask: self, state: AskingState::New }
    }
}

/// A question that the handler awaits.
pub struct Asking<'a, Q: QuestionKind, M: AnswerMode> {
    ask: Ask<'a, Q, M>,
    state: AskingState,
}

enum AskingState {
    New,
    Open(HoldId),
    Parked,
}

impl<Q: QuestionKind, M: AnswerMode> fmt::Debug for Asking<'_, Q, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ask.fmt(f)
    }
}

impl<Q: QuestionKind + Unpin, M: AnswerMode + Unpin> Future for Asking<'_, Q, M> {
    type Output = M::Output<Q::Value>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // An open question never returns: its run ends with it, and the runner does not need to be woken for that.
        match self.state {
            AskingState::New => {}
            // It lost a race and is still awaited: it is asked anew, where it is now.
            AskingState::Open(hold) if !self.ask.run.polled(hold) => {}
            AskingState::Open(_) | AskingState::Parked => return Poll::Pending,
        }
        match self.ask.evaluate() {
            Progress::Answered(answered) => {
                // Only after the first look: a question that gave way at its first poll could be dropped unasked.
                ready!(self.ask.run.poll_give_way(cx));
                Poll::Ready(M::output(&self.ask.key, answered))
            }
            Progress::Open(hold) => {
                self.state = AskingState::Open(hold);
                Poll::Pending
            }
            Progress::Parked => {
                self.state = AskingState::Parked;
                Poll::Pending
            }
            Progress::Closed => match M::closed() {
                Some(output) => Poll::Ready(output),
                None => pin!(park(Admission::Closed, &self.ask.key)).poll(cx),
            },
        }
    }
}

impl<Q: QuestionKind, M: AnswerMode> Drop for Asking<'_, Q, M> {
    fn drop(&mut self) {
        if let AskingState::Open(hold) = self.state {
            self.ask.run.dropped_question(hold);
        }
    }
}
