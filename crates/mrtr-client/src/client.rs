//! A client: it drives calls over a transport, and its handlers answer questions.

mod builder;
mod cache;
mod converse;
mod drive;
mod era;
mod event_queues;
mod evidence;
mod exchange;
mod lists;
mod message;
mod methods;
mod open_questions;
mod resume;
mod session;

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use mrtr_schema::{ClientCapabilities, Era, Implementation, Revision};

pub use builder::{Builder, TraceContext};
pub use event_queues::Events;
pub use methods::CancelOutcome;
pub use resume::RoundOutcome;

use crate::handlers::Handlers;
use crate::{Limits, ServerNotification, Transport};
use builder::Tracer;
use cache::Cache;
use era::Mode;
use event_queues::EventQueues;
use message::DeclaredMeta;
use session::Session;

/// A client of one server. Cheap to clone; clones are the same client.
///
/// ```
/// use mrtr_client::{Client, FormRequest};
/// use serde_json::json;
/// # use mrtr_client::testing::Script;
/// # struct HttpTransport;
/// # impl HttpTransport {
/// #     fn new(_: &str) -> Result<Script, mrtr_client::TransportError> {
/// #         let form = json!({ "type": "object", "properties": { "how": { "type": "string" } } });
/// #         Ok(Script::new()
/// #             .result(json!({ "resultType": "input_required", "inputRequests": { "resolution": {
/// #                 "method": "elicitation/create", "params": { "message": "How?", "requestedSchema": form } } } }))
/// #             .result(json!({ "resultType": "complete", "content": [{ "type": "text", "text": "resolved" }] })))
/// #     }
/// # }
/// # async fn ask_the_user(form: FormRequest) -> mrtr_schema::elicitation::ElicitResult { form.accept(&json!({ "how": "x" })).unwrap() }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::builder(HttpTransport::new("http://localhost:8000/mcp")?)
///     .on_elicit(|form| async move { ask_the_user(form).await })
///     .build();
/// let result = client.call_tool("update_work_item", json!({ "workItemId": 4522, "fields": {} })).await?;
/// # assert_eq!(result.content.len(), 1);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    transport: Arc<dyn Transport>,
    /// The identity of the server in saved calls.
    server: Arc<str>,
    /// The name of the server for a person who is asked on its behalf.
    server_name: Arc<str>,
    info: Implementation,
    mode: Mode,
    /// The number of a revision of the modern era: the one that the client was built with, or that the server turned
    /// out to have.
    revision: AtomicU8,
    /// The session that new calls belong to, if the server speaks the legacy era.
    session: Mutex<Option<Arc<Session>>>,
    /// A lock that the client holds while it finds out the server's era, or begins a session.
    settling: tokio::sync::Mutex<()>,
    capabilities: ClientCapabilities,
    declared: DeclaredMeta,
    handlers: Handlers,
    limits: Limits,
    log_level: Option<mrtr_schema::LoggingLevel>,
    tracer: Option<Tracer>,
    /// The beginning of this client's request ids: another process that resumes a call has another one.
    id_prefix: String,
    sent: AtomicU64,
    calls: AtomicU64,
    event_queues: EventQueues,
    cache: Cache,
}

impl Client {
    /// Returns a builder of a client over this transport.
    pub fn builder(transport: impl Transport) -> Builder {
        Builder::new(Arc::new(transport))
    }

    /// Returns the events of this client's calls, from now on; [`Events`] has an example. A reader that is too slow
    /// misses some: 1024 events may wait, and as much as [`Limits::event_bytes`].
    pub fn events(&self) -> Events {
        self.0.event_queues.reader()
    }

    /// The server that this client talks to, as its saved calls and tasks name it: see
    /// [`Transport::identity`](crate::Transport::identity).
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_client::testing::Script;
    ///
    /// assert_eq!(Client::builder(Script::new()).build().server(), "a script");
    /// ```
    pub fn server(&self) -> &str {
        &self.0.server
    }

    /// Returns the capabilities that this client declares: those that it has handlers for, and tasks.
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_client::testing::Script;
    ///
    /// let client = Client::builder(Script::new()).on_elicit(|form| async move { form.decline() }).build();
    /// assert!(client.capabilities().elicits_forms());
    /// assert!(!client.capabilities().elicits_urls());
    /// assert!(!client.capabilities().samples());
    /// ```
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.0.capabilities
    }

    /// The revision of new calls: the one that the client was built with, or another that the server turned out to
    /// have. In a session of the legacy era, it is that of the session.
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_client::testing::Script;
    /// use mrtr_schema::Revision;
    ///
    /// assert_eq!(Client::builder(Script::new()).build().revision(), Revision::V2026_07_28);
    /// ```
    pub fn revision(&self) -> Revision {
        match (&self.0.mode, self.era()) {
            (Mode::Legacy(asked), _) => self.current_session().map_or(*asked, |session| session.revision),
            (Mode::Either(_), Some(Era::Legacy)) => {
                self.current_session().map_or(crate::transport::NEWEST_LEGACY, |session| session.revision)
            }
            _ => self.modern_revision(),
        }
    }

    /// The era of new calls, once it is known: the one that the server has shown, or that the client was built for.
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_client::testing::Script;
    /// use mrtr_schema::Era;
    ///
    /// let client = Client::builder(Script::new()).build();
    /// assert_eq!(client.era(), Some(Era::Modern), "a script carries no sessions");
    /// ```
    pub fn era(&self) -> Option<Era> {
        match &self.0.mode {
            Mode::Modern => Some(Era::Modern),
            Mode::Legacy(_) => Some(Era::Legacy),
            Mode::Either(memory) => memory.era(),
        }
    }

    /// The revision of calls of the modern era.
    fn modern_revision(&self) -> Revision {
        Revision::from_number(self.0.revision.load(Ordering::Relaxed)).unwrap_or_default()
    }

    /// Makes new calls of the modern era in another revision.
    fn set_revision(&self, revision: Revision) {
        if revision.era() == Era::Modern {
            self.0.revision.store(revision.number(), Ordering::Relaxed);
        }
    }

    /// Clears the cache if the server says that something has changed: the kept results may be wrong then.
    fn invalidate_cache(&self, notification: &ServerNotification) {
        let method = notification.method.as_str();
        if method.ends_with("/list_changed") || method == "notifications/resources/updated" {
            self.0.cache.clear();
        }
    }

    fn next_id(&self) -> String {
        format!("{}-{}", self.0.id_prefix, self.0.sent.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn next_call(&self) -> u64 {
        self.0.calls.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("transport", &self.0.transport).finish_non_exhaustive()
    }
}
