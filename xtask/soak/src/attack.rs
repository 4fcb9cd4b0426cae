//! The parts of an attack: connections that misbehave at a set rate, and the account of what they sent.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use crate::attacks::ATTACKS;
use crate::caller::{Caller, HOSTILE_CONNECTIONS};
use crate::connection::{Http1, Http2, Response};
use crate::message::{Post, session_call};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The attack to run
    name: String,
    #[arg(long)]
    server: SocketAddr,
    /// The seconds that it runs
    #[arg(long)]
    seconds: f64,
    /// Make large requests smaller by this factor than in a long soak
    #[arg(long, default_value_t = 1)]
    scale: usize,
}

/// The requests of an attack, and how many of them the server refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sent {
    pub(crate) connections: u64,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    /// Requests that were answered with an error, reset or cut off.
    pub(crate) refused: u64,
}

/// Runs an attack on all hostile connections at once, and prints what it sent.
pub(crate) async fn run(options: Options) -> Result<()> {
    let attack = ATTACKS.iter().find(|attack| attack.name == options.name).context("there is no such attack")?;
    // Large requests take a while to write, which does not count as the attack's time.
    let post = (attack.post)(options.scale.max(1));
    let (tally, until) = (Arc::<Tally>::default(), Instant::now() + Duration::from_secs_f64(options.seconds));
    let mut connections = JoinSet::new();
    for number in 0..HOSTILE_CONNECTIONS {
        let caller = Caller::hostile(number);
        let post = post.clone().by(&caller);
        let hostile = Hostile {
            number,
            caller,
            server: options.server,
            scale: options.scale.max(1),
            until,
            tally: Arc::clone(&tally),
        };
        connections.spawn(async move { drop(timeout_at(hostile.until, (attack.run)(&hostile, post)).await) });
    }
    drop(timeout_at(until, async { while connections.join_next().await.is_some() {} }).await);
    // An attack that has sent everything holds its resources until its time is over.
    tokio::time::sleep_until(until).await;
    println!("{}", serde_json::to_string(&tally.sent())?);
    Ok(())
}

#[derive(Debug, Default)]
struct Tally {
    connections: AtomicU64,
    requests: AtomicU64,
    bytes: AtomicU64,
    refused: AtomicU64,
}

impl Tally {
    fn sent(&self) -> Sent {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Sent {
            connections: read(&self.connections),
            requests: read(&self.requests),
            bytes: read(&self.bytes),
            refused: read(&self.refused),
        }
    }
}

/// One hostile connection, which connects again when the server closes it.
pub(crate) struct Hostile {
    pub(crate) number: usize,
    pub(crate) caller: Caller,
    pub(crate) scale: usize,
    server: SocketAddr,
    until: Instant,
    tally: Arc<Tally>,
}

/// Streams of HTTP/2 that are opened one after another and held.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Streams {
    /// The bytes of each reply that the server may send; none of them is read.
    pub(crate) window: u32,
    /// The number of requests open at a time.
    pub(crate) most: usize,
    /// The number of requests opened a second.
    pub(crate) rate: f64,
    pub(crate) body: Body,
}

/// The way in which the body of a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    Whole,
    /// Its first half, and never the rest.
    Half,
    /// A byte a second.
    Dripping,
}

impl Hostile {
    /// The time that is left.
    pub(crate) fn seconds(&self) -> f64 {
        self.until.saturating_duration_since(Instant::now()).as_secs_f64().max(0.1)
    }

