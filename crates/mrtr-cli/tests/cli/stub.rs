//! Servers as they should not be: they refuse, hang, or make no sense.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};

/// The reply of such a server to a request: a status and a body, or nothing, for ever.
type Respond = dyn Fn(&Value, &str) -> Option<(&'static str, String)> + Send + Sync;

pub(crate) struct Stub {
    pub(crate) url: String,
}

impl Stub {
    /// `respond` is given the message, and the head of the request.
    pub(crate) fn start(
        respond: impl Fn(&Value, &str) -> Option<(&'static str, String)> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let respond: Arc<Respond> = Arc::new(respond);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let respond = Arc::clone(&respond);
                thread::spawn(move || serve(connection, &*respond));
            }
        });
        Self { url }
    }

    /// A server that gives every request this reply.
    pub(crate) fn always(status: &'static str) -> Self {
        Self::start(move |_, _| Some((status, String::new())))
    }

    /// A server with a tool that takes nothing, and hangs when it is called; `called` gets the call.
    pub(crate) fn hangs(called: std::sync::mpsc::Sender<()>) -> Self {
        Self::start(move |message, _| {
            if message["method"] == "tools/list" {
                return Some(("200 OK", list(message)));
            }
            called.send(()).unwrap();
            None
        })
    }
}

/// A list of one tool, in answer to this message.
pub(crate) fn list(message: &Value) -> String {
    let tools = json!([{ "name": "wait", "inputSchema": { "type": "object" } }]);
    json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "resultType": "complete", "tools": tools } }).to_string()
}

fn serve(connection: TcpStream, respond: &Respond) {
    let mut reader = BufReader::new(connection);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let message = serde_json::from_slice(&body).unwrap_or_default();
        match respond(&message, &head) {
            Some((status, body)) => {
                let length = body.len();
                let response = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
                );
                if reader.get_mut().write_all(response.as_bytes()).is_err() {
                    return;
                }
            }
            // Until the client goes away.
            None => return drop(reader.read(&mut [0])),
        }
    }
}
