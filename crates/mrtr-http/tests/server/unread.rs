//! Readers that do not read, on HTTP/2: what runs for them ends, its permit is given back, and others are served.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mrtr_http::{Endpoint, Serve};
use mrtr_server::{Failure, Flow, Server, Tool};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, JoinSet};

use crate::support::message::{Post, call, request, watched};
use crate::support::{Site, until, within};
use crate::tools;

const LIMIT: Duration = Duration::from_millis(300);

/// The number of runs: each counts until it is dropped.
#[derive(Clone, Default)]
struct Runs(Arc<AtomicUsize>);

struct Run(Runs);

impl Drop for Run {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Runs {
    fn begin(&self) -> Run {
        self.0.fetch_add(1, Ordering::SeqCst);
        Run(self.clone())
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Reports progress for as long as a client listens.
async fn report(flow: Flow) -> Result<String, Failure> {
    let _run = flow.state::<Runs>().begin();
    for progress in 0_i64.. {
        flow.progress(progress, None, "x".repeat(1000)).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok("never".to_owned())
}

/// Reports once, and then takes longer than a client may take to read.
async fn ponder(flow: Flow) -> Result<String, Failure> {
    flow.progress(1, None, "thinking").await;
    tokio::time::sleep(LIMIT * 4).await;
    Ok("thought".to_owned())
}

async fn large(_: Flow) -> Result<String, Failure> {
    Ok("x".repeat(LARGE))
}

const LARGE: usize = 3 << 20;

fn server(runs: &Runs) -> Server {
    Server::builder("test", "1.0.0")
        .state(runs.clone())
        .tool(Tool::new("hello", tools::hello))
        .tool(Tool::new("report", report))
        .tool(Tool::new("ponder", ponder))
        .tool(Tool::new("large", large))
        .build()
        .unwrap()
}

type Sender = SendRequest<Full<Bytes>>;

/// Opens a connection whose streams each have room for this many bytes, and for no more until the client reads them.
/// The task ends when the connection closes.
async fn connect(site: &Site, window: u32) -> (Sender, JoinHandle<()>) {
    let stream = TcpStream::connect(site.address).await.unwrap();
    let mut builder = Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(window).initial_connection_window_size(1 << 24);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    (sender, tokio::spawn(async { drop(connection.await) }))
}

fn of(post: &Post) -> Request<Full<Bytes>> {
    let request = Request::post("http://localhost/mcp").version(Version::HTTP_2);
    let headers = post.headers.iter().filter(|(name, _)| name != "Host");
    let request = headers.fold(request, |request, (name, value)| request.header(name, value));
    request.body(Full::from(post.body.clone())).unwrap()
}

async fn send(sender: &mut Sender, post: &Post) -> Response<Incoming> {
    within("a response", sender.send_request(of(post))).await.unwrap()
}

fn reporting() -> Post {
    Post::of(&watched(call("report", json!({}))))
}

fn hello() -> Post {
    Post::of(&call("hello", json!({})))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ht_8_streams_that_nobody_reads_give_all_permits_back() {
    const CONNECTIONS: usize = 21;
    const STREAMS: usize = 200;
    let runs = Runs::default();
    let limit = Duration::from_secs(2);
    let site = Site::start(Serve::new(Endpoint::anonymous(server(&runs))).write_timeout(limit));
    let (mut held, mut answering) = (Vec::new(), JoinSet::new());
    for _ in 0..CONNECTIONS {
        let (mut sender, open) = connect(&site, 0).await;
        for _ in 0..STREAMS {
            let answer = sender.send_request(of(&reporting()));
            answering.spawn(async { answer.await.unwrap() });
        }
        held.push((sender, open));
    }
    let mut responses = Vec::new();
    while let Some(response) = within("all heads", answering.join_next()).await {
        responses.push(response.unwrap());
    }
    let refused = responses.iter().filter(|response| response.status() == 503).count();
    assert_eq!(responses.len(), CONNECTIONS * STREAMS);
    let most = Endpoint::DEFAULT_CONCURRENCY * 3 / 4;
    assert!(
        CONNECTIONS * STREAMS - refused >= most,
        "they have all that one caller may have, {refused} found no permit"
    );
    until("all runs have ended", || runs.count() == 0).await;
    assert_eq!(site.answer(&hello()).await.status, 200, "others are served");
    for response in responses.into_iter().filter(|response| response.status() == 200) {
        assert!(within("a reset", response.collect()).await.is_err(), "the client is told");
    }
    // The connections are good for other streams.
    for (sender, _) in &mut held {
        let response = send(sender, &hello()).await;
        assert_eq!(response.status(), 200);
    }
}

#[tokio::test]
async fn ht_8_a_stream_that_is_read_is_left_alone() {
    let runs = Runs::default();
    let site = Site::start(Serve::new(Endpoint::anonymous(server(&runs))).write_timeout(LIMIT));
    let (mut sender, _open) = connect(&site, 4096).await;
    let quiet = send(&mut sender, &Post::of(&watched(call("ponder", json!({}))))).await;
    let text = within("the end of a quiet stream", quiet.collect()).await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&text).contains("thought"), "a client that waits is not one that does not read");
    let mut lively = send(&mut sender, &reporting()).await;
    let until = tokio::time::Instant::now() + LIMIT * 4;
    while tokio::time::Instant::now() < until {
        within("a piece", lively.frame()).await.unwrap().unwrap();
    }
    assert_eq!(runs.count(), 1);
}

#[tokio::test]
async fn ht_8_a_large_reply_arrives_whole_in_small_pieces() {
    let site = Site::of(server(&Runs::default()));
    let (mut sender, _open) = connect(&site, 1 << 20).await;
    let response = send(&mut sender, &Post::of(&call("large", json!({})))).await;
    let length: usize = response.headers()["content-length"].to_str().unwrap().parse().unwrap();
    let body = within("a large reply", response.collect()).await.unwrap().to_bytes();
    assert_eq!(body.len(), length);
    let reply: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(reply["result"]["content"][0]["text"].as_str().unwrap().len(), LARGE);
}

/// The end of such a reply is in the connection's memory already, and only the end of the connection frees it.
#[tokio::test]
async fn ht_8_a_connection_that_leaves_replies_unread_is_closed() {
    let site = Site::start(Serve::new(Endpoint::anonymous(server(&Runs::default()))).write_timeout(LIMIT));
    let (mut sender, open) = connect(&site, 1).await;
    let response = send(&mut sender, &hello()).await;
    assert_eq!(response.status(), 200);
    within("the end of the connection", open).await.unwrap();
    let (mut reading, open) = connect(&site, 1 << 16).await;
    assert!(send(&mut reading, &hello()).await.collect().await.is_ok());
    tokio::time::sleep(LIMIT * 3).await;
    assert!(!open.is_finished(), "one that reads is kept");
}

#[tokio::test]
async fn ht_8_a_subscription_that_nobody_reads_ends() {
    let endpoint = Endpoint::anonymous(server(&Runs::default())).subscriptions(1).keep_alive(LIMIT / 10);
    let site = Site::start(Serve::new(endpoint).write_timeout(LIMIT));
    let (mut sender, _open) = connect(&site, 0).await;
    let listen = Post::of(&request("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } })));
    let unread = send(&mut sender, &listen).await;
    assert_eq!(unread.status(), 200);
    assert_eq!(send(&mut sender, &listen).await.status(), 503, "there is one already");
    assert!(within("its end", unread.collect()).await.is_err());
    assert_eq!(send(&mut sender, &listen).await.status(), 200, "its place is free");
}
