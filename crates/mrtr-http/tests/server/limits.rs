//! Limits: how much, how deep, how slow, and how many at a time.

use std::time::{Duration, Instant};

use mrtr_http::{Endpoint, Serve};
use mrtr_server::{Failure, Flow, Server, Tool};
use serde_json::json;

use crate::support::Site;
use crate::support::message::{Post, call, watched};
use crate::tools::{self, Gate};

fn hello() -> Post {
    Post::of(&call("hello", json!({})))
}

#[tokio::test]
async fn ht_8_a_body_that_says_it_is_too_large_is_not_read() {
    let site = Site::start(Serve::new(Endpoint::anonymous(tools::server()).body_limit(1000)));
    let mut wire = site.connect().await;
    wire.send(format!("{}Content-Length: 1001\r\n\r\n", hello().head())).await;
    let response = wire.response().await;
    assert_eq!((response.status, response.header("connection")), (413, Some("close")));
    let mut wire = site.connect().await;
    wire.send(format!("{}Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n", hello().head())).await;
    assert_eq!(wire.head().await.status, 413, "it is not told to continue");
}

/// One of the limits is beyond the size that the budget does not count, where the server gathers a body in parts.
#[tokio::test]
async fn ht_8_a_body_of_exactly_the_limit_is_taken_and_one_byte_more_is_not() {
    for limit in [1000, 300_000] {
        let site = Site::start(Serve::new(Endpoint::anonymous(tools::server()).body_limit(limit)));
        for (size, status) in [(limit, 200), (limit + 1, 413), (limit - 1, 200)] {
            let mut post = hello();
            post.body.push_str(&" ".repeat(size - post.body.len()));
            assert_eq!(site.answer(&post).await.status, status, "{size} bytes of {limit}");
            let mut wire = site.connect().await;
            wire.send(format!("{}Transfer-Encoding: chunked\r\n\r\n", post.head())).await;
            for piece in post.body.as_bytes().chunks(limit / 3) {
                wire.send(format!("{:x}\r\n", piece.len())).await;
                wire.send(piece).await;
                wire.send("\r\n").await;
            }
            wire.send("0\r\n\r\n").await;
            assert_eq!(wire.response().await.status, status, "{size} bytes of {limit} in pieces");
        }
    }
}

#[tokio::test]
async fn ht_8_a_body_in_pieces_is_cut_off_at_the_limit() {
    let site = Site::start(Serve::new(Endpoint::anonymous(tools::server()).body_limit(1000)));
    let mut wire = site.connect().await;
    wire.send(format!("{}Transfer-Encoding: chunked\r\n\r\n", hello().head())).await;
    for _ in 0..3 {
        wire.send(format!("190\r\n{}\r\n", " ".repeat(400))).await;
    }
    let response = wire.response().await;
    assert_eq!((response.status, response.header("connection")), (413, Some("close")));
    // Up to the limit, pieces of any size will do.
    let mut wire = site.connect().await;
    wire.send(format!("{}Transfer-Encoding: chunked\r\n\r\n", hello().head())).await;
    for byte in hello().body.chars() {
        wire.send(format!("1\r\n{byte}\r\n")).await;
    }
    wire.send("0\r\n\r\n").await;
    assert_eq!(wire.response().await.status, 200);
}

#[tokio::test]
async fn ht_8_a_client_that_keeps_sending_still_reads_why_it_was_refused() {
    let site = Site::start(Serve::new(Endpoint::anonymous(tools::server()).body_limit(1000)));
    for _ in 0..10 {
        let mut wire = site.connect().await;
        wire.send(format!("{}Content-Length: 4000000\r\n\r\n", hello().head())).await;
        for _ in 0..40 {
            wire.send(vec![b' '; 100_000]).await;
        }
        assert_eq!(wire.response().await.status, 413);
    }
}

#[tokio::test]
async fn ht_8_a_body_that_does_not_come_is_not_waited_for() {
    let endpoint = Endpoint::anonymous(tools::server()).body_timeout(Duration::from_millis(50)).concurrency(1);
    let site = Site::start(Serve::new(endpoint));
    let mut wire = site.connect().await;
    let text = hello().text();
    wire.send(&text[..text.len() - 1]).await;
    let response = wire.response().await;
    assert_eq!((response.status, response.header("connection")), (408, Some("close")));
    assert_eq!(wire.rest().await, b"", "the connection is closed");
    assert_eq!(site.answer(&hello()).await.status, 200, "its place is free again");
}

