//! A transport to a server through an rmcp client: our loop asks, retries and saves, and rmcp carries each request,
//! with every number as it was.

use std::fmt;

use async_trait::async_trait;
use mrtr_client::{ServerMessage, Transport, TransportError, TransportFailure, TransportRequest, TransportResponse};
use mrtr_schema::{Feature, Number, RawMembers, ReadError, RequestId};
use rmcp::model::{ClientRequest, CustomRequest, RequestMetaObject, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, ServiceError};
use rmcp::{ErrorData, RoleClient};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::runtime::Handle;

/// A transport to a server through an rmcp client.
///
/// Requests go through rmcp as they are, and rmcp's own retries see none of them. If rmcp has discovered the server,
/// each request says what our client can do. In a session that rmcp has initialized there are no retries: the server
/// asks while the call is open, and rmcp's `ClientHandler` answers. In either case rmcp gives the notifications before
/// a response, such as progress, to that handler and not to our client.
///
/// rmcp keeps numbers as integers and floats of 64 bits. The transport does not send a request with a number that would
/// lose its value that way, or that would stop being an integer, such as 100000000000000000000. The call fails with an
/// error that names the number.
///
/// ```
/// use mrtr_client::Client;
/// use mrtr_rmcp::{Flows, RmcpTransport};
/// use mrtr_server::{Failure, Flow, Tool};
/// use rmcp::model::ProtocolVersion;
/// use rmcp::service::{ClientLifecycleMode, ClientServiceExt};
/// use rmcp::ServiceExt;
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (ours, theirs) = tokio::io::duplex(4096);
/// let greet = Tool::new("greet", async |_: Flow| Ok::<_, Failure>("Hello"));
/// let server = Flows::of_tool(greet)?;
/// tokio::spawn(async { server.serve(theirs).await.unwrap().waiting().await });
///
/// let discover = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
/// let rmcp = ().serve_with_lifecycle(ours, discover).await?;
/// let client = Client::builder(RmcpTransport::new("greeter", rmcp.peer().clone())).build();
/// assert_eq!(client.call_tool("greet", json!({})).await?.text(), "Hello");
/// # Ok(()) }
/// ```
pub struct RmcpTransport {
    server: String,
    peer: Peer<RoleClient>,
}

impl RmcpTransport {
    /// Creates a transport through this peer to the server of this name: its URL, or the command that starts it.
    ///
    /// A [`PendingCall`](mrtr_client::PendingCall) continues only at the server of its name. The name that a server
    /// gives itself is not enough: another server can give the same one.
    pub fn new(server: impl Into<String>, peer: Peer<RoleClient>) -> Self {
        Self { server: server.into(), peer }
    }

    /// Returns true if rmcp has a session with the server, in which requests do not say their version.
    fn is_session(&self) -> bool {
        self.peer.peer_info().is_some_and(|info| info.protocol_version.has_initialize())
    }
}

#[async_trait]
impl Transport for RmcpTransport {
    fn server(&self) -> &str {
        &self.server
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        _: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        // rmcp sends version, client and capabilities with each request, and nothing of them in an older way.
        if !request.revision.has(Feature::RequestMetadata) {
            return Err(TransportError::new(format!("rmcp does not speak {}", request.revision)));
        }
        let (sent, options) = outgoing(&request, self.is_session())?;
        let handle = self.peer.send_request_with_option(sent, options).await.map_err(failure)?;
        let answer = Waiting(Some(handle)).answer().await;
        let text = response(request.id, answer)?;
        if text.len() > request.reply_bytes {
            return Err(TransportError::new(format!("the reply is longer than {} bytes", request.reply_bytes)));
        }
        Ok(TransportResponse::new(text))
    }
}

impl fmt::Debug for RmcpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RmcpTransport").field("server", &self.server).finish_non_exhaustive()
    }
}

/// Creates a request as rmcp sends one whose method it does not look at. The metadata of our client replaces that of
/// rmcp's own.
fn outgoing(
    request: &TransportRequest<'_>,
    is_session: bool,
) -> Result<(ClientRequest, PeerRequestOptions), TransportError> {
    let message = RawMembers::parse(request.message).map_err(TransportError::new)?;
    let params = message.get("params").map(exact_value).transpose().map_err(TransportError::new)?;
    let mut params = params.unwrap_or_else(|| json!({}));
    let meta = params.as_object_mut().and_then(|params| params.remove("_meta"));
    let mut meta = meta.and_then(|meta| serde_json::from_value::<RequestMetaObject>(meta).ok()).unwrap_or_default();
    if is_session {
        meta.0.retain(|key, _| !OF_EACH_REQUEST.contains(&key.as_str()));
    }
    let sent = CustomRequest::new(request.method, Some(params));
    Ok((ClientRequest::CustomRequest(sent), PeerRequestOptions::no_options().with_meta(meta)))
}

