//! The handlers that answer, one for each kind of question, and the capabilities that follow from them.

mod elicit;
mod into_answer;

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use indexmap::IndexMap;
use mrtr_schema::capabilities::{ElicitationCapability, RootsCapability, SamplingCapability};
use mrtr_schema::elicitation::{ElicitFormParams, ElicitUrlParams};
use mrtr_schema::input::OwnedInputKind;
use mrtr_schema::roots::{ListRootsResult, Root};
use mrtr_schema::sampling::{CreateMessageParams, CreateMessageResult};
use mrtr_schema::{ClientCapabilities, InputRequest, InputResponse, JsonObject, NamespacedInput, Revision, tasks};

pub use elicit::{FormRequest, IntoElicitResult, UnsafeUrl, UrlRequest};
pub use into_answer::IntoAnswer;

/// The origin of a question: the server that asks, and the call in the middle of which it asks.
///
/// ```
/// use mrtr_client::testing::Script;
/// use mrtr_client::{QuestionContext, Client};
/// use mrtr_schema::roots::Root;
/// use serde_json::json;
///
/// async fn roots(context: QuestionContext) -> Result<Vec<Root>, String> {
///     if context.name.as_deref() == Some("report") {
///         return Ok(vec![Root::new("file:///reports")]);
///     }
///     Err(format!("{} may not see the roots", context.server))
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let asks = json!({ "resultType": "input_required", "inputRequests": { "where": { "method": "roots/list" } } });
/// let server = Script::new().result(asks.clone()).result(json!({ "resultType": "complete", "content": [] })).result(asks);
/// let client = Client::builder(server).on_roots(roots).build();
/// assert!(client.call_tool("report", json!({})).await.is_ok());
/// assert!(client.call_tool("spy", json!({})).await.is_err());
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct QuestionContext {
    /// The server.
    pub server: Arc<str>,
    /// The number of the call, as its events have it.
    pub call: u64,
    /// The method of the call.
    pub method: String,
    /// The tool or prompt by name, or the resource by URI. `None` for a task of which only the id is known.
    pub name: Option<String>,
    /// The round of the call, from 1.
    pub round: u32,
    /// The key of the question.
    pub key: String,
}

/// The reason that a question has no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The client has no handler for this kind, and did not offer it either; this method of the builder sets one.
    NoHandler(&'static str),
    /// The question is of a kind that this client does not know: the others are answered without it.
    Unknown,
    /// The server may not ask like this.
    BadQuestion(Box<dyn std::error::Error + Send + Sync>),
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> From<E> for Unanswered {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// A handler of one kind of question.
struct Handler<Q>(Box<dyn Fn(Q, QuestionContext, Revision) -> Answering + Send + Sync>);

/// An answer on its way.
struct Answering(BoxFuture<'static, Result<InputResponse, Unanswered>>);

impl Answering {
    fn new(answering: impl Future<Output = Result<InputResponse, Unanswered>> + Send + 'static) -> Self {
        Self(Box::pin(answering))
    }

    /// The future of a handler. A panic in it is an error, and so is one of the handler before it gave its future.
    async fn contained(begin: impl FnOnce() -> Self) -> Result<InputResponse, Unanswered> {
        let mut answering = contain(|| Contained(Some(begin())))?;
        poll_fn(|context| answering.poll(context)).await
    }
}

/// The future of a handler, which belongs to the application and may panic, also when it is dropped.
struct Contained(Option<Answering>);

impl Contained {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<InputResponse, Unanswered>> {
        let Some(Answering(answering)) = &mut self.0 else { return Poll::Pending };
        match contain(|| answering.as_mut().poll(context)) {
            Ok(polled) => polled,
            Err(panicked) => Poll::Ready(Err(panicked.into())),
        }
    }
}

impl Drop for Contained {
    fn drop(&mut self) {
        let answering = self.0.take();
        if let Err(HandlerPanic(message)) = contain(|| drop(answering)) {
            tracing::error!(message, "the future of a handler panicked when it was dropped");
        }
    }
}

/// The panic of a handler, with its message.
#[derive(Debug, thiserror::Error)]
#[error("the handler panicked: {0}")]
struct HandlerPanic(String);

/// Runs code of the application, and returns its panic as an error.
fn contain<R>(run: impl FnOnce() -> R) -> Result<R, HandlerPanic> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("no message").to_owned();
        // What a panic carries may itself panic when it is dropped; then it is not dropped at all.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            std::mem::forget(again);
        }
        HandlerPanic(text)
    })
}

/// The handlers of a client.
#[derive(Default)]
pub(crate) struct Handlers {
    form: Option<Handler<ElicitFormParams>>,
    url: Option<Handler<ElicitUrlParams>>,
    /// True if the handler also gets URLs that no person should be offered.
    pub(crate) takes_any_url: bool,
    sample: Option<Handler<CreateMessageParams>>,
    samples_with_tools: bool,
    roots: Option<Handler<()>>,
    inputs: HashMap<String, Handler<JsonObject>>,
}

impl Handlers {
    pub(crate) fn on_form<F, T, A>(&mut self, handler: F)
    where
        F: Fn(FormRequest) -> T + Send + Sync + 'static,
        T: Future<Output = A> + Send + 'static,
        A: IntoElicitResult + 'static,
    {
        self.form = Some(Handler(Box::new(move |params, context, revision| {
            let answering = handler(FormRequest::new(params, context));
            Answering::new(async move { Ok(InputResponse::of(&answering.await.into_elicit_result()?, revision)?) })
        })));
    }

