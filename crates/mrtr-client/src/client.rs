//! A client: it drives calls over a transport, and has questions answered by its handlers.

mod builder;
mod cache;
mod drive;
mod methods;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_core::Stream;
use futures_util::stream;
use mrtr_schema::{ClientCapabilities, Implementation, Revision};
use tokio::sync::broadcast;

pub use builder::{Builder, TraceContext};
pub use drive::Round;

use crate::handlers::Handlers;
use crate::{CallEvent, Limits, Transport};
use builder::Tracer;
use cache::Cache;

/// A client of one server. Cheap to clone; clones are the same client.
///
/// ```
/// use mrtr_client::{Client, FormRequest};
/// use serde_json::json;
/// # use mrtr_client::{Exchange, Notified, Transport, TransportError};
/// # #[derive(Debug)] struct HttpTransport;
/// # impl HttpTransport { fn new(_: &str) -> Result<Self, TransportError> { Ok(Self) } }
/// # #[async_trait::async_trait]
/// # impl Transport for HttpTransport {
/// #     fn server(&self) -> &str { "http://localhost:8000/mcp" }
/// #     async fn exchange(
/// #         &self, request: Exchange<'_>, _: &mut (dyn FnMut(Notified) + Send),
/// #     ) -> Result<String, TransportError> {
/// #         let result = if request.message.contains("inputResponses") {
/// #             json!({ "resultType": "complete", "content": [{ "type": "text", "text": "Bug #4522 resolved" }] })
/// #         } else {
/// #             json!({ "resultType": "input_required", "inputRequests": { "resolution": {
/// #                 "method": "elicitation/create", "params": { "mode": "form", "message": "How?",
/// #                     "requestedSchema": { "type": "object", "properties": { "how": { "type": "string" } } } } } } })
/// #         };
/// #         Ok(json!({ "jsonrpc": "2.0", "id": request.id, "result": result }).to_string())
/// #     }
/// # }
/// # async fn ask_the_user(form: FormRequest) -> mrtr_schema::ElicitResult { form.accept(&json!({ "how": "x" })).unwrap() }
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
    server: Arc<str>,
    info: Implementation,
    revision: Revision,
    capabilities: ClientCapabilities,
    handlers: Handlers,
    limits: Limits,
    log_level: Option<mrtr_schema::LoggingLevel>,
    tracer: Option<Tracer>,
    /// What ids of this client begin with: another process that goes on with a call has others.
    session: String,
    sent: AtomicU64,
    calls: AtomicU64,
    events: broadcast::Sender<CallEvent>,
    cache: Cache,
}

impl Client {
    /// Begins a client over this transport.
    pub fn builder(transport: impl Transport) -> Builder {
        Builder::new(Arc::new(transport))
    }

    /// What happens during this client's calls, from now on. Whoever is too slow misses some.
    pub fn events(&self) -> impl Stream<Item = CallEvent> + Send + Unpin + use<> {
        let events = self.0.events.subscribe();
        Box::pin(stream::unfold(events, |mut events| async {
            loop {
                match events.recv().await {
                    Ok(event) => return Some((event, events)),
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return None,
                }
            }
        }))
    }

    /// What this client declares: what it has handlers for.
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.0.capabilities
    }

    fn next_id(&self) -> String {
        format!("{}-{}", self.0.session, self.0.sent.fetch_add(1, Ordering::Relaxed) + 1)
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
