//! An application's own input whose answer comes from elsewhere: asked until it is decided.

use std::fmt;
use std::future::pending;
use std::pin::Pin;
use std::time::Duration;

use mrtr_schema::elicitation::{ElicitAction, ElicitRequest, ElicitResult, ElicitUrlParams, Url};
use mrtr_schema::input::InputKind;
use mrtr_schema::{InputRequest, NamespacedInput, Wire};

use super::ask::Ask;
use super::question::{Fingerprint, NamespacedQuestion, QuestionKind};
use super::until::settle;
use crate::engine::context::RunContext;
use crate::engine::journal::{Asked, Leaf};
use crate::engine::{ActiveRun, Evaluation, FIRST_PAUSE, Otherwise, Question, Unsettled, gate};
use crate::error::FlowError;

impl<'a, I> Ask<'a, NamespacedQuestion<I>>
where
    I: NamespacedInput + Send + Sync + 'static,
    I::Params: Send + Sync,
    I::Response: Send,
{
    /// Asks until `decided` has an answer: the client shows what is pending, and does not decide it.
    ///
    /// The flow asks a client that did not declare the input to visit a URL instead, if the server was built with
    /// [`input_by_url`](crate::Environment::input_by_url) for the input and the client opens URLs. It does not ask
    /// again a user who declines to go there: the error says so, and the decision may still come from elsewhere.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// # use mrtr_schema::{Method, NamespacedInput};
    /// # struct Approval;
    /// # #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)] struct Pending { approver: String }
    /// # #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)] struct Decision { approved: bool }
    /// # impl NamespacedInput for Approval {
    /// #     const METHOD: Method = Method::from_static("com.example/approval");
    /// #     type Params = Pending;
    /// #     type Response = Decision;
    /// # }
    /// # async fn decision_of(id: &str) -> Option<Decision> { None }
    /// async fn deploy(flow: Flow) -> Result<String, Failure> {
    ///     let id = flow.interaction_id("sign_off");
    ///     let pending = Pending { approver: "Ada".into() };
    ///     let decision = flow.ask::<Approval>("sign_off", pending).until(|| decision_of(&id)).await?;
    ///     Ok(if decision.approved { "deployed" } else { "not deployed" }.into())
    /// }
    /// ```
    pub fn until<D, F>(self, decided: D) -> AskUntil<'a, I, D>
    where
        D: FnMut() -> F + Send + 'a,
        F: Future<Output = Option<I::Response>> + Send + 'a,
    {
        let (run, key, question, valid_for) = self.into_parts();
        AskUntil { run, key, question, valid_for, decided }
    }
}

/// An application's own input, asked until it is decided.
///
/// ```
/// # use mrtr_schema::{Method, NamespacedInput};
/// # use mrtr_flow::{Failure, Flow};
/// # struct Approval;
/// # impl NamespacedInput for Approval {
/// #     const METHOD: Method = Method::from_static("com.example/approval");
/// #     type Params = String;
/// #     type Response = bool;
/// # }
/// # async fn decision() -> Option<bool> { None }
/// async fn deploy(flow: Flow) -> Result<String, Failure> {
///     let approval = flow.ask::<Approval>("sign_off", "deploy".to_owned()).until(decision);
///     Ok(if approval.await? { "deployed" } else { "not deployed" }.into())
/// }
/// ```
#[must_use = "a question is asked when it is awaited"]
pub struct AskUntil<'a, I: NamespacedInput, D> {
    run: &'a ActiveRun,
    key: String,
    question: NamespacedQuestion<I>,
    valid_for: Option<Duration>,
    decided: D,
}

impl<I: NamespacedInput, D> AskUntil<'_, I, D> {
    pub(super) fn key(&self) -> &str {
        &self.key
    }
}

impl<I: NamespacedInput, D> fmt::Debug for AskUntil<'_, I, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AskUntil({})", self.key)
    }
}

impl<'a, I, D, F> IntoFuture for AskUntil<'a, I, D>
where
    I: NamespacedInput + Send + Sync + 'static,
    I::Params: Send + Sync,
    I::Response: Send,
    D: FnMut() -> F + Send + 'a,
    F: Future<Output = Option<I::Response>> + Send + 'a,
{
    type Output = Result<I::Response, FlowError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        let (run, key) = (self.run, self.key.clone());
        Box::pin(async move { run.contained(&key, self.take()).await })
    }
}