    pub(crate) fn on_url<F, T, A>(&mut self, handler: F)
    where
        F: Fn(UrlRequest) -> T + Send + Sync + 'static,
        T: Future<Output = A> + Send + 'static,
        A: IntoElicitResult + 'static,
    {
        self.url = Some(Handler(Box::new(move |params, context, revision| {
            let answering = handler(UrlRequest::new(params, context));
            Answering::new(async move { Ok(InputResponse::of(&answering.await.into_elicit_result()?, revision)?) })
        })));
    }

    pub(crate) fn on_sample<F, T, A>(&mut self, handler: F, with_tools: bool)
    where
        F: Fn(CreateMessageParams, QuestionContext) -> T + Send + Sync + 'static,
        T: Future<Output = A> + Send + 'static,
        A: IntoAnswer<CreateMessageResult> + 'static,
    {
        self.samples_with_tools = with_tools;
        self.sample = Some(Handler(Box::new(move |params, context, revision| {
            let answering = handler(params, context);
            Answering::new(async move { Ok(InputResponse::of(&answering.await.into_answer()?, revision)?) })
        })));
    }

    pub(crate) fn on_roots<F, T, A>(&mut self, handler: F)
    where
        F: Fn(QuestionContext) -> T + Send + Sync + 'static,
        T: Future<Output = A> + Send + 'static,
        A: IntoAnswer<Vec<Root>> + 'static,
    {
        self.roots = Some(Handler(Box::new(move |(), context, revision| {
            let answering = handler(context);
            Answering::new(async move {
                let roots = answering.await.into_answer()?;
                Ok(InputResponse::of(&ListRootsResult::new(roots), revision)?)
            })
        })));
    }

    pub(crate) fn on_input<I, F, T, A>(&mut self, handler: F)
    where
        I: NamespacedInput + 'static,
        I::Params: Send,
        I::Response: Send,
        F: Fn(I::Params, QuestionContext) -> T + Send + Sync + 'static,
        T: Future<Output = A> + Send + 'static,
        A: IntoAnswer<I::Response> + 'static,
    {
        let handler = Handler(Box::new(move |params: JsonObject, context, _| {
            let answering = params.to().map(|params| handler(params, context));
            Answering::new(async move {
                let answering = answering.map_err(|error| Unanswered::BadQuestion(error.into()))?;
                let answer = answering.await.into_answer()?;
                Ok(InputResponse::from_object(JsonObject::of(&answer)?))
            })
        }));
        self.inputs.insert(I::METHOD.as_str().to_owned(), handler);
    }

    /// The capabilities of a client with these handlers: what the handlers answer, and tasks.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let offered = || Some(JsonObject::default());
        let mut capabilities = ClientCapabilities::new();
        if self.form.is_some() || self.url.is_some() {
            let mut elicitation = ElicitationCapability::new();
            elicitation.form = self.form.as_ref().and_then(|_| offered());
            elicitation.url = self.url.as_ref().and_then(|_| offered());
            capabilities.elicitation = Some(elicitation);
        }
        if self.sample.is_some() {
            let mut sampling = SamplingCapability::new();
            sampling.tools = self.samples_with_tools.then(JsonObject::default);
            capabilities.sampling = Some(sampling);
        }
        capabilities.roots = self.roots.as_ref().map(|_| RootsCapability::new());
        let mut extensions: IndexMap<_, _> =
            self.inputs.keys().map(|method| (method.clone(), JsonObject::default())).collect();
        // The client follows tasks, whatever its handlers are.
        extensions.insert(tasks::extension::NAME.to_owned(), JsonObject::default());
        extensions.sort_keys();
        capabilities.extensions = Some(extensions);
        capabilities
    }

    /// Has the handler of its kind answer a question.
    pub(crate) async fn answer(
        &self,
        request: InputRequest,
        context: QuestionContext,
        revision: Revision,
    ) -> Result<InputResponse, Unanswered> {
        let unhandled = |builder| Err(Unanswered::NoHandler(builder));
        match request.into_kind() {
            OwnedInputKind::Form(params) => match &self.form {
                Some(Handler(ask)) => Answering::contained(|| ask(params, context, revision)).await,
                None => unhandled("on_elicit"),
            },
            OwnedInputKind::Url(params) => match &self.url {
                Some(Handler(ask)) => {
                    if !self.takes_any_url {
                        UnsafeUrl::check(&params.url).map_err(|error| Unanswered::BadQuestion(error.into()))?;
                    }
                    Answering::contained(|| ask(params, context, revision)).await
                }
                None => unhandled("on_url"),
            },
            OwnedInputKind::Sample(params) => {
                // Each use of a tool comes with its result, and nothing beside it (SA-1).
                params.check_tool_results().map_err(|error| Unanswered::BadQuestion(error.into()))?;
                let tools = params.tools.is_some() || params.tool_choice.is_some();
                match self.sample.as_ref().filter(|_| !tools || self.samples_with_tools) {
                    Some(Handler(ask)) => Answering::contained(|| ask(params, context, revision)).await,
                    None => unhandled(if tools { "on_sample_with_tools" } else { "on_sample" }),
                }
            }
            OwnedInputKind::Roots => match &self.roots {
                Some(Handler(ask)) => Answering::contained(|| ask((), context, revision)).await,
                None => unhandled("on_roots"),
            },
            OwnedInputKind::Namespaced(request) => match self.inputs.get(request.method.as_str()) {
                Some(Handler(ask)) => {
                    let params = request.params.unwrap_or_default();
                    Answering::contained(|| ask(params, context, revision)).await
                }
                None => Err(Unanswered::Unknown),
            },
            OwnedInputKind::Unknown(_) => Err(Unanswered::Unknown),
        }
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Handlers").field(&self.capabilities()).finish()
    }
}
