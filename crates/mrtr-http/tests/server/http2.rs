//! HTTP/2, for clients that speak it from the start.

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mrtr_http::{Endpoint, Serve};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::support::Site;
use crate::support::message::{Post, call, watched};
use crate::support::wire::Wire;
use crate::tools::{self, Gate};

async fn connect(site: &Site) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(site.address).await.unwrap();
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

async fn send(sender: &mut SendRequest<Full<Bytes>>, post: Post, host: &str) -> Response<Incoming> {
    let mut request = Request::post(format!("http://{host}{}", post.path)).version(Version::HTTP_2);
    for (name, value) in post.headers.iter().filter(|(name, _)| name != "Host") {
        request = request.header(name, value);
    }
    sender.send_request(request.body(Full::from(post.body)).unwrap()).await.unwrap()
}

#[tokio::test]
async fn ht_5_requests_and_streams_share_a_connection() {
    let gate = Gate::default();
    let site = Site::of(tools::builder(&gate).build().unwrap());
    let mut sender = connect(&site).await;
    let stream = send(&mut sender, Post::of(&watched(call("talk", json!({})))), "localhost").await;
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let response = send(&mut sender, Post::of(&call("hello", json!({}))), "localhost").await;
    let body: Value = serde_json::from_slice(&response.collect().await.unwrap().to_bytes()).unwrap();
    assert_eq!(body["result"]["content"][0]["text"], "Hello");
    gate.reached().await;
    drop(stream);
    gate.dropped().await;
    assert_eq!(gate.passed(), 0, "dropping a stream cancels its flow alone");
    assert_eq!(send(&mut sender, Post::of(&call("hello", json!({}))), "localhost").await.status(), 200);
}

#[tokio::test]
async fn ht_4_its_authority_is_a_host() {
    let site = Site::of(tools::server());
    let mut sender = connect(&site).await;
    let hello = Post::of(&call("hello", json!({})));
    for (host, status) in [("localhost:1", 200), ("[::1]", 200), ("evil.example", 403)] {
        assert_eq!(send(&mut sender, hello.clone(), host).await.status(), status, "{host}");
    }
    let with_header =
        Post { headers: [hello.headers.clone(), vec![("host".into(), "evil.example".into())]].concat(), ..hello };
    assert_eq!(send(&mut sender, with_header, "localhost").await.status(), 403);
}

#[tokio::test]
async fn ht_8_a_body_that_is_too_large_costs_its_stream_alone() {
    let site = Site::start(Serve::new(Endpoint::anonymous(tools::server()).body_limit(1000)));
    let mut sender = connect(&site).await;
    let response = send(&mut sender, Post::plain(" ".repeat(2000)), "localhost").await;
    assert_eq!((response.status().as_u16(), response.headers().get("connection")), (413, None));
    assert_eq!(send(&mut sender, Post::of(&call("hello", json!({}))), "localhost").await.status(), 200);
}

#[tokio::test]
async fn ht_8_a_body_that_there_is_no_room_for_costs_its_stream_alone() {
    let gate = Gate::default();
    let endpoint = Endpoint::anonymous(tools::builder(&gate).build().unwrap()).body_budget(3 << 20);
    let site = Site::start(Serve::new(endpoint));
    let mut sender = connect(&site).await;
    let large = |tool| Post::of(&call(tool, json!({ "padding": "x".repeat(2 << 20) })));
    let mut other = sender.clone();
    let waiting = tokio::spawn(async move { send(&mut other, large("wait"), "localhost").await.status() });
    gate.reached().await;
    assert_eq!(send(&mut sender, large("hello"), "localhost").await.status(), 503);
    gate.open();
    assert_eq!(waiting.await.unwrap(), 200);
    assert_eq!(send(&mut sender, large("hello"), "localhost").await.status(), 200);
}

/// A client may send only so much before the server has read any of it.
#[tokio::test]
async fn ht_8_a_connection_takes_so_much_that_nobody_has_read() {
    let site = Site::of(tools::server());
    let mut wire = site.connect().await;
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    wire.send([b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(), &settings].concat()).await;
    let window = Serve::HTTP2_WINDOW;
    let settings = frame(&mut wire, SETTINGS).await;
    let initial = settings.chunks(6).find(|setting| setting[..2] == [0, 4]).unwrap();
    assert_eq!(initial[2..], window.to_be_bytes(), "of a stream");
    assert_eq!(frame(&mut wire, WINDOW_UPDATE).await, (window - 65_535).to_be_bytes(), "of the connection");
}

const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;

/// The payload of the next frame of a kind.
async fn frame(wire: &mut Wire, kind: u8) -> Vec<u8> {
    loop {
        let head = wire.bytes(9).await;
        let payload = wire.bytes(usize::from(u16::from_be_bytes([head[1], head[2]]))).await;
        if head[3] == kind {
            return payload;
        }
    }
}
