//! Fair shares: a caller that takes much, waits long or leaves replies unread keeps no other caller out.

use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mrtr_http::{Authenticator, Challenge, Endpoint, ForwardedHeader, Identity, RequestHead, Serve};
use mrtr_server::{Caller, Failure, Flow, Server, Tool};
use serde_json::json;
use tokio::net::{TcpSocket, TcpStream};

use crate::support::message::{Post, call, request};
use crate::support::wire::{Response, Wire};
use crate::support::{Site, within};
use crate::tools::{self, Gate};

/// A connection from another address of this machine.
async fn stream_from(site: &Site, host: u8) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, host], 0))).unwrap();
    socket.connect(site.address).await.unwrap()
}

async fn connect_from(site: &Site, host: u8) -> Wire {
    Wire::of(stream_from(site, host).await)
}

async fn answer_to(site: &Site, host: u8, post: &Post) -> Response {
    let mut wire = connect_from(site, host).await;
    wire.send(post.text()).await;
    wire.response().await
}

fn hello() -> Post {
    Post::of(&call("hello", json!({})))
}

fn wait() -> Post {
    Post::of(&call("wait", json!({})))
}

const GREEDY: u8 = 2;
const MODEST: u8 = 3;
const THIRD: u8 = 4;

#[tokio::test]
async fn ht_8_one_address_does_not_take_all_permits() {
    let gate = Gate::default();
    let endpoint = Endpoint::anonymous(tools::builder(&gate).build().unwrap()).concurrency(8);
    let site = Site::start(Serve::new(endpoint));
    let mut running = Vec::new();
    for _ in 0..6 {
        let mut wire = connect_from(&site, GREEDY).await;
        wire.send(wait().text()).await;
        gate.reached().await;
        running.push(wire);
    }
    assert_eq!(answer_to(&site, GREEDY, &hello()).await.status, 503, "the last quarter is for others");
    for _ in 0..10 {
        assert_eq!(answer_to(&site, MODEST, &hello()).await.status, 200);
    }
    for wire in &mut running {
        gate.open();
        assert_eq!(wire.response().await.status, 200, "what runs is never ended for another");
    }
    assert_eq!(answer_to(&site, GREEDY, &hello()).await.status, 200);
}

/// Takes the bearer token for the name of the caller.
#[derive(Debug)]
struct ByName;

#[async_trait]
impl Authenticator for ByName {
    async fn authenticate(&self, head: &RequestHead<'_>) -> Result<Identity, Challenge> {
        let token = head.headers.get("authorization").and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let name = token.ok_or_else(|| Challenge::bearer())?;
        Ok(match name.split_once('@') {
            Some((name, tenant)) => Identity::of(Caller::new("test", name)).for_tenant(tenant),
            None => Identity::of(Caller::new("test", name)),
        })
    }
}

/// Fills what one caller may have, by requests with this header, and returns the answer to another caller.
async fn other_after_full(endpoint: Endpoint, gate: &Gate, header: &str, one: &str, other: &str) -> u16 {
    let site = Site::start(Serve::new(endpoint.concurrency(8)));
    let mut running = Vec::new();
    for _ in 0..6 {
        let mut wire = site.connect().await;
        wire.send(wait().with(header, one).text()).await;
        gate.reached().await;
        running.push(wire);
    }
    assert_eq!(site.answer(&hello().with(header, one)).await.status, 503);
    site.answer(&hello().with(header, other)).await.status
}

#[tokio::test]
async fn ht_8_callers_that_are_known_have_shares_of_their_own() {
    let gate = Gate::default();
    let endpoint = || Endpoint::new(tools::builder(&gate).build().unwrap(), ByName);
    let header = "Authorization";
    for (other, status) in [("Bearer bob", 200), ("Bearer ann@acme", 200), ("Bearer ann", 503)] {
        assert_eq!(other_after_full(endpoint(), &gate, header, "Bearer ann", other).await, status, "{other}");
    }
}

#[tokio::test]
async fn ht_8_behind_a_trusted_proxy_the_address_that_it_forwards_counts() {
    let gate = Gate::default();
    let endpoint = || Endpoint::anonymous(tools::builder(&gate).build().unwrap());
    let trusting = || endpoint().trusted_proxy([127, 0, 0, 1], 32);
    let header = "X-Forwarded-For";
    let (one, other) = ("198.51.100.7", "198.51.100.8");
    assert_eq!(other_after_full(trusting(), &gate, header, one, other).await, 200);
    assert_eq!(other_after_full(trusting(), &gate, header, one, "198.51.100.8, 198.51.100.7").await, 503);
    assert_eq!(other_after_full(endpoint(), &gate, header, one, other).await, 503, "nobody is trusted by default");
    let standard = trusting().forwarded_header(ForwardedHeader::Forwarded);
    assert_eq!(other_after_full(standard, &gate, "Forwarded", "for=198.51.100.7", "for=198.51.100.8").await, 200);
}

