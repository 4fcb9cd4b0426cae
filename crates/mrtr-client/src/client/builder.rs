//! The builder of a client: its settings before it begins.

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64};
use std::sync::{Arc, Mutex};

use mrtr_schema::roots::Root;
use mrtr_schema::sampling::{CreateMessageParams, CreateMessageResult};
use mrtr_schema::{Era, Implementation, LoggingLevel, NamespacedInput, Revision};

use super::cache::Cache;
use super::era::Mode;
use super::event_queues::EventQueues;
use super::message::DeclaredMeta;
use super::{Client, Inner};
use crate::handlers::{FormRequest, Handlers, IntoAnswer, IntoElicitResult, QuestionContext, UrlRequest};
use crate::{Limits, Transport};

/// The builder of a client: its settings before it begins.
///
/// ```
/// use std::io;
/// use mrtr_client::testing::Script;
/// use mrtr_client::{Client, Limits};
/// use mrtr_schema::LoggingLevel;
/// use mrtr_schema::content::{Role, TextContent};
/// use mrtr_schema::roots::Root;
/// use mrtr_schema::sampling::{CreateMessageResult, SamplingContent};
///
/// let client = Client::builder(Script::new())
///     .info("my-agent", "1.0.0")
///     .limits(Limits { rounds: 20, ..Limits::default() })
///     .log_level(LoggingLevel::Warning)
///     .on_elicit(|form| async move { form.decline() })
///     .on_url(|request| async move { request.decline() })
///     .on_sample(|_params, _context| async {
///         let said = SamplingContent::Text(TextContent::new("Paris"));
///         Ok::<_, io::Error>(CreateMessageResult::new(Role::Assistant, said, "a-model"))
///     })
///     .on_roots(|_context| async { Ok::<_, io::Error>(vec![Root::new("file:///src")]) })
///     .build();
/// assert!(client.capabilities().samples() && !client.capabilities().samples_with_tools());
/// ```
#[must_use]
pub struct Builder {
    transport: Arc<dyn Transport>,
    info: Implementation,
    revision: Option<Revision>,
    handlers: Handlers,
    limits: Limits,
    log_level: Option<LoggingLevel>,
    tracer: Option<Tracer>,
}

/// The place of a call in a trace, as W3C writes it.
///
/// ```
/// use mrtr_client::testing::Script;
/// use mrtr_client::{Client, TraceContext};
///
/// let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"; // ask your tracer
/// let client = Client::builder(Script::new())
///     .trace_context(move || TraceContext { traceparent: Some(parent.to_owned()), ..TraceContext::default() })
///     .build();
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "W3C has these three")]
pub struct TraceContext {
    /// `traceparent`.
    pub traceparent: Option<String>,
    /// `tracestate`.
    pub tracestate: Option<String>,
    /// `baggage`.
    pub baggage: Option<String>,
}

/// Says where a call stands in a trace.
pub(super) struct Tracer(pub(super) Box<dyn Fn() -> TraceContext + Send + Sync>);

impl Builder {
    pub(super) fn new(transport: Arc<dyn Transport>) -> Self {
        Self {
            transport,
            info: Implementation::new("mrtr", env!("CARGO_PKG_VERSION")),
            revision: None,
            handlers: Handlers::default(),
            limits: Limits::default(),
            log_level: None,
            tracer: None,
        }
    }

    /// Sets the name and the version that this client tells servers.
    pub fn info(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.info = Implementation::new(name, version);
        self
    }

    /// Makes the client speak this revision, and its era alone. Without it, the client finds out which era the server
    /// speaks: it begins with the newest revision, and falls back to a session if the server is of the legacy era.
    ///
    /// Within the era, the client may agree with the server on another revision.
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_client::testing::Script;
    /// use mrtr_schema::Revision;
    ///
    /// let client = Client::builder(Script::new()).revision(Revision::Sep2322).build();
    /// assert_eq!(client.revision(), Revision::Sep2322);
    /// ```
    pub fn revision(mut self, revision: Revision) -> Self {
        self.revision = Some(revision);
        self
    }

    /// Sets the limits: how far a call may go before the client gives it back.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Asks servers for log messages of this level and above.
    pub fn log_level(mut self, level: LoggingLevel) -> Self {
        self.log_level = Some(level);
        self
    }

    /// Tells servers where each call stands in a trace.
    pub fn trace_context(mut self, current: impl Fn() -> TraceContext + Send + Sync + 'static) -> Self {
        self.tracer = Some(Tracer(Box::new(current)));
        self
    }

    /// Sets the handler that fills in forms.
    ///
    /// An error means that no person was asked; a person who said no is a decline.
    pub fn on_elicit<F, T, A>(mut self, handler: F) -> Self
    where
        F: Fn(FormRequest) -> T + Send + Sync + 'static,
        T: Future<Output = A> + Send + 'static,
        A: IntoElicitResult + 'static,
    {
        self.handlers.on_form(handler);
        self
    }

    /// Sets the handler that shows URLs, and opens them if the person agrees.
    ///
    /// It gets URLs that a person may be offered to open: `https`, or `http` on this machine. If a server asks for
    /// another, the handler is not called, and the call ends with
    /// [`CallErrorKind::BadQuestion`](crate::CallErrorKind::BadQuestion).
    pub fn on_url<F, T, A>(mut self, handler: F) -> Self
    where
        F: Fn(UrlRequest) -> T + Send + Sync + 'static,
        T: Future<Output = A> + Send + 'static,
        A: IntoElicitResult + 'static,
    {
        self.handlers.on_url(handler);
        self
    }

