//! Sessions of rmcp's HTTP service behind the layer: another caller neither answers, cancels, reads nor ends in them.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use mrtr_rmcp::{Flows, SessionOwners};
use mrtr_server::{Caller, Failure, Flow, Sealer, Server, Tool};
use mrtr_state::{Key, KeyRing};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{SessionState, SessionStore, SessionStoreError};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::callers::by_header;
use crate::log::Log;
use crate::person::{Person, call, text};
use crate::sites::{Lifecycle, PATIENCE, Way, connect, serve, visit};

#[derive(Deserialize, JsonSchema)]
struct Word {
    word: String,
}

async fn whoami(flow: Flow) -> Result<String, Failure> {
    let Word { word } = flow.elicit("word", "A word?").await?;
    Ok(format!("{} says {word}", flow.principal().map_or("a stranger", Caller::subject)))
}

fn flows() -> Flows {
    let sealer = Sealer::new(KeyRing::new(Key::new("test", [7; 32]).expect("it is long enough")), "gate");
    let server = Server::builder("gate", "1.0.0")
        .sealer(sealer.expect("it has an audience"))
        .tool(Tool::new("whoami", whoami))
        .build();
    Flows::new(server.expect("it is well made"))
}

/// Serves behind the layer, as an application does.
async fn serve_owned(flows: Flows) -> SocketAddr {
    let owners = flows.session_owners();
    serve_behind(owners, flows).await
}

async fn serve_behind(owners: SessionOwners, flows: Flows) -> SocketAddr {
    serve_as(owners, flows, StreamableHttpServerConfig::default()).await
}

async fn serve_as(owners: SessionOwners, flows: Flows, config: StreamableHttpServerConfig) -> SocketAddr {
    let sessions = Arc::<LocalSessionManager>::default();
    let service = StreamableHttpService::new(move || Ok(flows.clone()), sessions, config);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
    let address = listener.local_addr().expect("it is bound");
    let app = Router::new().nest_service("/mcp", service).layer(owners);
    tokio::spawn(axum::serve(listener, app).into_future());
    address
}

/// A client of the legacy era by hand, which shows any session's id.
#[derive(Clone, Copy)]
struct Hand {
    address: SocketAddr,
    token: Option<&'static str>,
}

impl Hand {
    fn request(self, method: Method, session: Option<&str>) -> RequestBuilder {
        let mut request = reqwest::Client::new()
            .request(method, format!("http://{}/mcp", self.address))
            .header("accept", "application/json, text/event-stream");
        if let Some(token) = self.token {
            request = request.bearer_auth(token);
        }
        match session {
            Some(session) => request.header("mcp-session-id", session),
            None => request,
        }
    }

    async fn post(self, session: Option<&str>, message: &Value) -> Response {
        let request = self.request(Method::POST, session).header("content-type", "application/json");
        request.body(message.to_string()).send().await.expect("it is sent")
    }

    /// Opens a session, and returns the id that the client is to send.
    async fn open(self) -> String {
        let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "by hand", "version": "1" } } });
        let opened = self.post(None, &initialize).await;
        let session = opened.headers()["mcp-session-id"].to_str().expect("it is text").to_owned();
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.post(Some(&session), &initialized).await.status(), StatusCode::ACCEPTED);
        session
    }

    /// Returns every way to act in a session that has the call 1 with the question of this id.
    fn attempts(self, session: &str, question: &Value) -> Vec<(&'static str, RequestBuilder)> {
        let post = |message: Value| {
            let request = self.request(Method::POST, Some(session)).header("content-type", "application/json");
            request.body(message.to_string())
        };
        let get = || self.request(Method::GET, Some(session));
        vec![
            ("answer", post(answer(question, "mine"))),
            ("refuse", post(json!({ "jsonrpc": "2.0", "id": question, "error": { "code": -1, "message": "no" } }))),
            (
                "cancel",
                post(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } })),
            ),
            ("call", post(call_of("whoami", 2))),
            ("listen", get()),
            ("resume", get().header("last-event-id", "0/0")),
            ("end", self.request(Method::DELETE, Some(session))),
        ]
    }
}

fn call_of(tool: &str, id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool } })
}

fn answer(question: &Value, word: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": question, "result": { "action": "accept", "content": { "word": word } } })
}