#[tokio::test]
async fn ht_8_a_head_that_does_not_come_is_not_waited_for() {
    let limit = Duration::from_millis(100);
    let site = Site::start(Serve::new(Endpoint::anonymous(tools::server())).header_timeout(limit));
    // The first two could still become HTTP/2.
    for begin in
        ["", "PRI * HT", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "P", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-"]
    {
        let mut wire = site.connect().await;
        let before = Instant::now();
        wire.send(begin).await;
        wire.rest().await;
        assert!(before.elapsed() >= limit / 2, "{begin:?} was closed at once");
        assert!(before.elapsed() < Duration::from_secs(5), "{begin:?}");
    }
    // Nor is the next request on a connection.
    let mut wire = site.connect().await;
    wire.send(hello().text()).await;
    assert_eq!(wire.response().await.status, 200);
    wire.rest().await;
}

#[tokio::test]
async fn ht_8_a_request_that_runs_longer_than_a_head_may_take_is_left_alone() {
    let gate = Gate::default();
    let server = tools::builder(&gate).build().unwrap();
    let limit = Duration::from_millis(20);
    let site = Site::start(Serve::new(Endpoint::anonymous(server)).header_timeout(limit));
    let mut wire = site.connect().await;
    wire.send(Post::of(&call("wait", json!({}))).text()).await;
    gate.reached().await;
    tokio::time::sleep(limit * 5).await;
    gate.open();
    assert_eq!(wire.response().await.status, 200);
}

#[tokio::test]
async fn ht_8_a_head_has_a_limit() {
    let site = Site::of(tools::server());
    let response = site.answer(&hello().with("X-Long", &"x".repeat(100 << 10))).await;
    assert_eq!(response.status, 431);
    let filled = |bytes: usize| hello().with("X-Long", &"x".repeat(bytes - hello().text().len()));
    assert_eq!(site.answer(&filled(Serve::HEAD_LIMIT - 1000)).await.status, 200);
    assert_eq!(site.answer(&filled(Serve::HEAD_LIMIT + 1000)).await.status, 431);
    // The length of the body is a header as well.
    let more = |count| (hello().headers.len() + 1..count).fold(hello(), |post, n| post.with(&format!("X-{n}"), "x"));
    assert_eq!(site.answer(&more(Serve::MAX_HEADERS)).await.status, 200);
    assert_eq!(site.answer(&more(Serve::MAX_HEADERS + 1)).await.status, 431);
}

#[tokio::test]
async fn ht_8_json_has_a_depth() {
    let site = Site::of(tools::server());
    let nested = |depth: usize| {
        let deep = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let post = hello();
        Post { body: post.body.replace("\"arguments\":{}", &format!("\"arguments\":{{\"x\":{deep}}}")), ..post }
    };
    assert_eq!(site.answer(&nested(100)).await.status, 200);
    let response = site.answer(&nested(126)).await;
    assert_eq!((response.status, response.code()), (400, Some(-32700)));
    for bytes in ["[".repeat(1 << 20), "{\"a\":".repeat(200_000)] {
        let response = site.answer(&Post::plain(bytes)).await;
        assert_eq!((response.status, response.code()), (400, Some(-32700)));
        assert!(response.json().get("id").is_none());
    }
    let site = Site::start(Serve::new(Endpoint::anonymous(tools::server()).json_depth(5)));
    assert_eq!(site.answer(&nested(10)).await.code(), Some(-32700));
}

#[tokio::test]
async fn ht_8_only_so_many_requests_run_at_a_time() {
    let gate = Gate::default();
    let server = tools::builder(&gate).build().unwrap();
    let site = Site::start(Serve::new(Endpoint::anonymous(server).concurrency(2)));
    let mut plain = site.connect().await;
    plain.send(Post::of(&call("wait", json!({}))).text()).await;
    gate.reached().await;
    let mut stream = site.connect().await;
    stream.send(Post::of(&watched(call("talk", json!({})))).text()).await;
    gate.reached().await;
    let refused = site.answer(&hello()).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    // A stream keeps its place until it ends.
    stream.head().await;
    stream.event().await.unwrap();
    assert_eq!(site.answer(&hello()).await.status, 503);
    gate.open();
    gate.open();
    while stream.event().await.is_some() {}
    assert_eq!(plain.response().await.status, 200);
    assert_eq!(site.answer(&hello()).await.status, 200);
}

#[tokio::test]
async fn ht_8_a_client_that_does_not_read_is_cut_off() {
    async fn flood(_: Flow) -> Result<String, Failure> {
        Ok("x".repeat(32 << 20))
    }
    let server = Server::builder("test", "1.0.0").tool(Tool::new("flood", flood)).build().unwrap();
    let limit = Duration::from_millis(100);
    let serve = Serve::new(Endpoint::anonymous(server)).write_timeout(limit);
    let site = Site::start(serve);
    let mut wire = site.connect().await;
    wire.send(Post::of(&call("flood", json!({}))).text()).await;
    let head = wire.head().await;
    let length: usize = head.header("content-length").unwrap().parse().unwrap();
    // Longer than it is waited for; how much longer does not matter.
    tokio::time::sleep(limit * 10).await;
    assert!(wire.rest().await.len() < length);
}

#[tokio::test]
async fn ht_8_no_limit_is_too_high() {
    let endpoint = Endpoint::anonymous(tools::server()).body_limit(usize::MAX).body_budget(usize::MAX);
    let endpoint = endpoint.concurrency(usize::MAX).subscriptions(usize::MAX).json_depth(usize::MAX);
    let site = Site::start(Serve::new(endpoint).connections(usize::MAX));
    assert_eq!(site.answer(&hello()).await.status, 200);
}