    /// Hands every URL to the handler of [`on_url`](Self::on_url), whatever its scheme and host. It is dangerous: a server
    /// may send a `javascript:` or `file:` URL, or a page that others can change on the way, and the handler has to refuse
    /// what it does not know. This is for hosts that open URLs of a scheme of their own.
    ///
    /// ```
    /// use mrtr_client::testing::Script;
    /// use mrtr_client::Client;
    ///
    /// let client = Client::builder(Script::new())
    ///     .danger_accept_any_url()
    ///     .on_url(|request| async move {
    ///         let is_ours = request.url().starts_with("acme-login:");
    ///         if is_ours || request.check().is_ok() { request.consent() } else { request.decline() }
    ///     })
    ///     .build();
    /// ```
    pub fn danger_accept_any_url(mut self) -> Self {
        self.handlers.takes_any_url = true;
        self
    }

    /// Asks the person on the terminal of this process to fill in forms and to agree to URLs: see
    /// [`terminal`](crate::terminal).
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_client::testing::Script;
    ///
    /// let client = Client::builder(Script::new()).terminal().build();
    /// assert!(client.capabilities().elicits_forms() && client.capabilities().elicits_urls());
    /// ```
    #[cfg(feature = "terminal")]
    pub fn terminal(self) -> Self {
        self.on_elicit(crate::terminal::ask).on_url(crate::terminal::visit)
    }

    /// Sets the handler that asks a model. The model is never offered tools.
    pub fn on_sample<F, T, A>(mut self, handler: F) -> Self
    where
        F: Fn(CreateMessageParams, QuestionContext) -> T + Send + Sync + 'static,
        T: Future<Output = A> + Send + 'static,
        A: IntoAnswer<CreateMessageResult> + 'static,
    {
        self.handlers.on_sample(handler, false);
        self
    }

    /// Sets the handler that asks a model, and declares that servers may offer tools to it.
    pub fn on_sample_with_tools<F, T, A>(mut self, handler: F) -> Self
    where
        F: Fn(CreateMessageParams, QuestionContext) -> T + Send + Sync + 'static,
        T: Future<Output = A> + Send + 'static,
        A: IntoAnswer<CreateMessageResult> + 'static,
    {
        self.handlers.on_sample(handler, true);
        self
    }

    /// Sets the handler that lists the roots.
    pub fn on_roots<F, T, A>(mut self, handler: F) -> Self
    where
        F: Fn(QuestionContext) -> T + Send + Sync + 'static,
        T: Future<Output = A> + Send + 'static,
        A: IntoAnswer<Vec<Root>> + 'static,
    {
        self.handlers.on_roots(handler);
        self
    }

    /// Sets the handler that answers an input of an application's own.
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_client::testing::Script;
    /// use mrtr_schema::{Method, NamespacedInput};
    /// use schemars::JsonSchema;
    /// use serde::{Deserialize, Serialize};
    ///
    /// struct Approval;
    ///
    /// #[derive(Serialize, Deserialize, JsonSchema)]
    /// struct Pending { approver: String }
    ///
    /// #[derive(Serialize, Deserialize, JsonSchema)]
    /// struct Decision { approved: bool }
    ///
    /// impl NamespacedInput for Approval {
    ///     const METHOD: Method = Method::from_static("com.example/approval");
    ///     type Params = Pending;
    ///     type Response = Decision;
    /// }
    ///
    /// let client = Client::builder(Script::new())
    ///     .on_input::<Approval, _, _, _>(|pending: Pending, _context| async move {
    ///         Ok::<_, std::io::Error>(Decision { approved: pending.approver == "Ada" })
    ///     })
    ///     .build();
    /// assert!(client.capabilities().knows(&Approval::METHOD));
    /// ```
    pub fn on_input<I, F, T, A>(mut self, handler: F) -> Self
    where
        I: NamespacedInput + 'static,
        I::Params: Send,
        I::Response: Send,
        F: Fn(I::Params, QuestionContext) -> T + Send + Sync + 'static,
        T: Future<Output = A> + Send + 'static,
        A: IntoAnswer<I::Response> + 'static,
    {
        self.handlers.on_input::<I, F, T, A>(handler);
        self
    }

    /// Builds the client.
    ///
    /// # Panics
    ///
    /// Panics if the operating system has no randomness to give, or if [`revision`](Self::revision) set one of the
    /// legacy era and the transport carries no sessions.
    pub fn build(self) -> Client {
        let mode = self.mode();
        let revision = self.revision.filter(|revision| revision.era() == Era::Modern).unwrap_or_default();
        let id_prefix = getrandom::u64().expect("the operating system has randomness to give");
        Client(Arc::new(Inner {
            server: self.transport.identity().into(),
            server_name: self.transport.server().into(),
            transport: self.transport,
            info: self.info,
            mode,
            revision: AtomicU8::new(revision.number()),
            session: Mutex::default(),
            settling: tokio::sync::Mutex::default(),
            capabilities: self.handlers.capabilities(),
            declared: DeclaredMeta::default(),
            handlers: self.handlers,
            limits: self.limits,
            log_level: self.log_level,
            tracer: self.tracer,
            id_prefix: format!("{id_prefix:016x}"),
            sent: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            event_queues: EventQueues::new(self.limits.event_bytes),
            cache: Cache::new(self.limits.cache_bytes),
        }))
    }

    /// The eras that the client speaks.
    fn mode(&self) -> Mode {
        match (self.revision.map(|revision| (revision, revision.era())), self.transport.era()) {
            (Some((revision, Era::Legacy)), memory) => {
                assert!(memory.is_some(), "{revision} needs a session, and this transport carries none");
                Mode::Legacy(revision)
            }
            (None, Some(memory)) => Mode::Either(memory.clone()),
            (Some((_, Era::Modern)), _) | (None, None) => Mode::Modern,
        }
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("transport", &self.transport).finish_non_exhaustive()
    }
}