/// Reads a stream of events up to the first message for which this condition holds.
async fn read(stream: &mut Response, wanted: impl Fn(&Value) -> bool) -> Value {
    let mut said = String::new();
    let reading = async {
        loop {
            let messages = said.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?).ok());
            if let Some(message) = messages.into_iter().find(|message| wanted(message)) {
                return message;
            }
            let chunk = stream.chunk().await.expect("it comes").unwrap_or_else(|| panic!("it ended: {said}"));
            said.push_str(&String::from_utf8_lossy(&chunk));
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("in time")
}

#[tokio::test]
async fn another_caller_cannot_act_in_a_session_and_learns_no_more_than_of_an_unknown_one() {
    let address = serve_owned(flows().caller(by_header)).await;
    let ada = Hand { address, token: Some("ada") };
    let session = ada.open().await;
    let mut stream = ada.post(Some(&session), &call_of("whoami", 1)).await;
    let question = read(&mut stream, |message| message["method"] == "elicitation/create").await;
    let question = &question["id"];

    for token in [Some("bob"), None] {
        let other = Hand { address, token };
        let unknown = other.attempts("00000000-0000-4000-8000-000000000000", question);
        for ((act, theirs), (_, unknown)) in other.attempts(&session, question).into_iter().zip(unknown) {
            let (theirs, unknown) =
                (theirs.send().await.expect("it is sent"), unknown.send().await.expect("it is sent"));
            assert_eq!(theirs.status(), StatusCode::NOT_FOUND, "{token:?}: {act}");
            assert_eq!(unknown.status(), StatusCode::NOT_FOUND, "{token:?}: {act}");
            let bodies = (theirs.bytes().await.expect("it comes"), unknown.bytes().await.expect("it comes"));
            assert_eq!(bodies.0, bodies.1, "{token:?}: {act}");
        }
    }

    let taken = ada.post(Some(&session), &answer(question, "hers")).await;
    assert_eq!(taken.status(), StatusCode::ACCEPTED);
    let result = read(&mut stream, |message| message["id"] == 1).await;
    assert_eq!(result["result"]["content"][0]["text"], "ada says hers");
    let ended = ada.request(Method::DELETE, Some(&session)).send().await.expect("it is sent");
    assert_eq!(ended.status(), StatusCode::ACCEPTED);
    assert_eq!(ada.post(Some(&session), &call_of("whoami", 3)).await.status(), StatusCode::NOT_FOUND, "it has ended");
}

/// The store from which rmcp restores sessions in a fleet.
#[derive(Default)]
struct Shared(Mutex<HashMap<String, SessionState>>);

#[async_trait::async_trait]
impl SessionStore for Shared {
    async fn load(&self, session: &str) -> Result<Option<SessionState>, SessionStoreError> {
        Ok(self.0.lock().unwrap().get(session).cloned())
    }

    async fn store(&self, session: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        self.0.lock().unwrap().insert(session.to_owned(), state.clone());
        Ok(())
    }

    async fn delete(&self, session: &str) -> Result<(), SessionStoreError> {
        self.0.lock().unwrap().remove(session);
        Ok(())
    }
}

#[tokio::test]
async fn another_instance_with_the_same_keys_knows_whose_a_session_is() {
    let store = Arc::<Shared>::default();
    let mut addresses = Vec::new();
    for _ in 0..2 {
        let flows = flows().caller(by_header);
        let mut config = StreamableHttpServerConfig::default();
        config.session_store = Some(Arc::clone(&store) as Arc<dyn SessionStore>);
        addresses.push(serve_as(flows.session_owners(), flows, config).await);
    }
    let session = Hand { address: addresses[0], token: Some("ada") }.open().await;
    let [bob, ada] = ["bob", "ada"].map(|token| Hand { address: addresses[1], token: Some(token) });
    assert_eq!(bob.post(Some(&session), &call_of("whoami", 1)).await.status(), StatusCode::NOT_FOUND);
    let mut stream = ada.post(Some(&session), &call_of("whoami", 1)).await;
    let question = read(&mut stream, |message| message["method"] == "elicitation/create").await;
    assert_eq!(question["params"]["message"], "A word?");
}