    fn count(&self, bytes: usize) {
        self.tally.requests.fetch_add(1, Ordering::Relaxed);
        self.tally.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn refuse(&self) {
        self.tally.refused.fetch_add(1, Ordering::Relaxed);
    }

    fn connected(&self) {
        self.tally.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Opens streams at the rate, and leaves every reply unread beyond the window.
    pub(crate) async fn hold_streams(&self, streams: Streams, post: Post) {
        loop {
            if let Ok(connection) = Http2::connect(&self.caller, self.server, streams.window).await {
                self.connected();
                self.fill(&connection, streams, &post).await;
                self.refuse();
            }
            sleep(RECONNECT).await;
        }
    }

    /// Opens streams until the server has closed the connection.
    async fn fill(&self, connection: &Http2, streams: Streams, post: &Post) {
        let (open, mut held) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
        while connection.is_open() {
            sleep(Duration::from_secs_f64(1.0 / streams.rate)).await;
            while held.try_join_next().is_some() {}
            if open.load(Ordering::Relaxed) >= streams.most {
                continue;
            }
            let Ok((response, mut body)) = connection.begin(post).await else { continue };
            self.count(post.body.len());
            let (bytes, tally, open) = (post.body.clone(), Arc::clone(&self.tally), Arc::clone(&open));
            open.fetch_add(1, Ordering::Relaxed);
            held.spawn(async move {
                let sending = async {
                    match streams.body {
                        Body::Whole => drop(body.send_data(bytes, true)),
                        Body::Half => drop(body.send_data(bytes.slice(..bytes.len() / 2), false)),
                        Body::Dripping => {
                            for byte in bytes.chunks(1) {
                                if body.send_data(Bytes::copy_from_slice(byte), false).is_err() {
                                    return;
                                }
                                sleep(Duration::from_secs(1)).await;
                            }
                        }
                    }
                    std::future::pending::<()>().await;
                };
                let holding = async {
                    let Ok(response) = response.await else { return true };
                    let mut refused = response.status().as_u16() >= 400;
                    let mut body = response.into_body();
                    // The attack gives nothing back to the window, so this waits until the stream ends or is reset.
                    while let Some(chunk) = body.data().await {
                        let Ok(chunk) = chunk else { return true };
                        refused |= is_error(&chunk);
                    }
                    refused
                };
                let refused = tokio::select! { refused = holding => refused, () = sending => true };
                tally.refused.fetch_add(u64::from(refused), Ordering::Relaxed);
                open.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }

    /// Sends requests one after another at the rate, at most `most` of them, and returns the replies.
    pub(crate) async fn exchange_all(&self, rate: f64, most: usize, post: &Post) -> Vec<Value> {
        let (mut replies, mut connection) = (Vec::new(), None);
        for _ in 0..most {
            if let Ok(reply) = self.exchange_on(&mut connection, post).await {
                replies.extend(reply.message());
            }
            sleep(Duration::from_secs_f64(1.0 / rate)).await;
        }
        replies
    }

    async fn exchange_on(&self, connection: &mut Option<Http1>, post: &Post) -> io::Result<Response> {
        if connection.is_none() {
            *connection = Some(Http1::connect(&self.caller, self.server).await?);
            self.connected();
        }
        let open = connection.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        self.count(post.body.len());
        let answered = open.exchange(post).await;
        let is_error = |response: &Response| response.message().is_some_and(|message| message.get("error").is_some());
        match &answered {
            Ok(response) if response.status >= 400 || is_error(response) => self.refuse(),
            Ok(_) => {}
            Err(_) => {
                self.refuse();
                *connection = None;
            }
        }
        answered
    }

    /// Begins a session, if it may.
    pub(crate) async fn begin_session(&self, begin: &Post) -> Option<String> {
        self.exchange_on(&mut None, begin).await.ok()?.session
    }

    /// Calls the tool that reports progress in a session, and goes away before it has answered.
    pub(crate) async fn abandon_call(&self, session: &str, id: u64, arguments: &Value) {
        let message = session_call(id, "progress", arguments, Some("watched"));
        let post = Post::in_session(session, &message).by(&self.caller);
        let Ok(mut connection) = Http1::connect(&self.caller, self.server).await else { return self.refuse() };
        self.connected();
        self.count(post.body.len());
        if connection.send(&post).await.is_err() {
            return self.refuse();
        }
        // A refusal arrives at once; a stream begins and does not end.
        if let Ok(Ok(response)) = tokio::time::timeout(ABANDON, connection.response()).await
            && response.status >= 400
        {
            self.refuse();
        }
    }

    /// Sends requests on one connection of HTTP/1.1, and reads nothing.
    pub(crate) async fn pipeline(&self, rate: f64, post: &Post) {
        loop {
            if let Ok(mut connection) = Http1::connect(&self.caller, self.server).await {
                self.connected();
                while connection.send(post).await.is_ok() {
                    self.count(post.body.len());
                    sleep(Duration::from_secs_f64(1.0 / rate)).await;
                }
                self.refuse();
            }
            sleep(RECONNECT).await;
        }
    }
}

/// Returns true if this is the beginning of a message that is an error.
fn is_error(bytes: &[u8]) -> bool {
    bytes.starts_with(b"{")
        && serde_json::from_slice::<Value>(bytes).is_ok_and(|message| message.get("error").is_some())
}

/// Arguments of the tool that reports progress, for a minute.
pub(crate) fn slow_reports() -> Value {
    json!({ "reports": 600, "pause_ms": 100 })
}

const RECONNECT: Duration = Duration::from_millis(200);
const ABANDON: Duration = Duration::from_millis(50);
