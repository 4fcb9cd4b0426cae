//! The server processes behind the balancer: this test binary again, told by a variable what it is to serve.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::stream;
use mrtr_http::{Endpoint, Serve};
use mrtr_server::{Failure, Flow, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// The kind of an instance.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Our own server.
    Ours,
    /// A server of the legacy era that pings while its tool runs, as those of other SDKs do.
    Pinging,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Pinging => "pinging",
        }
    }
}

const SERVES: &str = "MRTR_HTTP_TEST_INSTANCE";
const CHARGES: &str = "MRTR_HTTP_TEST_CHARGES";
const READY: &str = "serving at ";

/// Two processes that charge into one file.
pub(crate) struct Fleet {
    pub(crate) addresses: [SocketAddr; 2],
    _processes: [Process; 2],
    charges: PathBuf,
}

impl Fleet {
    pub(crate) fn start(kind: Kind, name: &str) -> Self {
        let charges = std::env::temp_dir().join(format!("mrtr-balancer-{}-{name}", std::process::id()));
        std::fs::write(&charges, "").unwrap();
        let processes = [Process::start(kind, &charges), Process::start(kind, &charges)];
        let addresses = [processes[0].address, processes[1].address];
        Self { addresses, _processes: processes, charges }
    }

    /// Counts the charges for an order, by both instances together.
    pub(crate) fn charges(&self, order: &str) -> usize {
        std::fs::read_to_string(&self.charges).unwrap().lines().filter(|line| *line == order).count()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.charges);
    }
}

/// A server process, killed at the end.
struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    fn start(kind: Kind, charges: &PathBuf) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "instance::server_process", "--nocapture"]);
        command.env(SERVES, kind.name()).env(CHARGES, charges);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let address = lines.find_map(|line| Some(line.split_once(READY)?.1.parse().unwrap())).unwrap();
        // The rest of what it says is read, so that it never waits for us.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Not a test but a server, when this binary is run as one.
#[test]
fn server_process() {
    let Ok(kind) = std::env::var(SERVES) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { if kind == Kind::Ours.name() { serve_ours().await } else { serve_pinging().await } });
}

/// Charges an order: the effect is a line that both processes append to one file.
fn charge(order: &str) {
    let mut file = OpenOptions::new().append(true).open(std::env::var_os(CHARGES).unwrap()).unwrap();
    file.write_all(format!("{order}\n").as_bytes()).unwrap();
}

/// Waits until the process that started this one is gone.
async fn orphaned() {
    drop(tokio::task::spawn_blocking(|| drop(std::io::stdin().lines().last())).await);
}

#[derive(Deserialize, JsonSchema)]
struct Order {
    order: String,
}

#[derive(Deserialize, JsonSchema)]
struct Receipt {
    #[expect(dead_code, reason = "it is asked for")]
    address: String,
}

async fn serve_ours() {
    let pay = async |flow: Flow, args: Order| {
        let order = args.order.clone();
        flow.step("charge", async move {
            charge(&order);
            Ok::<_, Failure>(())
        })
        .await?;
        let _: Receipt = flow.elicit("receipt", "Where does the receipt go?").await?;
        Ok::<_, Failure>(format!("paid {}", args.order))
    };
    let hello = async |_: Flow| Ok::<_, Failure>("Hello");
    let server = Server::builder("shop", "1.0.0").tool(Tool::new("pay", pay)).tool(Tool::new("hello", hello));
    let bound = Serve::new(Endpoint::anonymous(server.build().unwrap())).bind("127.0.0.1:0").unwrap();
    println!("{READY}{}", bound.address().unwrap());
    bound.run(orphaned()).await.unwrap();
}

/// The sessions of a pinging server, each with what ends its tool.
#[derive(Clone, Default)]
struct Sessions(Arc<Mutex<HashMap<String, Arc<Notify>>>>);

async fn serve_pinging() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{READY}{}", listener.local_addr().unwrap());
    let app = Router::new().route("/mcp", post(answer)).route("/finish", post(finish)).with_state(Sessions::default());
    tokio::select! {
        served = axum::serve(listener, app) => served.unwrap(),
        () = orphaned() => {}
    }
}

/// Ends the tools that run, once the balancer has done its part.
async fn finish(State(sessions): State<Sessions>) -> StatusCode {
    for session in sessions.0.lock().unwrap().values() {
        session.notify_one();
    }
    StatusCode::NO_CONTENT
}

async fn answer(State(sessions): State<Sessions>, headers: HeaderMap, body: String) -> Response {
    let message: Value = serde_json::from_str(&body).unwrap();
    let id = &message["id"];
    if message["method"] == "initialize" {
        let session = format!("{}-{}", std::process::id(), sessions.0.lock().unwrap().len());
        sessions.0.lock().unwrap().insert(session.clone(), Arc::default());
        let server = json!({ "name": "shop", "version": "1.0.0" });
        let result = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": server });
        let begun = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
        return ([("content-type", "application/json"), ("mcp-session-id", session.as_str())], begun).into_response();
    }
    let session = headers.get("mcp-session-id").map(|session| session.to_str().unwrap().to_owned());
    let Some(pong) = session.and_then(|session| sessions.0.lock().unwrap().get(&session).cloned()) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    match message["method"].as_str() {
        Some("tools/call") => pay(&message, pong),
        Some(_) => StatusCode::ACCEPTED.into_response(),
        None => {
            pong.notify_one();
            StatusCode::ACCEPTED.into_response()
        }
    }
}

/// Charges, pings, and responds once the pong is there, or the balancer has swallowed it.
fn pay(message: &Value, answered: Arc<Notify>) -> Response {
    let order = message["params"]["arguments"]["order"].as_str().unwrap();
    charge(order);
    let result = json!({ "content": [{ "type": "text", "text": format!("paid {order}") }] });
    let ping = json!({ "jsonrpc": "2.0", "id": "ping-1", "method": "ping" });
    let done = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    let events = stream::unfold(Some((ping, done, answered)), |left| async move {
        let (message, rest, answered) = left?;
        if message["method"] != "ping" {
            answered.notified().await;
        }
        let event = Ok::<_, std::convert::Infallible>(format!("data: {message}\n\n"));
        Some((event, (!rest.is_null()).then_some((rest, Value::Null, answered))))
    });
    ([("content-type", "text/event-stream")], Body::from_stream(events)).into_response()
}