/// The half of a body, which never goes on.
async fn dripping(site: &Site, host: u8) -> Wire {
    let mut wire = connect_from(site, host).await;
    wire.send(format!("{}Content-Length: 100\r\nExpect: 100-continue\r\n\r\n", hello().head())).await;
    assert_eq!(wire.head().await.status, 100, "its body is waited for");
    wire
}

#[tokio::test]
async fn ht_8_bodies_that_do_not_come_keep_nobody_out() {
    let site = Site::start(Serve::new(Endpoint::anonymous(tools::server()).concurrency(64)));
    let mut slow = Vec::new();
    for _ in 0..64 {
        slow.push(dripping(&site, GREEDY).await);
    }
    for _ in 0..10 {
        assert_eq!(answer_to(&site, MODEST, &hello()).await.status, 200, "another");
        assert_eq!(answer_to(&site, GREEDY, &hello()).await.status, 200, "or the same");
    }
    // They have made way, the oldest first; the last ones are still waited for.
    let refused = slow[0].response().await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    let last = slow.last_mut().unwrap();
    last.send(" ".repeat(100)).await;
    assert_eq!(last.response().await.status, 400, "it is read, and no JSON");
}

/// Bodies that do not come make way for requests that run, as many as there may be.
#[tokio::test]
async fn ht_8_bodies_that_do_not_come_make_way_for_what_runs() {
    let gate = Gate::default();
    let endpoint = Endpoint::anonymous(tools::builder(&gate).build().unwrap()).concurrency(16);
    let site = Site::start(Serve::new(endpoint));
    let mut slow = Vec::new();
    for _ in 0..12 {
        slow.push(dripping(&site, GREEDY).await);
    }
    let mut running = Vec::new();
    for host in [MODEST, THIRD, MODEST, THIRD, MODEST, THIRD] {
        let mut wire = connect_from(&site, host).await;
        wire.send(wait().text()).await;
        gate.reached().await;
        running.push(wire);
    }
    for wire in &mut running {
        gate.open();
        assert_eq!(wire.response().await.status, 200);
    }
}

