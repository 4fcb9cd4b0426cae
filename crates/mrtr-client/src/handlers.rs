//! The handlers that answer, one for each kind of question, and the capabilities that follow from them.

mod elicit;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use indexmap::IndexMap;
use mrtr_schema::capabilities::{ElicitationCapability, RootsCapability, SamplingCapability};
use mrtr_schema::elicitation::{ElicitFormParams, ElicitUrlParams};
use mrtr_schema::input::OwnedInputKind;
use mrtr_schema::roots::{ListRootsResult, Root};
use mrtr_schema::sampling::{CreateMessageParams, CreateMessageResult};
use mrtr_schema::{ClientCapabilities, InputRequest, InputResponse, JsonObject, NamespacedInput, Revision, tasks};

pub use elicit::{FormRequest, IntoElicitResult, UnsafeUrl, UrlRequest};

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
    /// The tool or prompt by name, or the resource by URI.
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
}

/// The handlers of a client.
#[derive(Default)]
pub(crate) struct Handlers {
    form: Option<Handler<ElicitFormParams>>,
    url: Option<Handler<ElicitUrlParams>>,
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

    pub(crate) fn on_sample<F, T, E>(&mut self, handler: F, with_tools: bool)
    where
        F: Fn(CreateMessageParams, QuestionContext) -> T + Send + Sync + 'static,
        T: Future<Output = Result<CreateMessageResult, E>> + Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        self.samples_with_tools = with_tools;
        self.sample = Some(Handler(Box::new(move |params, context, revision| {
            let answering = handler(params, context);
            Answering::new(async move { Ok(InputResponse::of(&answering.await?, revision)?) })
        })));
    }

    pub(crate) fn on_roots<F, T, E>(&mut self, handler: F)
    where
        F: Fn(QuestionContext) -> T + Send + Sync + 'static,
        T: Future<Output = Result<Vec<Root>, E>> + Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        self.roots = Some(Handler(Box::new(move |(), context, revision| {
            let answering = handler(context);
            Answering::new(async move { Ok(InputResponse::of(&ListRootsResult::new(answering.await?), revision)?) })
        })));
    }

    pub(crate) fn on_input<I, F, T, E>(&mut self, handler: F)
    where
        I: NamespacedInput + 'static,
        I::Params: Send,
        I::Response: Send,
        F: Fn(I::Params, QuestionContext) -> T + Send + Sync + 'static,
        T: Future<Output = Result<I::Response, E>> + Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        let handler = Handler(Box::new(move |params: JsonObject, context, _| {
            let answering = params.to().map(|params| handler(params, context));
            Answering::new(async move {
                let answer = answering.map_err(|error| Unanswered::BadQuestion(error.into()))?.await?;
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
        let (answering, builder) = match request.into_kind() {
            OwnedInputKind::Form(params) => {
                (self.form.as_ref().map(|Handler(ask)| ask(params, context, revision)), "on_elicit")
            }
            OwnedInputKind::Url(params) => {
                (self.url.as_ref().map(|Handler(ask)| ask(params, context, revision)), "on_url")
            }
            OwnedInputKind::Sample(params) => {
                // Each use of a tool comes with its result, and nothing beside it (SA-1).
                params.check_tool_results().map_err(|error| Unanswered::BadQuestion(error.into()))?;
                let tools = params.tools.is_some() || params.tool_choice.is_some();
                let allowed = self.sample.as_ref().filter(|_| !tools || self.samples_with_tools);
                let builder = if tools { "on_sample_with_tools" } else { "on_sample" };
                (allowed.map(|Handler(ask)| ask(params, context, revision)), builder)
            }
            OwnedInputKind::Roots => (self.roots.as_ref().map(|Handler(ask)| ask((), context, revision)), "on_roots"),
            OwnedInputKind::Namespaced(request) => match self.inputs.get(request.method.as_str()) {
                Some(Handler(ask)) => (Some(ask(request.params.unwrap_or_default(), context, revision)), "on_input"),
                None => return Err(Unanswered::Unknown),
            },
            OwnedInputKind::Unknown(_) => return Err(Unanswered::Unknown),
        };
        match answering {
            Some(Answering(answering)) => answering.await,
            None => Err(Unanswered::NoHandler(builder)),
        }
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Handlers").field(&self.capabilities()).finish()
    }
}