impl<'a, I, D, F> AskUntil<'a, I, D>
where
    I: NamespacedInput + Send + Sync + 'static,
    I::Params: Send + Sync,
    I::Response: Send,
    D: FnMut() -> F + Send + 'a,
    F: Future<Output = Option<I::Response>> + Send + 'a,
{
    async fn take(mut self) -> Result<I::Response, FlowError> {
        let (run, fingerprint) = (self.run, Fingerprint::of(&self.question));
        let found = run.evaluate(&self.key, fingerprint.identity, true);
        match found {
            Evaluation::Park => return pending().await,
            Evaluation::Closed => return Err(FlowError::Closed),
            Evaluation::Given(..) | Evaluation::Ask | Evaluation::Skipped => {}
        }
        if let Some(decision) = run.decision(&self.key) {
            let Ok(decision) = serde_json::from_str(decision.as_str()) else {
                run.misuse(format!("the recorded decision on `{}` cannot be read as its type", self.key));
                return pending().await;
            };
            run.give_way().await;
            return Ok(decision);
        }
        let Self { key, question, valid_for, decided, .. } = &mut self;
        let asks = Asks { run, key, question, valid_for: *valid_for };
        let unsettled = || asks.unsettled(&found, fingerprint.asked());
        let check = async { decided().await };
        let settled = settle(run, key, unsettled, check, |decision| run.record_decision(key, decision)).await;
        run.give_way().await;
        settled
    }
}

/// The question for the client while there is no decision.
struct Asks<'a, I: NamespacedInput> {
    run: &'a ActiveRun,
    key: &'a str,
    question: &'a NamespacedQuestion<I>,
    valid_for: Option<Duration>,
}

impl<I> Asks<'_, I>
where
    I: NamespacedInput + 'static,
    I::Response: Send,
{
    /// It is asked again, unless the user refused to go to the page.
    fn unsettled(&self, found: &Evaluation, asked: Asked) -> Unsettled {
        let given = match found {
            Evaluation::Given(answer, answered) => Some((answer, answered)),
            _ => None,
        };
        let differs = given.filter(|(_, answered)| answered.wording.differs(asked.wording));
        let reworded = differs.map(|(_, answered)| (*answered, asked));
        let otherwise = match request(self.run, self.question) {
            Ok(request) => given
                .and_then(|(answer, _)| self.refused(&request, answer))
                .map_or_else(|| self.asked(request, asked), Otherwise::Refused),
            Err(reason) => Otherwise::Mistake(format!("the question `{}` cannot be asked: {reason}", self.key)),
        };
        Unsettled { reworded, otherwise }
    }

    fn refused(&self, request: &InputRequest, answer: &Leaf) -> Option<FlowError> {
        match request.kind() {
            InputKind::Form(_) | InputKind::Url(_) => {}
            // Only a person refuses: any other answer is one.
            InputKind::Sample(_) | InputKind::Roots | InputKind::Namespaced(_) | InputKind::Unknown(_) => return None,
        }
        let read = ElicitResult::read(answer.raw().ok()?, self.run.context.revision.lenient()).ok()?;
        let key = self.key.to_owned();
        match read.action {
            ElicitAction::Decline => Some(FlowError::Declined { key }),
            ElicitAction::Cancel => Some(FlowError::Cancelled { key }),
            ElicitAction::Accept => None,
        }
    }

    fn asked(&self, request: InputRequest, asked: Asked) -> Otherwise {
        let question = Box::new(Question {
            key: self.key.to_owned(),
            request,
            optional: false,
            valid_for: self.valid_for,
            asked,
            look_again: Some(FIRST_PAUSE),
            refused: None,
            as_usual: false,
        });
        Otherwise::Ask { question, must_carry: true }
    }
}

/// Returns the input itself if the client can be asked for it. Otherwise returns the URL that stands in for it, if
/// there is one and the client opens URLs. If not, returns the input, which the gate then refuses with what is missing.
fn request<I>(run: &ActiveRun, question: &NamespacedQuestion<I>) -> Result<InputRequest, String>
where
    I: NamespacedInput + 'static,
    I::Response: Send,
{
    let request = question.request(None)?;
    let RunContext { capabilities, revision, .. } = &run.context;
    if !gate::allows(&request, capabilities, *revision) && capabilities.elicits_urls() {
        let interaction = question.interaction_id(run);
        if let Some((message, url)) = run.context.environment.inputs.page::<I>(question.params(), &interaction) {
            let url = Url::new(url).map_err(|error| error.to_string())?;
            let mut params = ElicitUrlParams::new(message, url);
            params.elicitation_id = Some(interaction);
            return Ok(ElicitRequest::new(params).into());
        }
    }
    Ok(request)
}
