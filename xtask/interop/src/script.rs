//! A server that plays replies from a script, for a client that does not take one of them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::thread::JoinHandle;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::evidence::{Playing, Shown};
use crate::expect::Printed;
use crate::process::{all_of, in_time};

/// An exchange, as its file has it.
#[derive(Deserialize)]
pub(crate) struct Script {
    /// The replies, each to the next request of its method.
    replies: Vec<Scripted>,
    /// The place of the reply that the client does not take.
    refused: usize,
    instead: Value,
    completes: String,
}

#[derive(Clone, Deserialize)]
struct Scripted {
    method: String,
    result: Value,
}

/// Plays the scenario with the reply that the client does not take, and with another one in its place.
pub(crate) fn show(playing: &Playing<'_>, script: Script) -> Result<Shown> {
    let Script { mut replies, refused, instead, completes } = script;
    let (output, _) = playing.play(replies.clone())?;
    ensure!(all_of(&output).contains(playing.fault.seen), "it takes the reply now: {}", all_of(&output));
    let Scripted { method, result } = replies[refused].clone();
    replies[refused].result = instead.clone();
    let (output, _) = playing.play(replies)?;
    let printed = Printed::of(&output)?;
    ensure!(printed.text == completes, "it does not complete with the other reply either: {:?}", printed.text);
    Ok(Shown {
        sent: format!("in reply to {method}:\n{result}"),
        came: format!("the client ends: {}", playing.fault.seen),
        but: format!("With this reply, the text is \"{completes}\":\n{instead}"),
    })
}

/// An exchange in which a client's request lacks something, as its file has it.
#[derive(Deserialize)]
pub(crate) struct Lacking {
    replies: Vec<Scripted>,
    /// The method of the request.
    request: String,
    /// The header that it lacks.
    header: Option<String>,
    /// The place in the request where it lacks a member.
    within: Option<String>,
    member: Option<String>,
}

/// Plays the scenario, and looks for what the client's request lacks.
pub(crate) fn show_lack(playing: &Playing<'_>, lacking: Lacking) -> Result<Shown> {
    let Lacking { replies, request, header, within, member } = lacking;
    let (output, asked) = playing.play(replies)?;
    let asked = asked.iter().find(|asked| asked.message["method"] == *request);
    let asked = asked.with_context(|| format!("there was no {request}: {}", all_of(&output)))?;
    let came = if let Some(header) = header {
        ensure!(!asked.headers.contains(&header), "it sends the header {header} now");
        format!("a request {request} without the header {header}")
    } else {
        let within = asked.message.pointer(&within.unwrap_or_default()).context("the request has another shape")?;
        let member = member.unwrap_or_default();
        ensure!(within.pointer(&member).is_none(), "it declares {member} now");
        format!("a request {request} with these capabilities:\n{within}")
    };
    Ok(Shown { sent: "the replies of the script".to_owned(), came, but: String::new() })
}

/// A request of a client.
struct Asked {
    /// The names of its headers, in lower case.
    headers: Vec<String>,
    message: Value,
}

impl Playing<'_> {
    /// Plays the scenario. Returns what the client printed, and what it asked.
    fn play(&self, replies: Vec<Scripted>) -> Result<(Output, Vec<Asked>)> {
        let server = Server::start(replies)?;
        let url = format!("http://{}/mcp", server.address);
        let words = self.places.words(&self.peer.client, &[self.fault.scenario, self.fault.era.word(), "http", &url]);
        let output = in_time(&self.places.command(&words))?;
        Ok((output, server.end()))
    }
}

/// A server that ends when this is dropped.
struct Server {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    serving: Option<JoinHandle<Vec<Asked>>>,
}

impl Server {
    fn start(mut replies: Vec<Scripted>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&is_over);
        let serving = thread::spawn(move || {
            let mut asked = Vec::new();
            for stream in listener.incoming() {
                if ended.load(Ordering::Relaxed) {
                    break;
                }
                // A client may break off its connection.
                asked.extend(stream.map_err(Into::into).and_then(|stream| reply(stream, &mut replies)));
            }
            asked
        });
        Ok(Self { address, is_over, serving: Some(serving) })
    }

    /// Ends the server, and returns the requests that it got.
    fn end(mut self) -> Vec<Asked> {
        self.stop()
    }

    fn stop(&mut self) -> Vec<Asked> {
        self.is_over.store(true, Ordering::Relaxed);
        // The thread waits for a connection: wake it, so that it sees the end.
        let _ = TcpStream::connect(self.address);
        self.serving.take().and_then(|serving| serving.join().ok()).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Answers one request, with the next reply that there is for its method.
fn reply(mut stream: TcpStream, replies: &mut Vec<Scripted>) -> Result<Asked> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut length, mut headers) = (0, Vec::new());
    // The first line has the path, which is always the same.
    reader.read_line(&mut String::new())?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push(name.to_ascii_lowercase());
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let message: Value = serde_json::from_slice(&body)?;
    let method = message["method"].as_str().context("a request has a method")?;
    let (status, body) = match replies.iter().position(|reply| reply.method == method) {
        Some(place) => {
            let result = replies.remove(place).result;
            ("200 OK", json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
        }
        None => (
            "404 Not Found",
            json!({ "jsonrpc": "2.0", "id": message["id"],
            "error": { "code": -32601, "message": "not in the script" } }),
        ),
    };
    let body = body.to_string();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    stream.write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes())?;
    Ok(Asked { headers, message })
}