#[tokio::test]
async fn a_session_of_one_tenant_is_not_known_to_the_same_caller_of_another() {
    let tenant = |extensions: &rmcp::model::Extensions| {
        let header = extensions.get::<http::request::Parts>()?.headers.get("x-tenant")?;
        Some(header.to_str().ok()?.to_owned())
    };
    let address = serve_owned(flows().caller(by_header).tenant(tenant)).await;
    let ada = Hand { address, token: Some("ada") };
    let session = ada.open().await;
    let ended = ada.request(Method::DELETE, Some(&session)).header("x-tenant", "acme").send().await;
    assert_eq!(ended.expect("it is sent").status(), StatusCode::NOT_FOUND);
    let ended = ada.request(Method::DELETE, Some(&session)).send().await.expect("it is sent");
    assert_eq!(ended.status(), StatusCode::ACCEPTED);
}

#[tokio::test]
async fn the_id_that_a_client_is_given_does_not_show_rmcps() {
    let address = serve_owned(flows().caller(by_header)).await;
    let ada = Hand { address, token: Some("ada") };
    let (one, two) = (ada.open().await, ada.open().await);
    assert_ne!(one, two);
    for changed in [one[..one.len() - 1].to_owned(), format!("{one}A"), one.replace(&one[40..42], "--"), String::new()]
    {
        let reply = ada.post(Some(&changed), &call_of("whoami", 1)).await;
        assert_eq!(reply.status(), StatusCode::NOT_FOUND, "{changed}");
    }
}

#[tokio::test]
async fn rmcps_own_clients_work_behind_the_layer_in_both_lifecycles() {
    let address = serve_owned(flows().caller(by_header)).await;
    let person = Person::answering([("A word?", json!({ "word": "hi" }))]);
    for lifecycle in [Lifecycle::Discover, Lifecycle::Initialize] {
        for (token, name) in [(Some("ada"), "ada"), (None, "a stranger")] {
            let client = visit(address, &person, lifecycle, token).await;
            let result = client.call_tool(call("whoami", json!({}))).await.expect("it is answered");
            assert_eq!(text(&result), format!("{name} says hi"), "{lifecycle:?}");
            client.cancel().await.expect("it goes");
        }
    }
}

const WARNING: &str = "Flows::session_owners";

/// Counts the warnings in the log while a client calls three times.
async fn warnings(client: &rmcp::service::RunningService<rmcp::RoleClient, Person>, log: &Log) -> usize {
    for _ in 0..3 {
        client.call_tool(call("whoami", json!({}))).await.expect("it is answered");
    }
    log.text().matches(WARNING).count()
}

#[tokio::test]
async fn callers_without_the_layer_are_warned_of_once() {
    let person = Person::answering([("A word?", json!({ "word": "hi" }))]);
    let log = Log::of(&["mrtr_rmcp"]);
    let known = || flows().caller(by_header);

    let client = visit(serve_owned(known()).await, &person, Lifecycle::Initialize, Some("ada")).await;
    assert_eq!(warnings(&client, &log).await, 0, "the layer is there");
    let client = visit(serve(flows()).await, &person, Lifecycle::Initialize, Some("ada")).await;
    assert_eq!(warnings(&client, &log).await, 0, "no caller is known");
    let client = visit(serve(known()).await, &person, Lifecycle::Discover, Some("ada")).await;
    assert_eq!(warnings(&client, &log).await, 0, "there are no sessions");
    let everybody = flows().caller(|_| Some(Caller::new("https://id.example.com", "ada")));
    let client = connect(everybody, &person, (Lifecycle::Initialize, Way::Streams)).await;
    assert_eq!(warnings(&client, &log).await, 0, "nobody else is at the other end of a stream");
    let client = visit(serve(known()).await, &person, Lifecycle::Initialize, Some("ada")).await;
    assert_eq!(warnings(&client, &log).await, 1);
}

/// A layer that was made before it could tell callers protects nothing.
#[tokio::test]
async fn a_layer_that_knows_other_callers_than_the_flows_is_warned_of() {
    let person = Person::answering([("A word?", json!({ "word": "hi" }))]);
    let log = Log::of(&["mrtr_rmcp"]);
    let (early, flows) = (flows().session_owners(), flows().caller(by_header));
    let client = visit(serve_behind(early, flows).await, &person, Lifecycle::Initialize, Some("ada")).await;
    assert_eq!(warnings(&client, &log).await, 1);
}

