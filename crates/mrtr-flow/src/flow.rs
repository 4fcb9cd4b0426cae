//! The flow that a handler is given: questions, steps, and the facts that it needs.

mod ask;
mod ask_until;
mod join;
mod member;
mod question;
mod race;
pub(crate) mod run;
mod step;
mod tool_loop;
mod until;
mod url;

use std::fmt::{self, Display};
use std::future::{pending, poll_fn};
use std::ops::Deref;
use std::sync::Arc;

use mrtr_schema::sampling::CreateMessageParams;
use mrtr_schema::{
    ClientCapabilities, InputResponse, Json, JsonObject, LoggingLevel, NamespacedInput, Number, Revision,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use ask::{AnswerMode, Answered, Ask, FullAnswer, Optional, Required};
pub use ask_until::AskUntil;
pub use join::{Join, JoinAll};
pub use member::{Branch, Joinable};
pub use question::{FormQuestion, FormType, NamespacedQuestion, QuestionKind, RootsQuestion, SamplingQuestion};
pub use race::{Race, Race2, Race3, Race4, Racing};
pub use step::{Retry, Step, StepResult, StepValue, StepWork};
pub use tool_loop::{SamplingTools, ToolLoop, ToolOutput};
pub use url::{UrlAsk, UrlUntil};

use crate::engine::context::Progress;
use crate::engine::context::Runner;
use crate::engine::journal::Leaf;
use crate::engine::name::in_scopes;
use crate::engine::{ActiveRun, Admission, HeldCall, StopReason, park};
use crate::identity::{Caller, Identity};

/// A handler's side of a conversation. The handler asks questions and does steps; the runner runs the handler
/// again with the answers.
///
/// A question that has no answer yet does not return: the run ends there, and the next one begins at the top, with
/// the answer in place. Whatever has an effect outside belongs in a [`step`](Self::step), which is not repeated.
///
/// A flow cannot be cloned, and everything it makes borrows it, so that no question and no step outlives the run by
/// accident.
///
/// ```
/// use mrtr_flow::{Failure, Flow, Journal, Outcome, RunContext, run};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Confirmation { confirmed: bool }
///
/// async fn delete_all(flow: Flow) -> Result<String, Failure> {
///     let Confirmation { confirmed } = flow.elicit("confirm", "Delete everything?").await?;
///     if !confirmed {
///         return Ok("nothing was deleted".into());
///     }
///     let deleted: u32 = flow.step("delete", async { Ok::<_, Failure>(3) }).await?;
///     Ok(format!("{deleted} deleted"))
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let ran = run(delete_all, Journal::default(), RunContext::for_tests()).await;
/// assert!(matches!(ran.outcome, Outcome::Waiting(questions) if questions[0].key == "confirm"));
/// # }
/// ```
pub struct Flow {
    run: Arc<ActiveRun>,
    /// The text that the flow puts before each name.
    prefix: String,
    /// The scopes that the prefix is made of, each with its length: another division would be another text.
    scopes: String,
}

impl Flow {
    pub(crate) fn new(run: Arc<ActiveRun>) -> Self {
        Self { run, prefix: String::new(), scopes: String::new() }
    }

    /// Asks a person to fill in the form of a type.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Login { name: String }
    ///
    /// async fn greet(flow: Flow) -> Result<String, Failure> {
    ///     let login: Login = flow.elicit("github_login", "Please give your GitHub username").await?;
    ///     Ok(format!("Hello, {}", login.name))
    /// }
    /// ```
    pub fn elicit<T>(&self, key: impl Display, message: impl Into<String>) -> Ask<'_, FormQuestion<T>>
    where
        T: FormType,
    {
        Ask::new(self, self.name(key), FormQuestion::new(&self.run.context, message.into()))
    }

    /// Asks a person to visit a URL. An accept is consent to go there; [`UrlAsk::until`] waits until the visit is done.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// async fn read_terms(flow: Flow) -> Result<String, Failure> {
    ///     flow.elicit_url("terms", "Please read our terms", "https://example.com/terms").await?;
    ///     Ok("They will be read".into())
    /// }
    /// ```
    pub fn elicit_url(&self, key: impl Display, message: impl Into<String>, url: impl Into<String>) -> UrlAsk<'_> {
        UrlAsk::new(self, &key.to_string(), message.into(), url.into())
    }

    /// Asks a model.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// use mrtr_schema::sampling::{CreateMessageParams, SamplingMessage};
    ///
    /// async fn capital(flow: Flow) -> Result<String, Failure> {
    ///     let question = CreateMessageParams::new([SamplingMessage::user("What is the capital of France?")], 100_u64);
    ///     let answer = flow.sample("capital", question).await?;
    ///     Ok(answer.model)
    /// }
    /// ```
    pub fn sample(&self, key: impl Display, params: CreateMessageParams) -> Ask<'_, SamplingQuestion> {
        Ask::new(self, self.name(key), SamplingQuestion::new(params))
    }

    /// Asks a model that may call these tools, and calls them for it until it is done.
    ///
    /// Each turn is an answer of its own, and the tools of a turn are a step of their own.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// # use mrtr_flow::flow::SamplingTools;
    /// use mrtr_schema::Tool;
    /// use mrtr_schema::sampling::{CreateMessageParams, SamplingMessage};
    /// use mrtr_schema::tools::InputSchema;
    ///
    /// async fn weather(flow: Flow) -> Result<String, Failure> {
    ///     let weather = Tool::new("weather", InputSchema::parse(r#"{"type": "object"}"#)?);
    ///     let tools = SamplingTools::new().tool(weather, async |_arguments| Ok("sunny".into())).turns(5);
    ///     let question = CreateMessageParams::new([SamplingMessage::user("How is the weather?")], 100_u64);
    ///     Ok(flow.sample_with_tools("weather", question, &tools).await?.model)
    /// }
    /// ```
    pub fn sample_with_tools<'a, 'b>(
        &'a self,
        key: impl Display,
        params: CreateMessageParams,
        tools: &'a SamplingTools<'b>,
    ) -> ToolLoop<'a, 'b> {
        ToolLoop::new(self, key.to_string(), params, tools)
    }

    /// Asks for the client's roots.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// async fn count(flow: Flow) -> Result<String, Failure> {
    ///     let roots = flow.roots("roots").await?;
    ///     Ok(format!("{} roots", roots.len()))
    /// }
    /// ```
    pub fn roots(&self, key: impl Display) -> Ask<'_, RootsQuestion> {
        Ask::new(self, self.name(key), RootsQuestion)
    }

    /// Asks for an input that an application defines, and that the program registered: with `Builder::input` of a
    /// server, or [`Environment::input`](crate::Environment::input).
    ///
    /// ```
    /// use mrtr_schema::{Method, NamespacedInput};
    /// use mrtr_flow::{Environment, Failure, Flow};
    /// use mrtr_state::Sealer;
    ///
    /// struct Seat;
    /// #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    /// struct Plan { rows: u32 }
    /// #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    /// struct Picked { row: u32 }
    ///
    /// impl NamespacedInput for Seat {
    ///     const METHOD: Method = Method::from_static("com.example/seat");
    ///     type Params = Plan;
    ///     type Response = Picked;
    /// }
    ///
    /// async fn book(flow: Flow) -> Result<String, Failure> {
    ///     let seat = flow.ask::<Seat>("seat", Plan { rows: 30 }).await?;
    ///     Ok(format!("row {}", seat.row))
    /// }
    ///
    /// let environment = Environment::sealed_by(Sealer::this_process_only()).input::<Seat>();
    /// ```
    pub fn ask<I>(&self, key: impl Display, params: I::Params) -> Ask<'_, NamespacedQuestion<I>>
    where
        I: NamespacedInput + Send + Sync + 'static,
        I::Params: Send + Sync,
        I::Response: Send,
    {
        let name = key.to_string();
        if let Err(mistake) = self.run.context.environment.inputs.check::<I>(&name) {
            self.run.misuse(mistake);
        }
        Ask::new(self, self.name(&name), NamespacedQuestion::new(params, self.scopes.clone(), name))
    }

    /// Asks and does several things at once, in one round. The flow reads the questions before it starts a step.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Login { name: String }
    /// async fn both(flow: Flow) -> Result<String, Failure> {
    ///     let login = flow.elicit::<Login>("login", "Who are you?");
    ///     let (login, roots) = flow.join((login, flow.roots("roots"))).await?;
    ///     Ok(format!("{} has {} roots", login.name, roots.len()))
    /// }
    /// ```
    pub fn join<'a, J: Join<'a>>(&'a self, all: J) -> J::Future {
        all.join(self)
    }

    /// Asks and does any number of things at once, in one round, as [`join`](Self::join) does a few.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// # async fn ping(_host: &str) -> Result<u32, std::io::Error> { Ok(7) }
    /// async fn ping_all(flow: Flow) -> Result<String, Failure> {
    ///     let hosts = ["alpha", "beta"];
    ///     let times = flow.join_all(hosts.map(|host| flow.step(host, ping(host)))).await?;
    ///     Ok(format!("{times:?}"))
    /// }
    /// ```
    pub fn join_all<'a, J: Joinable<'a>>(&'a self, all: impl IntoIterator<Item = J>) -> JoinAll<'a, J::Item> {
        JoinAll::new(self, all)
    }

    /// Makes several things in a row one member of a [`join`](Self::join): they continue while a question of another
    /// member is open. Code around the join does not.
    ///
    /// Its output is that of its code, errors included.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Login { name: String }
    /// # async fn build() -> Result<u32, std::io::Error> { Ok(7) }
    /// # async fn test(_build: u32) -> Result<(), std::io::Error> { Ok(()) }
    /// async fn release(flow: Flow) -> Result<String, Failure> {
    ///     let tested = flow.branch(async {
    ///         let build = flow.step("build", build()).await?;
    ///         flow.step("test", test(build)).await?;
    ///         Ok::<_, Failure>(build)
    ///     });
    ///     let (login, build) = flow.join((flow.elicit::<Login>("login", "Who releases?"), tested)).await?;
    ///     Ok(format!("{} released {}", login.name, build?))
    /// }
    /// ```
    pub fn branch<'a, F>(&'a self, code: F) -> Branch<'a, F::Output>
    where
        F: Future<Output: Send> + Send + 'a,
    {
        Branch::new(self, code)
    }

    /// Asks and does several things at once, and takes the first to end. The journal records the winner: later runs
    /// take it too. The client is no longer asked a question that lost; a step that lost is dropped where it is.
    ///
    /// A plain `select!` is no race: it always asks the question, and nothing continues past it.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// # use mrtr_flow::flow::Race2;
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Address { street: String }
    /// # async fn look_up() -> Result<String, std::io::Error> { Ok("1 Main Street".into()) }
    /// async fn address(flow: Flow) -> Result<String, Failure> {
    ///     let asked = flow.elicit::<Address>("address", "Where do you live?");
    ///     Ok(match flow.race((asked, flow.step("look_up", look_up()))).await? {
    ///         Race2::First(address) => address.street,
    ///         Race2::Second(found) => found,
    ///     })
    /// }
    /// ```
    pub fn race<'a, R: Race<'a>>(&'a self, all: R) -> Racing<'a, R::Output> {
        Racing::new(self, all.slots())
    }

    /// Does something once: the journal records its outcome, and later runs get the record.
    ///
    /// Two things can repeat it, with the same [`idempotency_key`](Self::idempotency_key): a crash between the effect
    /// and its record, and a replay of an older state of a tool that is not single-use.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// # async fn create_issue() -> Result<u64, std::io::Error> { Ok(7) }
    /// async fn report(flow: Flow) -> Result<String, Failure> {
    ///     let number: u64 = flow.step("create_issue", create_issue()).await?;
    ///     Ok(format!("created #{number}"))
    /// }
    /// ```
    pub fn step<'a, F>(&'a self, name: impl Display, work: F) -> Step<'a, step::Once<F>>
    where
        F: StepWork<'a>,
    {
        Step::once(self, self.name(name), work)
    }

    /// Does something once, with work that can be begun again, for [`Step::retry`].
    pub fn step_with<'a, W, F>(&'a self, name: impl Display, work: W) -> Step<'a, W>
    where
        W: FnMut() -> F + Send + 'a,
        F: StepWork<'a>,
    {
        Step::again(self, self.name(name), work)
    }

    /// Returns a flow that puts this text before each name: for loops.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Label { text: String }
    /// async fn label(flow: Flow) -> Result<String, Failure> {
    ///     let mut labels = Vec::new();
    ///     for page in 0..3 {
    ///         let scope = flow.scope(page);
    ///         labels.push(scope.elicit::<Label>("label", format!("A label for page {page}?")).await?.text);
    ///     }
    ///     Ok(labels.join(", "))
    /// }
    /// ```
    pub fn scope(&self, scope: impl Display) -> Scope<'_> {
        let scope = scope.to_string();
        let flow = Self {
            run: Arc::clone(&self.run),
            prefix: in_scopes(&self.prefix, &scope) + "/",
            scopes: format!("{}{}:{scope}", self.scopes, scope.len()),
        };
        Scope { flow, parent: std::marker::PhantomData }
    }

    /// Marks a place at which an overloaded server may shed the flow, and keeps the progress: the client gets a state
    /// and no question, retries, and the flow continues on any instance.
    ///
    /// The next run gets the progress from [`resumed_from`](Self::resumed_from).
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// # async fn index(_file: u32) {}
    /// async fn index_all(flow: Flow) -> Result<String, Failure> {
    ///     let from = flow.resumed_from::<u32>().unwrap_or(0);
    ///     for file in from..1000 {
    ///         index(file).await;
    ///         flow.yield_point(&(file + 1)).await;
    ///     }
    ///     Ok(format!("{} files indexed here", 1000 - from))
    /// }
    /// ```
    pub async fn yield_point<P: Serialize>(&self, progress: &P) {
        self.run.give_way().await;
        match Leaf::of(progress) {
            Ok(progress) => {
                let mut call = HeldCall::default();
                let admission = poll_fn(|cx| self.run.poll_progress(&progress, &mut call, cx)).await;
                if !matches!(admission, Admission::To(_)) {
                    park::<()>(admission, "a yield point").await;
                }
            }
            Err(error) => {
                self.run.misuse(format!("the progress of a yield point cannot be written: {error}"));
                pending::<()>().await;
            }
        }
    }

    /// Returns the progress that an earlier run gave to its last yield point.
    pub fn resumed_from<P: DeserializeOwned>(&self) -> Option<P> {
        serde_json::from_str(self.run.resumed()?.as_str()).ok()
    }

    /// Returns a key for this flow and this name, the same in every run: for outside services that take one.
    ///
    /// It is async because a run may have used answers that came without a state: such a run ends first, to put them
    /// into a state.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// # async fn charge(_key: &str) -> Result<u64, std::io::Error> { Ok(7) }
    /// async fn pay(flow: Flow) -> Result<String, Failure> {
    ///     let key = flow.idempotency_key("charge").await;
    ///     let receipt: u64 = flow.step("charge", charge(&key)).await?;
    ///     Ok(format!("receipt {receipt}"))
    /// }
    /// ```
    pub async fn idempotency_key(&self, name: impl Display) -> String {
        let name = name.to_string();
        self.run.give_way().await;
        let mut call = HeldCall::default();
        match poll_fn(|cx| self.run.poll_key(&name, &mut call, cx)).await {
            Admission::To(_) => self.run.context.derived_id("mrtr idempotency key", &self.scopes, &name),
            admission => park(admission, "an idempotency key").await,
        }
    }

    /// Returns an id for a question, the same in every run of this flow and in no other: for URLs and callbacks. A
    /// client cannot guess it, since it does not know the flow's own id, which is random and sealed.
    pub fn interaction_id(&self, key: impl Display) -> String {
        self.run.interaction_id(&self.scopes, &key.to_string())
    }

    /// Sends the progress of the request, if the client wants it. Progress and total are of one type: whole numbers, such
    /// as `u32` and `usize`, or [`Number`]s.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// async fn copy(flow: Flow) -> Result<String, Failure> {
    ///     for file in 1..=3 {
    ///         flow.progress(file, Some(3), "copying").await;
    ///     }
    ///     Ok("copied".into())
    /// }
    /// ```
    pub async fn progress<N: Into<Number>>(&self, progress: N, total: Option<N>, message: impl Into<String>) {
        self.run.give_way().await;
        if let Some(sink) = &self.run.context.notifications {
            let (progress, total) = (progress.into(), total.map(Into::into));
            let message = Some(message.into()).filter(|message| !message.is_empty());
            sink.progress(Progress { progress, total, message }).await;
        }
    }

    /// Sends a log message, if the client wants messages of this level.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// use mrtr_schema::LoggingLevel;
    ///
    /// async fn work(flow: Flow) -> Result<String, Failure> {
    ///     flow.log(LoggingLevel::Info, "halfway").await;
    ///     Ok("done".into())
    /// }
    /// ```
    pub async fn log(&self, level: LoggingLevel, data: impl Serialize) {
        self.run.give_way().await;
        if let Some(sink) = &self.run.context.notifications
            && let Ok(data) = Json::of(&data)
        {
            sink.log(level, data).await;
        }
    }

    /// Continues as a task: from then on the server keeps the journal. In a task it returns at once. It also returns at
    /// once if the client cannot have a task: then the flow continues where it is.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// # async fn compute() -> Result<u64, std::io::Error> { Ok(42) }
    /// async fn long(flow: Flow) -> Result<String, Failure> {
    ///     flow.into_task().await;
    ///     let answer: u64 = flow.step("compute", compute()).await?;
    ///     Ok(answer.to_string())
    /// }
    /// ```
    pub async fn into_task(&self) {
        self.run.give_way().await;
        if self.run.context.runner != Runner::Task && !self.run.context.goes_on_in_place {
            let mut call = HeldCall::default();
            park::<()>(poll_fn(|cx| self.run.poll_become_task(&mut call, cx)).await, "`into_task`").await;
        }
    }

    /// Waits until the run is stopped from outside: the client cancelled the call, the process ends, or another
    /// instance has the flow. It also works in a step. If nothing stops the run, it waits for ever.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// # async fn copy() -> Result<(), std::io::Error> { Ok(()) }
    /// async fn copy_all(flow: Flow) -> Result<&'static str, Failure> {
    ///     flow.step("copy", async {
    ///         tokio::select! {
    ///             copied = copy() => copied.map_err(Failure::from),
    ///             reason = flow.cancelled() => Err(format!("stopped: {reason:?}").into()),
    ///         }
    ///     })
    ///     .await?;
    ///     Ok("copied")
    /// }
    /// ```
    pub async fn cancelled(&self) -> StopReason {
        self.run.give_way().await;
        match &self.run.context.stop {
            Some(signal) => signal.wait().await,
            None => pending().await,
        }
    }

    /// Returns a value that the program gave its handlers: with `Builder::state` of a server, or
    /// [`Environment::state`](crate::Environment::state).
    ///
    /// # Panics
    ///
    /// Panics if there is no value of this type. The caller gets an internal error.
    ///
    /// ```
    /// # use mrtr_flow::{Environment, Failure, Flow};
    /// # use mrtr_state::Sealer;
    /// struct Greeting(&'static str);
    ///
    /// async fn greet(flow: Flow) -> Result<String, Failure> {
    ///     Ok(flow.state::<Greeting>().0.to_owned())
    /// }
    ///
    /// let environment = Environment::sealed_by(Sealer::this_process_only()).state(Greeting("Hello"));
    /// ```
    pub fn state<S: Send + Sync + 'static>(&self) -> &S {
        self.extension().unwrap_or_else(|| panic!("{}", self.run.context.environment.extensions.missing::<S>()))
    }

    /// Returns the value of this type, if the runner gave the flow one. A crate above finds here what it adds to a
    /// flow.
    ///
    /// ```
    /// use mrtr_flow::Flow;
    ///
    /// struct Inbox(Vec<String>);
    ///
    /// trait FlowInbox {
    ///     fn letters(&self) -> &[String];
    /// }
    ///
    /// impl FlowInbox for Flow {
    ///     fn letters(&self) -> &[String] {
    ///         self.extension::<Inbox>().map_or(&[], |inbox| &inbox.0)
    ///     }
    /// }
    /// ```
    pub fn extension<E: Send + Sync + 'static>(&self) -> Option<&E> {
        self.run.context.environment.extensions.get()
    }

    /// Returns the capabilities that the client declared for this request.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// async fn summarize(flow: Flow) -> Result<&'static str, Failure> {
    ///     Ok(if flow.capabilities().samples() { "a model may be asked" } else { "no model" })
    /// }
    /// ```
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.run.context.capabilities
    }

    /// Returns the sender of the request, if an issuer vouches for it.
    pub fn principal(&self) -> Option<&Caller> {
        self.identity().caller()
    }

    /// Returns what the transport knows of the sender of the request: groups, scopes, on whose behalf, and more.
    ///
    /// In a task it is what the task was created with, or what its last `tasks/update` came with.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// async fn greet(flow: Flow) -> Result<String, Failure> {
    ///     Ok(format!("Hello, {}", flow.identity().display_name().unwrap_or("stranger")))
    /// }
    /// ```
    pub fn identity(&self) -> &Identity {
        &self.run.context.identity
    }

    /// Returns the revision of the request.
    pub fn revision(&self) -> Revision {
        self.run.context.revision
    }

    /// Returns the number of this round, from 1: a fact for logs. A flow that branches on it confuses itself.
    pub fn round(&self) -> u32 {
        self.run.context.lazy_flow.round()
    }

    /// Returns an answer as it came, unchecked: for handlers of a server that return an `InputRequired` themselves.
    pub fn given(&self, key: &str) -> Option<InputResponse> {
        let given = self.run.given(key)?;
        JsonObject::from_raw(given.raw().ok()?).ok().map(InputResponse::from_object)
    }

    /// Returns the value that the client carried for the last `InputRequired` that a handler of a server returned.
    pub fn carried<S: DeserializeOwned>(&self) -> Option<S> {
        serde_json::from_str(self.run.carried()?.as_str()).ok()
    }

    fn name(&self, name: impl Display) -> String {
        let name = name.to_string();
        if self.prefix.is_empty() && !name.contains('/') { name } else { in_scopes(&self.prefix, &name) }
    }
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flow({})", self.run.context.flow_id())
    }
}

/// A flow that puts a text before each name.
///
/// ```
/// # use mrtr_flow::{Failure, Flow};
/// # use mrtr_flow::flow::Scope;
/// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Label { text: String }
/// async fn label(scope: &Scope<'_>) -> Result<String, Failure> {
///     Ok(scope.elicit::<Label>("label", "A label?").await?.text)
/// }
///
/// async fn two(flow: Flow) -> Result<String, Failure> {
///     Ok(label(&flow.scope("first")).await? + &label(&flow.scope("second")).await?)
/// }
/// ```
#[derive(Debug)]
pub struct Scope<'a> {
    flow: Flow,
    parent: std::marker::PhantomData<&'a Flow>,
}

impl Deref for Scope<'_> {
    type Target = Flow;

    fn deref(&self) -> &Flow {
        &self.flow
    }
}
