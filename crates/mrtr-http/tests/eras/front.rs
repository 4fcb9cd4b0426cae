//! A proxy before our own server: it notes what comes, refuses what a legacy server would not understand, and cuts
//! streams off.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use http_body_util::BodyExt;
use mrtr_client::Client;
use mrtr_http::{Endpoint, HttpTransport};
use mrtr_server::Server;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::tracker::answering;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) verb: String,
    pub(crate) message: Value,
    pub(crate) session: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) last_event: Option<String>,
}

impl Seen {
    /// A word for this request: the method, the verb, or that it answers.
    pub(crate) fn kind(&self) -> String {
        match (&*self.verb, self.message["method"].as_str()) {
            ("POST", Some(method)) => method.to_owned(),
            ("POST", None) => "answer".to_owned(),
            (verb, _) => verb.to_owned(),
        }
    }
}

/// A status, a media type and a body for requests of the modern era; `$ID` in it is the id of the request.
pub(crate) type Refusal = (u16, &'static str, &'static str);

#[derive(Clone)]
pub(crate) struct Front(Arc<Inner>);

struct Inner {
    endpoint: RwLock<Endpoint>,
    refusal: Mutex<Option<Refusal>>,
    seen: Mutex<Vec<Seen>>,
    /// The number of streams to cut off behind their first question.
    cuts: AtomicUsize,
    address: SocketAddr,
}

impl Front {
    pub(crate) async fn start(server: Server, refusal: Option<Refusal>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let front = Self(Arc::new(Inner {
            endpoint: RwLock::new(Endpoint::anonymous(server)),
            refusal: Mutex::new(refusal),
            seen: Mutex::default(),
            cuts: AtomicUsize::new(0),
            address: listener.local_addr().unwrap(),
        }));
        let app = Router::new().fallback(pass).with_state(front.clone());
        tokio::spawn(async { axum::serve(listener, app).await });
        front
    }

    /// Puts another server in the place of the one behind the proxy.
    pub(crate) fn replace(&self, server: Server, refusal: Option<Refusal>) {
        *self.0.endpoint.write().unwrap() = Endpoint::anonymous(server);
        *self.0.refusal.lock().unwrap() = refusal;
    }

    pub(crate) fn cut_streams(&self, times: usize) {
        self.0.cuts.store(times, Ordering::SeqCst);
    }

    pub(crate) fn transport(&self) -> HttpTransport {
        HttpTransport::new(&format!("http://{}/mcp", self.0.address)).unwrap()
    }

    /// A client that answers everything.
    pub(crate) fn client(&self) -> Client {
        answering(Client::builder(self.transport())).build()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.0.seen.lock().unwrap().clone()
    }

    pub(crate) fn kinds(&self) -> Vec<String> {
        self.seen().iter().map(Seen::kind).collect()
    }

    pub(crate) fn count(&self, kind: &str) -> usize {
        self.kinds().iter().filter(|seen| *seen == kind).count()
    }

    fn refuse(&self, message: &Value) -> Option<Response> {
        message["params"]["_meta"].get("io.modelcontextprotocol/protocolVersion")?;
        let (status, media_type, body) = (*self.0.refusal.lock().unwrap())?;
        let body = body.replace("$ID", &message["id"].to_string());
        let response = Response::builder().status(status).header("content-type", media_type);
        Some(response.body(Body::from(body)).unwrap())
    }

    fn cuts_this(&self, kind: &str) -> bool {
        kind == "tools/call"
            && self.0.cuts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |cuts| cuts.checked_sub(1)).is_ok()
    }
}

async fn pass(State(front): State<Front>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap();
    let header = |name: &str| head.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let seen = Seen {
        verb: head.method.to_string(),
        message: serde_json::from_slice(&body).unwrap_or_default(),
        session: header("mcp-session-id"),
        version: header("mcp-protocol-version"),
        last_event: header("last-event-id"),
    };
    front.0.seen.lock().unwrap().push(seen.clone());
    if let Some(refused) = front.refuse(&seen.message) {
        return refused;
    }
    let endpoint = front.0.endpoint.read().unwrap().clone();
    let response = endpoint.respond(http::Request::from_parts(head, http_body_util::Full::new(body))).await;
    let (head, mut body) = response.into_parts();
    let is_stream = head.headers.get("content-type").is_some_and(|media| media == "text/event-stream");
    if !is_stream || !front.cuts_this(&seen.kind()) {
        return Response::from_parts(head, Body::new(body));
    }
    // It breaks off behind the first question.
    let mut begun = Vec::new();
    while !String::from_utf8_lossy(&begun).contains("elicitation/create") {
        begun.extend_from_slice(&body.frame().await.unwrap().unwrap().into_data().unwrap());
    }
    Response::from_parts(head, Body::from(begun))
}
