//! A balancer on TCP: it keeps to a session's instance, but for one message.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use mrtr_client::Client;
use mrtr_http::HttpTransport;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The fault that happens to one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It goes to the instance that does not have the session.
    Elsewhere,
    /// The balancer answers by itself.
    Status(u16),
    /// Its connection ends without an answer.
    Reset,
}

/// A balancer before two instances.
#[derive(Clone)]
pub(crate) struct Balancer(Arc<Inner>);

struct Inner {
    address: SocketAddr,
    instances: [SocketAddr; 2],
    state: Mutex<Routes>,
}

#[derive(Default)]
struct Routes {
    /// The instance of each session, and how many have begun.
    sessions: HashMap<String, usize>,
    begun: usize,
    /// The kind of message that a fault is still to happen to.
    fault: Option<(&'static str, Fault)>,
    has_struck: bool,
    /// True if the next stream of a call breaks off behind its first question.
    cuts: bool,
    seen: Vec<String>,
}

/// A request as it came.
struct Heard {
    bytes: Vec<u8>,
    kind: String,
    session: Option<String>,
}

/// The way that a request takes.
enum Route {
    To { instance: usize, cuts: bool },
    Answer(u16),
    Close,
}

impl Balancer {
    pub(crate) async fn start(instances: [SocketAddr; 2]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, state) = (listener.local_addr().unwrap(), Mutex::default());
        let balancer = Self(Arc::new(Inner { address, instances, state }));
        let accepting = balancer.clone();
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let balancer = accepting.clone();
                tokio::spawn(async move { balancer.pass(client).await });
            }
        });
        balancer
    }

    /// Sets the fault for the next message of this kind.
    pub(crate) fn fault(&self, kind: &'static str, fault: Fault) {
        let mut state = self.0.state.lock().unwrap();
        (state.fault, state.has_struck) = (Some((kind, fault)), false);
    }

    /// Returns true if the fault has happened, and the client knows.
    pub(crate) fn has_struck(&self) -> bool {
        self.0.state.lock().unwrap().has_struck
    }

    pub(crate) fn cut_next_stream(&self) {
        self.0.state.lock().unwrap().cuts = true;
    }

    /// The kinds of the messages that were sent, in order.
    pub(crate) fn count(&self, kind: &str) -> usize {
        self.0.state.lock().unwrap().seen.iter().filter(|seen| *seen == kind).count()
    }

    /// A transport to the balancer that takes a connection for each request.
    pub(crate) fn transport(&self) -> HttpTransport {
        let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
        HttpTransport::with_client(&format!("http://{}/mcp", self.0.address), http).unwrap()
    }

    pub(crate) fn client(&self) -> mrtr_client::Builder {
        Client::builder(self.transport()).revision(mrtr_schema::Revision::V2025_11_25)
    }

    /// Lets the tools that wait come to their ends, at every instance.
    pub(crate) async fn finish(&self) {
        for instance in self.0.instances {
            let mut instance = TcpStream::connect(instance).await.unwrap();
            instance.write_all(b"POST /finish HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").await.unwrap();
            instance.read_u8().await.unwrap();
        }
    }

    async fn pass(&self, mut client: TcpStream) {
        let Some(heard) = Heard::read(&mut client).await else { return };
        let (route, is_struck) = self.route(&heard);
        match route {
            Route::Close => {}
            Route::Answer(status) => {
                let answer = format!("HTTP/1.1 {status} Whatever\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                let _ = client.write_all(answer.as_bytes()).await;
            }
            Route::To { instance, cuts } => {
                let mut server = TcpStream::connect(self.0.instances[instance]).await.unwrap();
                server.write_all(&heard.bytes).await.unwrap();
                self.pass_back(&heard, server, &mut client, (instance, cuts)).await;
            }
        }
        let _ = client.shutdown().await;
        // The client closes the connection once it has what came on it.
        let _ = client.read_u8().await;
        if is_struck {
            self.0.state.lock().unwrap().has_struck = true;
        }
    }

    /// Passes what the instance says to the client, until either has no more to say, and notes the session that begins.
    async fn pass_back(&self, heard: &Heard, mut server: TcpStream, client: &mut TcpStream, to: (usize, bool)) {
        let (instance, cuts) = to;
        let (mut said, mut buffer) = (String::new(), [0; 4096]);
        let (mut from_client, mut to_client) = client.split();
        loop {
            let read = tokio::select! {
                read = server.read(&mut buffer) => read.unwrap_or(0),
                _ = from_client.read_u8() => 0,
            };
            said.push_str(&String::from_utf8_lossy(&buffer[..read]));
            if heard.kind == "initialize"
                && let Some(session) = header(&said, "mcp-session-id")
            {
                self.0.state.lock().unwrap().sessions.insert(session, instance);
            }
            let is_cut = cuts && said.contains("elicitation/create") && said.ends_with("\n\n\r\n");
            if read == 0 || to_client.write_all(&buffer[..read]).await.is_err() || is_cut {
                return;
            }
        }
    }

    /// Decides where a request goes, and whether the fault happens to it.
    fn route(&self, heard: &Heard) -> (Route, bool) {
        let mut state = self.0.state.lock().unwrap();
        state.seen.push(heard.kind.clone());
        let struck = state.fault.take_if(|(kind, _)| *kind == heard.kind).map(|(_, fault)| fault);
        let own = heard.session.as_ref().and_then(|session| state.sessions.get(session).copied());
        if heard.kind == "initialize" {
            state.begun += 1;
        }
        let instance = own.unwrap_or(state.begun % 2);
        let route = match struck {
            Some(Fault::Status(status)) => Route::Answer(status),
            Some(Fault::Reset) => Route::Close,
            Some(Fault::Elsewhere) => Route::To { instance: 1 - instance, cuts: false },
            None => Route::To { instance, cuts: heard.kind == "tools/call" && std::mem::take(&mut state.cuts) },
        };
        (route, struck.is_some())
    }
}

impl Heard {
    async fn read(client: &mut TcpStream) -> Option<Self> {
        let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = header(head, "content-length").map_or(0, |length| length.parse().unwrap());
                if body.len() >= length {
                    let message = serde_json::from_str(body).unwrap_or_default();
                    let (kind, session) = (kind(head, &message), header(head, "mcp-session-id"));
                    return Some(Self { bytes, kind, session });
                }
            }
            match client.read(&mut buffer).await {
                Ok(read) if read > 0 => bytes.extend_from_slice(&buffer[..read]),
                _ => return None,
            }
        }
    }
}

/// A word for a request: its verb, its method, or that it answers.
fn kind(head: &str, message: &Value) -> String {
    match (head.split(' ').next(), message["method"].as_str()) {
        (Some("POST"), Some(method)) => method.to_owned(),
        (Some("POST"), None) => "answer".to_owned(),
        (verb, _) => verb.unwrap_or_default().to_owned(),
    }
}

fn header(head: &str, name: &str) -> Option<String> {
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    fields.into_iter().find(|(its, _)| its.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
}
