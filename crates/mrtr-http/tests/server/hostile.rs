//! Hostile bytes: whatever a stranger sends gets a refusal or a reply, never a panic, and the server serves the next
//! one as before.

use std::sync::LazyLock;
use std::time::Duration;

use mrtr_http::{Endpoint, Serve};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::support::Site;
use crate::support::message::{Post, call};
use crate::tools;

/// A server for all inputs: what one input breaks, the next one finds broken.
static SITE: LazyLock<(Runtime, Site)> = LazyLock::new(|| {
    let runtime = Runtime::new().unwrap();
    let endpoint = Endpoint::anonymous(tools::server()).body_timeout(Duration::from_secs(1)).body_limit(1 << 20);
    let site = runtime.block_on(async { Site::start(Serve::new(endpoint)) });
    (runtime, site)
});

fn hello() -> Post {
    Post::of(&call("hello", json!({})))
}

/// Sends bytes and no more, and returns everything that comes back.
fn exchange(bytes: &[u8]) -> Vec<u8> {
    let (runtime, site) = &*SITE;
    runtime.block_on(async {
        let mut wire = site.connect().await;
        wire.send(bytes).await;
        wire.finish().await;
        timeout(Duration::from_secs(10), wire.rest()).await.expect("it ends")
    })
}

/// Sends a whole request, waits for the answer, and returns everything that comes back.
fn ask(post: &Post) -> Vec<u8> {
    let (runtime, site) = &*SITE;
    runtime.block_on(async {
        let mut wire = site.connect().await;
        wire.send(post.clone().with("Connection", "close").text()).await;
        timeout(Duration::from_secs(10), wire.rest()).await.expect("it ends")
    })
}

fn still_serves() {
    let (runtime, site) = &*SITE;
    assert_eq!(runtime.block_on(site.answer(&hello())).status, 200);
}

/// The status of the first response; `None` where there is none.
fn status(reply: &[u8]) -> Option<u16> {
    let reply = String::from_utf8_lossy(reply);
    reply.strip_prefix("HTTP/1.")?.get(2..5)?.parse().ok()
}

/// The statuses that a stranger may see.
const EXPECTED: [u16; 14] = [200, 202, 400, 401, 403, 404, 405, 406, 408, 413, 414, 415, 431, 501];

fn answers_clearly(bytes: &[u8]) {
    let reply = exchange(bytes);
    if let Some(status) = status(&reply) {
        assert!(EXPECTED.contains(&status), "{}", String::from_utf8_lossy(&reply));
    }
    still_serves();
}

const OURS: &[&str] = &[
    "Host",
    "Origin",
    "Accept",
    "Content-Type",
    "Mcp-Method",
    "Mcp-Name",
    "MCP-Protocol-Version",
    "Mcp-Param-Item",
    "Mcp-Param-",
    "Content-Length",
    "Transfer-Encoding",
    "Connection",
    "Expect",
    "Upgrade",
    "TE",
];

fn header_name() -> impl Strategy<Value = String> {
    prop_oneof![select(OURS).prop_map(str::to_owned), "[!-~]{1,20}"]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn ht_8_any_bytes(bytes in vec(any::<u8>(), 0..512)) {
        answers_clearly(&bytes);
    }

    #[test]
    fn ht_8_any_headers(headers in vec((header_name(), vec(any::<u8>(), 0..40)), 0..6), whole in any::<bool>()) {
        let post = hello();
        let mut bytes = if whole { post.head().into_bytes() } else { b"POST /mcp HTTP/1.1\r\n".to_vec() };
        for (name, value) in headers {
            bytes.extend([name.as_bytes(), b": ", &value, b"\r\n"].concat());
        }
        bytes.extend(format!("Content-Length: {}\r\n\r\n{}", post.body.len(), post.body).bytes());
        answers_clearly(&bytes);
    }

    #[test]
    fn ht_8_any_body(body in ".{0,512}") {
        let reply = ask(&Post { body, ..hello() });
        prop_assert!(matches!(status(&reply), Some(200 | 202 | 400 | 404)), "{}", String::from_utf8_lossy(&reply));
        still_serves();
    }

    #[test]
    fn ht_8_a_request_with_changes(at in any::<Index>(), with in vec(any::<u8>(), 0..4), length in 0..4_usize) {
        let mut bytes = hello().text().into_bytes();
        let at = at.index(bytes.len());
        let end = (at + length).min(bytes.len());
        bytes.splice(at..end, with);
        answers_clearly(&bytes);
    }

    #[test]
    fn ht_5_a_connection_that_breaks_anywhere(at in any::<Index>(), abrupt in any::<bool>()) {
        let text = hello().text();
        let (runtime, site) = &*SITE;
        runtime.block_on(async {
            let mut wire = site.connect().await;
            wire.send(&text[..at.index(text.len() + 1)]).await;
            if !abrupt {
                wire.finish().await;
                let _ = timeout(Duration::from_secs(10), wire.rest()).await.expect("it ends");
            }
        });
        still_serves();
    }

    #[test]
    fn ht_8_deep_and_wide_json(depth in 1..2000_usize, width in 1..2000_usize, open in select(&["[", "{\"a\":", "[["][..])) {
        let body = format!("{}{}", open.repeat(depth), "1,".repeat(width));
        prop_assert_eq!(status(&ask(&Post::plain(body))), Some(400));
        let mut message = call("hello", json!({ "wide": vec![1; width] }));
        message["params"]["arguments"]["many"] = (0..width).map(|key| (key.to_string(), json!([]))).collect();
        prop_assert_eq!(status(&ask(&Post::of(&message))), Some(200));
    }
}

#[test]
fn ht_8_requests_after_one_another_are_not_mixed_up() {
    let both = format!("{}{}", hello().text(), Post { body: "{".into(), ..hello() }.with("Connection", "close").text());
    let (runtime, site) = &*SITE;
    let (first, second) = runtime.block_on(async {
        let mut wire = site.connect().await;
        wire.send(both).await;
        (wire.response().await, wire.response().await)
    });
    assert_eq!((first.status, second.status), (200, 400));
}

#[test]
fn ht_8_two_lengths_are_no_length() {
    let post = hello();
    let length = post.body.len();
    for also in ["Content-Length: 7\r\n", "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: xchunked\r\n"] {
        let text = format!("{}Content-Length: {length}\r\n{also}\r\n{}", post.head(), post.body);
        let status = status(&exchange(text.as_bytes()));
        assert_ne!(status, Some(200), "{also}");
        still_serves();
    }
}

#[test]
fn ht_8_a_body_in_another_transfer_coding_is_not_read_as_plain() {
    let post = hello();
    let chunks = format!("{:x}\r\n{}\r\n0\r\n\r\n", post.body.len(), post.body);
    for (codings, expected) in [
        ("Transfer-Encoding: chunked", 200),
        ("Transfer-Encoding: Chunked", 200),
        ("Transfer-Encoding: gzip, chunked", 501),
        ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", 501),
        ("Transfer-Encoding: chunked, chunked", 501),
    ] {
        let text = format!("{}{codings}\r\n\r\n{chunks}", post.clone().with("Connection", "close").head());
        let (runtime, site) = &*SITE;
        let response = runtime.block_on(async {
            let mut wire = site.connect().await;
            wire.send(text).await;
            wire.response().await
        });
        assert_eq!(response.status, expected, "{codings}");
        still_serves();
    }
}
