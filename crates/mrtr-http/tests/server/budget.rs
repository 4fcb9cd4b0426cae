//! The budget for bodies: so many bytes are held at a time, and what does not fit is sent away.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::SystemTime;

use bytes::Bytes;
use http::Request;
use http_body::{Body, Frame};
use mrtr_http::{Endpoint, Serve};
use mrtr_server::{Failure, Flow, Resource, Server, Tool};
use mrtr_state::single_use::MemorySingleUse;
use serde_json::json;
use tokio::sync::mpsc;

use crate::shutdown::pay;
use crate::support::message::{Post, call, request, retry, watched};
use crate::support::{Site, until};
use crate::tools::{self, Gate};

/// Room for one of [`LARGE`] and not for two, beside what does not count, in the three quarters that one caller may
/// have.
const BUDGET: usize = 100_000;
const LARGE: usize = 60_000;

fn large(tool: &str) -> Post {
    Post::of(&call(tool, json!({ "padding": "x".repeat(LARGE) })))
}

fn small() -> Post {
    Post::of(&call("hello", json!({})))
}

fn site(server: Server) -> Site {
    Site::start(Serve::new(Endpoint::anonymous(server).body_budget(BUDGET)))
}

#[tokio::test]
async fn ht_8_a_body_is_held_until_its_round_is_answered() {
    let gate = Gate::default();
    let site = site(tools::builder(&gate).build().unwrap());
    let mut waiting = site.connect().await;
    waiting.send(large("wait").text()).await;
    gate.reached().await;
    let refused = site.answer(&large("hello")).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(site.answer(&small()).await.status, 200, "a small one is served all the same");
    gate.open();
    assert_eq!(waiting.response().await.status, 200);
    assert_eq!(site.answer(&large("hello")).await.status, 200);
}

#[tokio::test]
async fn ht_8_a_stream_holds_its_body_until_it_ends() {
    let gate = Gate::default();
    let site = site(tools::builder(&gate).build().unwrap());
    let mut stream = site.connect().await;
    stream.send(Post::of(&watched(call("talk", json!({ "padding": "x".repeat(LARGE) })))).text()).await;
    stream.head().await;
    stream.event().await.unwrap();
    assert_eq!(site.answer(&large("hello")).await.status, 503);
    gate.open();
    while stream.event().await.is_some() {}
    assert_eq!(site.answer(&large("hello")).await.status, 200);
}

#[tokio::test]
async fn ht_8_a_subscription_counts_with_what_it_listens_for() {
    // Where there are no resources, nothing is kept of what was to be heard of them.
    let one = Resource::new("test://one", "one", async |_: Flow| Ok::<_, Failure>("one"));
    let hello = Tool::new("hello", tools::hello);
    let server = Server::builder("test", "1.0.0").tool(hello).resource(one).build().unwrap();
    let site = site(server.clone());
    let filter = json!({ "resourceSubscriptions": [format!("test://{}", "x".repeat(LARGE))] });
    let listen = Post::of(&request("subscriptions/listen", json!({ "notifications": filter })));
    let mut stream = site.connect().await;
    stream.send(listen.text()).await;
    stream.head().await;
    stream.event().await.unwrap();
    assert_eq!(site.answer(&large("hello")).await.status, 503);
    server.changes().end_subscriptions();
    while stream.event().await.is_some() {}
    assert_eq!(site.answer(&large("hello")).await.status, 200);
}

#[tokio::test]
async fn ht_8_a_round_without_its_connection_still_holds_its_body() {
    let gate = Gate::default();
    let store = MemorySingleUse::new(SystemTime::UNIX_EPOCH.into());
    let server = Server::builder("test", "1.0.0").state(gate.clone()).tool(Tool::new("pay", pay).single_use(store));
    let server = server.tool(Tool::new("hello", tools::hello)).build().unwrap();
    let site = site(server.clone());
    let first = call("pay", json!({ "padding": "x".repeat(LARGE) }));
    let asked = site.answer(&Post::of(&first)).await.json();
    let mut wire = site.connect().await;
    wire.send(Post::of(&retry(first, &asked, "address", &json!({ "street": "Here" }))).text()).await;
    gate.reached().await;
    drop(wire);
    assert_eq!(site.answer(&large("hello")).await.status, 503);
    gate.open();
    until("the round has ended", || server.detached() == 0).await;
    assert_eq!(site.answer(&large("hello")).await.status, 200);
}