/// The metadata of requests that only the modern era has.
const OF_EACH_REQUEST: [&str; 3] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
];

/// A request that waits for its answer. If this is dropped before the answer comes, the server is told that it is not
/// wanted.
struct Waiting(Option<RequestHandle<RoleClient>>);

impl Waiting {
    async fn answer(mut self) -> Result<ServerResult, ServiceError> {
        let Some(handle) = &mut self.0 else { return Err(ServiceError::UnexpectedResponse) };
        let answer = (&mut handle.rx).await;
        self.0 = None;
        answer.unwrap_or(Err(ServiceError::TransportClosed))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let (Some(handle), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            // If the server is gone, it is not told.
            runtime.spawn(async { handle.cancel(None).await.ok() });
        }
    }
}

/// Returns the answer as the message that it was, under the id of our request.
fn response(id: &RequestId, answer: Result<ServerResult, ServiceError>) -> Result<String, TransportError> {
    let (member, value) = match answer {
        Ok(result) => ("result", serde_json::to_value(&result)),
        Err(ServiceError::McpError(error)) => ("error", serde_json::to_value::<ErrorData>(error)),
        Err(error) => return Err(failure(error)),
    };
    let mut message = json!({ "jsonrpc": "2.0", "id": id });
    message[member] = value.map_err(TransportError::new)?;
    Ok(message.to_string())
}

fn failure(error: ServiceError) -> TransportError {
    let failure = match &error {
        ServiceError::TransportClosed => TransportFailure::Unreachable,
        ServiceError::Timeout { .. } => TransportFailure::TimedOut,
        _ => TransportFailure::Other,
    };
    TransportError::of(failure, error)
}

/// The reason why parameters cannot go through rmcp.
#[derive(Debug)]
enum Inexact {
    /// rmcp's types would change this number.
    Number(String),
    /// A key stands twice in an object, of which rmcp would send only the last, or the parameters are not JSON at all.
    Read(ReadError),
    Deep,
}

/// Reads JSON as rmcp's requests hold it. `serde_json` would round numbers in it without an error.
fn exact_value(raw: &RawValue) -> Result<Value, Inexact> {
    nested(raw, MAX_DEPTH)
}

fn nested(raw: &RawValue, depth: usize) -> Result<Value, Inexact> {
    let depth = depth.checked_sub(1).ok_or(Inexact::Deep)?;
    match raw.get().as_bytes().first() {
        Some(b'{') => {
            let members = RawMembers::of(raw).map_err(Inexact::Read)?;
            members.iter().map(|(key, raw)| Ok((key.to_owned(), nested(raw, depth)?))).collect()
        }
        Some(b'[') => {
            let elements: Vec<&RawValue> = serde_json::from_str(raw.get()).map_err(unread)?;
            elements.into_iter().map(|raw| nested(raw, depth)).collect()
        }
        Some(b'-' | b'0'..=b'9') => number(raw.get()).ok_or_else(|| Inexact::Number(raw.get().to_owned())),
        _ => serde_json::from_str(raw.get()).map_err(unread),
    }
}

/// Returns the number in rmcp's form, if it keeps its value there and an integer is still written as one.
fn number(text: &str) -> Option<Value> {
    if !text.contains(['.', 'e', 'E']) {
        return text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<u64>().map(Value::from)).ok();
    }
    // The standard library reads it, since `serde_json` may miss the nearest number.
    let nearest = serde_json::Number::from_f64(text.parse().ok()?)?;
    let is_same = Number::parse(&nearest.to_string()).ok()? == Number::parse(text).ok()?;
    is_same.then(|| nearest.into())
}

fn unread(error: serde_json::Error) -> Inexact {
    Inexact::Read(error.into())
}

impl fmt::Display for Inexact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(
                f,
                "rmcp cannot send the number {number} without changing it, since it keeps integers and floats of 64 bits: \
                 send it as a string, or call through a transport of mrtr's own"
            ),
            Self::Read(error) => write!(f, "rmcp cannot send the parameters as they are: {error}"),
            Self::Deep => write!(f, "rmcp cannot send parameters that are nested more than {MAX_DEPTH} deep"),
        }
    }
}

impl std::error::Error for Inexact {}

/// The deepest nesting that `serde_json` reads, with which rmcp reads at the other end.
const MAX_DEPTH: usize = 127;
