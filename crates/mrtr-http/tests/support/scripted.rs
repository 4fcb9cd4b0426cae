//! A server that answers each request with the bytes it was given, and remembers what it was asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use super::wire::Wire;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) message: Value,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(its, _)| its == name).map(|(_, value)| value.as_str())
    }

    /// A response with a result, or whatever else stands beside the id.
    pub(crate) fn reply(&self, members: Value) -> String {
        let Value::Object(mut members) = members else { panic!("members are an object") };
        members.insert("jsonrpc".to_owned(), json!("2.0"));
        members.insert("id".to_owned(), self.message["id"].clone());
        Value::Object(members).to_string()
    }
}

/// The answer of a script to a request.
pub(crate) enum Answer {
    /// These bytes, on a connection that is then closed.
    Bytes(Vec<Vec<u8>>),
    /// Nothing: the connection is closed.
    Nothing,
}

impl Answer {
    pub(crate) fn json(body: &str) -> Self {
        Self::with(200, "Content-Type: application/json\r\n", body)
    }

    pub(crate) fn with(status: u16, headers: &str, body: &str) -> Self {
        let head = format!("HTTP/1.1 {status} Whatever\r\nContent-Length: {}\r\nConnection: close\r\n", body.len());
        Self::Bytes(vec![format!("{head}{headers}\r\n{body}").into_bytes()])
    }

    /// A stream in these pieces, each sent by itself. It ends with the connection.
    pub(crate) fn stream(pieces: Vec<Vec<u8>>) -> Self {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\nConnection: close\r\n\r\n";
        Self::Bytes([vec![head.as_bytes().to_vec()], pieces].concat())
    }
}

/// A scripted server.
pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Scripted {
    pub(crate) async fn start(script: impl Fn(usize, &Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, script) = (Arc::clone(&asked), Arc::new(script));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
                tokio::spawn(async move { play(stream, &seen, &*script).await });
            }
        });
        Self { address, asked }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

async fn play(stream: TcpStream, seen: &Mutex<Vec<Asked>>, script: &(impl Fn(usize, &Asked) -> Answer + Sync)) {
    stream.set_nodelay(true).unwrap();
    let mut wire = Wire::of(stream);
    if wire.line().await.is_empty() {
        return;
    }
    let headers = wire.headers().await;
    // A GET has no body, and no message.
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, length)| length.parse().unwrap());
    let message = if length == 0 { Value::Null } else { serde_json::from_slice(&wire.bytes(length).await).unwrap() };
    let asked = Asked { headers, message };
    let number = {
        let mut seen = seen.lock().unwrap();
        seen.push(asked.clone());
        seen.len()
    };
    if let Answer::Bytes(pieces) = script(number, &asked) {
        for piece in pieces {
            wire.send(piece).await;
            tokio::task::yield_now().await;
        }
    }
}