#[tokio::test]
async fn ht_8_only_bytes_that_have_arrived_count() {
    let site = site(tools::server());
    let mut stalled = Vec::new();
    for _ in 0..20 {
        let mut wire = site.connect().await;
        wire.send(format!("{}Content-Length: {LARGE}\r\nExpect: 100-continue\r\n\r\n", small().head())).await;
        assert_eq!(wire.head().await.status, 100, "its body is waited for");
        stalled.push(wire);
    }
    assert_eq!(site.answer(&large("hello")).await.status, 200);
}

#[tokio::test]
async fn ht_8_a_body_that_there_is_never_room_for_is_too_large() {
    let site = Site::start(Serve::new(Endpoint::anonymous(tools::server()).body_budget(LARGE / 2)));
    assert_eq!(site.answer(&large("hello")).await.status, 413);
    assert_eq!(site.answer(&small()).await.status, 200);
}

#[tokio::test]
async fn ht_8_a_client_that_is_sent_away_in_the_middle_of_a_body_reads_why() {
    let gate = Gate::default();
    let site = site(tools::builder(&gate).build().unwrap());
    let mut waiting = site.connect().await;
    waiting.send(large("wait").text()).await;
    gate.reached().await;
    let mut wire = site.connect().await;
    wire.send(format!("{}Transfer-Encoding: chunked\r\n\r\n", small().head())).await;
    for _ in 0..20 {
        wire.send(format!("2710\r\n{}\r\n", " ".repeat(10_000))).await;
    }
    assert_eq!(wire.response().await.status, 503);
    wire.finish().await;
    assert_eq!(wire.rest().await, b"", "what is left of the body is no request");
}

/// Two bodies fill what their caller may have: the one that wants more goes, and the other one may go on.
#[tokio::test]
async fn ht_8_bodies_do_not_wait_for_each_other() {
    let endpoint = Endpoint::anonymous(tools::server()).body_budget(3 * (FREE + PART));
    let ((one, its_body), (other, other_body)) = (slow(), slow());
    let (mut one, mut other) = (pin!(endpoint.respond(one)), pin!(endpoint.respond(other)));
    let piece = Bytes::from(vec![b' '; FREE + PART]);
    for (sender, responding) in [(&its_body, &mut one), (&other_body, &mut other)] {
        sender.send(piece.clone()).unwrap();
        assert!(poll(responding.as_mut()).is_none(), "more may come");
    }
    its_body.send(Bytes::from_static(b" ")).unwrap();
    assert_eq!(one.await.status(), 503);
    other_body.send(Bytes::from(small().body)).unwrap();
    drop(other_body);
    assert_eq!(other.await.status(), 200);
}

#[tokio::test]
async fn ht_8_a_body_that_breaks_off_gives_its_room_back() {
    let endpoint = Endpoint::anonymous(tools::server()).body_budget(BUDGET);
    let whole = || {
        let (request, body) = slow();
        body.send(Bytes::from(large("hello").body)).unwrap();
        request
    };
    let (request, body) = slow();
    body.send(Bytes::from(vec![b' '; LARGE])).unwrap();
    {
        let mut broken = pin!(endpoint.respond(request));
        assert!(poll(broken.as_mut()).is_none());
        assert_eq!(endpoint.respond(whole()).await.status(), 503);
    }
    assert_eq!(endpoint.respond(whole()).await.status(), 200);
}

/// A body of up to this size does not count.
const FREE: usize = Endpoint::UNCOUNTED_BODY;
/// The bytes that a body takes of the budget at a time.
const PART: usize = 64 << 10;

/// A request whose body comes as it is sent here.
fn slow() -> (Request<Slow>, mpsc::UnboundedSender<Bytes>) {
    let (sender, pieces) = mpsc::unbounded_channel();
    let request = Request::post("http://localhost/mcp");
    let request = small().headers.iter().fold(request, |request, (name, value)| request.header(name, value));
    (request.body(Slow(pieces)).unwrap(), sender)
}

struct Slow(mpsc::UnboundedReceiver<Bytes>);

impl Body for Slow {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

/// Goes on as far as it can.
fn poll<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
    match future.poll(&mut Context::from_waker(std::task::Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}