/// Sessions that begin before it is known who calls: the layers are in the wrong order.
#[tokio::test]
async fn layers_in_the_wrong_order_are_warned_of_when_a_session_begins() {
    let log = Log::of(&["mrtr_rmcp"]);
    let by_user = |extensions: &rmcp::model::Extensions| {
        let User(name) = extensions.get::<http::request::Parts>()?.extensions.get()?;
        Some(Caller::new("https://id.example.com", name))
    };
    let flows = flows().caller(by_user);
    let owners = flows.session_owners();
    let service = |flows: Flows| {
        let sessions = Arc::<LocalSessionManager>::default();
        StreamableHttpService::new(move || Ok(flows.clone()), sessions, StreamableHttpServerConfig::default())
    };
    let routes = Router::new().nest_service("/mcp", service(flows));
    let check = || axum::middleware::from_fn(name_the_user);

    let right = listen(routes.clone().layer(owners.clone()).layer(check())).await;
    Hand { address: right, token: Some("ada") }.open().await;
    assert!(!log.text().contains(WARNING), "{}", log.text());

    let wrong = Hand { address: listen(routes.layer(check()).layer(owners)).await, token: Some("ada") };
    let session = wrong.open().await;
    let expected = "found no caller when a session began";
    assert_eq!(log.text().matches(expected).count(), 1, "{}", log.text());
    assert!(log.text().contains(".layer(owners).layer(check_token)"), "{}", log.text());
    wrong.open().await;
    assert_eq!(log.text().matches(expected).count(), 1, "once");
    let mut stream = wrong.post(Some(&session), &call_of("whoami", 1)).await;
    read(&mut stream, |message| message["method"] == "elicitation/create").await;
    assert_eq!(log.text().matches("see different callers").count(), 1, "{}", log.text());
}

#[derive(Clone)]
struct User(String);

async fn name_the_user(mut request: axum::extract::Request, next: axum::middleware::Next) -> axum::response::Response {
    let token = request.headers().get("authorization").and_then(|token| token.to_str().ok()?.strip_prefix("Bearer "));
    if let Some(name) = token.map(str::to_owned) {
        request.extensions_mut().insert(User(name));
    }
    next.run(request).await
}

async fn listen(app: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(axum::serve(listener, app).into_future());
    address
}

#[tokio::test]
async fn the_log_says_once_what_is_served_and_that_a_request_has_no_caller() {
    let person = Person::answering([("A word?", json!({ "word": "hi" }))]);
    let log = Log::of(&["mrtr_rmcp"]);
    // What a middleware leaves behind is not in these extensions, but in those of the HTTP request.
    let address = serve(flows().caller(|extensions| {
        let User(name) = extensions.get()?;
        Some(Caller::new("https://id.example.com", name))
    }));
    let address = address.await;
    for _ in 0..2 {
        let client = visit(address, &person, Lifecycle::Discover, Some("ada")).await;
        let result = client.call_tool(call("whoami", json!({}))).await.expect("it is answered");
        assert_eq!(text(&result), "a stranger says hi");
    }
    assert_eq!(log.text().matches("serving flows in rmcp").count(), 1, "{}", log.text());
    for field in ["server=gate", "tools=1", "key=given", "callers=authenticated"] {
        assert!(log.text().replace('"', "").contains(field), "{field}: {}", log.text());
    }
    let warnings = log.text().matches("found no caller in an HTTP request").count();
    assert_eq!(warnings, 1, "{}", log.text());

    let log = Log::of(&["mrtr_rmcp"]);
    let client = connect(flows().caller(by_header), &person, (Lifecycle::Discover, Way::Streams)).await;
    client.call_tool(call("whoami", json!({}))).await.expect("it is answered");
    assert!(!log.text().contains("found no caller"), "a stream has one caller: {}", log.text());
    let client = visit(serve(flows()).await, &person, Lifecycle::Discover, None).await;
    client.call_tool(call("whoami", json!({}))).await.expect("it is answered");
    assert!(log.text().replace('"', "").contains("callers=anonymous"), "{}", log.text());
    assert!(!log.text().contains("found no caller"), "none are told: {}", log.text());
}