fn listen() -> Post {
    Post::of(&request("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } })))
}

#[tokio::test]
async fn ht_8_subscriptions_of_one_caller_make_way_for_those_of_others() {
    let endpoint = Endpoint::anonymous(tools::server()).subscriptions(8);
    let site = Site::start(Serve::new(endpoint));
    let subscribe = async |host| {
        let mut wire = connect_from(&site, host).await;
        wire.send(listen().text()).await;
        let status = wire.head().await.status;
        (wire, status)
    };
    let mut greedy = Vec::new();
    for _ in 0..6 {
        let (wire, status) = subscribe(GREEDY).await;
        assert_eq!(status, 200);
        greedy.push(wire);
    }
    assert_eq!(subscribe(GREEDY).await.1, 503, "the last quarter is for others, and its own do not make way");
    let mut others = Vec::new();
    for host in [MODEST, MODEST, THIRD, THIRD] {
        let (wire, status) = subscribe(host).await;
        assert_eq!(status, 200, "127.0.0.{host}");
        others.push(wire);
    }
    greedy[0].rest().await;
    greedy[1].rest().await;
    assert!(greedy[2].event().await.is_some(), "the others are kept");
}

async fn large(_: Flow) -> Result<String, Failure> {
    Ok("x".repeat(LARGE))
}

const LARGE: usize = 3 << 20;

fn with_large_replies() -> Server {
    let server = Server::builder("test", "1.0.0").tool(Tool::new("large", large));
    server.tool(Tool::new("hello", tools::hello)).build().unwrap()
}

type Sender = SendRequest<Full<Bytes>>;

async fn http2_from(site: &Site, host: u8, window: u32) -> Sender {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(window).initial_connection_window_size(1 << 24);
    let stream = stream_from(site, host).await;
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(async { drop(connection.await) });
    sender
}

async fn send(sender: &mut Sender, post: &Post) -> http::Response<hyper::body::Incoming> {
    let request = http::Request::post("http://localhost/mcp").version(http::Version::HTTP_2);
    let headers = post.headers.iter().filter(|(name, _)| name != "Host");
    let request = headers.fold(request, |request, (name, value)| request.header(name, value));
    let request = request.body(Full::from(post.body.clone())).unwrap();
    within("a response", sender.send_request(request)).await.unwrap()
}

#[tokio::test]
async fn ht_8_unread_replies_make_way_over_their_budget() {
    let post = Post::of(&call("large", json!({})));
    let endpoint = Endpoint::anonymous(with_large_replies()).reply_budget(4 * LARGE);
    let site = Site::start(Serve::new(endpoint));
    let mut greedy = http2_from(&site, GREEDY, 1 << 16).await;
    let mut modest = http2_from(&site, MODEST, 1 << 16).await;
    let kept = send(&mut modest, &post).await;
    let mut unread = Vec::new();
    for _ in 0..5 {
        unread.push(send(&mut greedy, &post).await);
    }
    let mut read = Vec::new();
    for response in unread {
        read.push(within("a reply", response.collect()).await.is_ok());
    }
    assert!(!read[0] && !read[1], "the oldest of the largest holder's go first: {read:?}");
    assert!(read[4] && read[3], "what there is room for stays: {read:?}");
    assert!(within("a reply", kept.collect()).await.is_ok(), "another's are kept");
}

/// Returns more bytes than the sockets of a connection hold.
async fn flood(_: Flow) -> Result<String, Failure> {
    Ok("x".repeat(FLOOD))
}

const FLOOD: usize = 32 << 20;

#[tokio::test]
async fn ht_8_connections_that_leave_large_replies_unread_make_way() {
    let server = Server::builder("test", "1.0.0").tool(Tool::new("flood", flood)).build().unwrap();
    let site = Site::start(Serve::new(Endpoint::anonymous(server).reply_budget(FLOOD * 3 / 2)));
    let post = Post::of(&call("flood", json!({})));
    let (mut first, mut second) = (connect_from(&site, GREEDY).await, connect_from(&site, MODEST).await);
    for wire in [&mut first, &mut second] {
        wire.send(post.text()).await;
        assert_eq!(wire.head().await.status, 200);
    }
    assert!(first.rest().await.len() < FLOOD, "the older one is broken off");
    assert!(second.bytes(FLOOD).await.ends_with(b"x"), "the other one is kept");
}

#[tokio::test]
async fn ht_8_on_http2_heads_have_as_few_headers() {
    let site = Site::of(tools::server());
    let mut sender = http2_from(&site, GREEDY, 1 << 16).await;
    let with = |more: usize| (0..more).fold(hello(), |post, n| post.with(&format!("x-{n}"), "x"));
    assert_eq!(send(&mut sender, &with(80)).await.status(), 200);
    assert_eq!(send(&mut sender, &with(Serve::MAX_HEADERS + 1)).await.status(), 431);
}

#[tokio::test]
async fn ht_8_one_address_does_not_take_all_connections() {
    let gate = Gate::default();
    let serve = Serve::new(Endpoint::anonymous(tools::builder(&gate).build().unwrap())).connections(8);
    let site = Site::start(serve);
    let mut running = Vec::new();
    for _ in 0..6 {
        let mut wire = connect_from(&site, GREEDY).await;
        wire.send(wait().text()).await;
        gate.reached().await;
        running.push(wire);
    }
    // These wait, and hold up nobody: some are closed, since so many need not wait.
    let mut waiting = Vec::new();
    for _ in 0..100 {
        let mut wire = connect_from(&site, GREEDY).await;
        wire.send(hello().text()).await;
        waiting.push(wire);
    }
    for _ in 0..5 {
        assert_eq!(answer_to(&site, MODEST, &hello()).await.status, 200);
    }
    drop(running);
    assert_eq!(waiting[0].response().await.status, 200, "whoever waited is served as soon as there is a place");
}

/// Connections without a whole request make way, such as those of a client that sends heads which never end.
#[tokio::test]
async fn ht_8_connections_without_a_request_make_way() {
    let serve = Serve::new(Endpoint::anonymous(tools::server())).connections(8);
    let site = Site::start(serve.header_timeout(Duration::from_hours(1)));
    let mut silent = Vec::new();
    for _ in 0..8 {
        let mut wire = connect_from(&site, GREEDY).await;
        wire.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-").await;
        silent.push(wire);
    }
    for host in [MODEST, THIRD, GREEDY] {
        assert_eq!(answer_to(&site, host, &hello()).await.status, 200, "127.0.0.{host}");
    }
    silent[0].rest().await;
}

#[tokio::test]
async fn ht_8_in_an_application_the_address_is_the_one_that_it_tells() {
    let gate = Gate::default();
    let endpoint = Endpoint::anonymous(tools::builder(&gate).build().unwrap()).concurrency(8);
    let status = async |post: Post, address: Option<[u8; 4]>| {
        let request = http::Request::post("http://localhost/mcp");
        let request = post.headers.iter().fold(request, |request, (name, value)| request.header(name, value));
        let mut request = request.body(Full::new(Bytes::from(post.body))).unwrap();
        if let Some(address) = address {
            request.extensions_mut().insert(axum::extract::ConnectInfo(SocketAddr::from((address, 4711))));
        }
        endpoint.respond(request).await.status().as_u16()
    };
    let (one, other) = (Some([198, 51, 100, 7]), Some([198, 51, 100, 8]));
    let running = futures_util::future::join_all((0..6).map(|_| status(wait(), one)));
    let asking = async {
        for _ in 0..6 {
            gate.reached().await;
        }
        let statuses = [status(hello(), one).await, status(hello(), other).await, status(hello(), None).await];
        for _ in 0..6 {
            gate.open();
        }
        statuses
    };
    let (ran, asked) = tokio::join!(running, asking);
    assert_eq!((ran, asked), (vec![200; 6], [503, 200, 200]));
}
