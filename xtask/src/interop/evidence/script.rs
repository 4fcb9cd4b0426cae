//! A server that says what it is told to, for a client that does not take it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::expect::Printed;
use super::super::process::{all_of, in_time};
use super::{Playing, Shown};

/// An exchange, as its file has it.
#[derive(Deserialize)]
pub(super) struct Script {
    /// Each is to the next request of its method.
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
pub(super) fn show(playing: &Playing<'_>, script: Script) -> Result<Shown> {
    let Script { mut replies, refused, instead, completes } = script;
    let output = playing.play(replies.clone())?;
    ensure!(all_of(&output).contains(playing.fault.seen), "it takes the reply now: {}", all_of(&output));
    let Scripted { method, result } = replies[refused].clone();
    replies[refused].result = instead.clone();
    let output = playing.play(replies)?;
    let printed = Printed::of(&output)?;
    ensure!(printed.text == completes, "it does not complete with the other reply either: {:?}", printed.text);
    Ok(Shown {
        sent: format!("in reply to {method}:\n{result}"),
        came: format!("the client ends: {}", playing.fault.seen),
        but: format!("With this reply, the text is \"{completes}\":\n{instead}"),
    })
}

impl Playing<'_> {
    fn play(&self, replies: Vec<Scripted>) -> Result<Output> {
        let server = Server::start(replies)?;
        let url = format!("http://{}/mcp", server.address);
        let words = self.places.words(&self.peer.client, &[self.fault.scenario, self.fault.era.word(), "http", &url]);
        in_time(&self.places.command(&words))
    }
}

/// A server that is gone when this is.
struct Server {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
}

impl Server {
    fn start(mut replies: Vec<Scripted>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&is_over);
        let serving = thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                // What a client breaks off is its own business.
                let _ = stream.map_err(Into::into).and_then(|stream| reply(stream, &mut replies));
            }
        });
        Ok(Self { address, is_over, serving: Some(serving) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // It waits for a connection, and looks whether it is over.
        let _ = TcpStream::connect(self.address);
        let _ = self.serving.take().map(JoinHandle::join);
    }
}

/// Answers one request, with the next reply that there is for its method.
fn reply(mut stream: TcpStream, replies: &mut Vec<Scripted>) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    // The first line says where it goes, which is always the same.
    reader.read_line(&mut String::new())?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.trim().parse()?,
            None => break,
            Some(_) => {}
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
    Ok(())
}
