//! The host of a request and the page that sent it: only this machine, unless the operator allows more.

use std::net::SocketAddr;

use mrtr_http::{Endpoint, Serve};
use serde_json::json;

use crate::support::message::{Post, call};
use crate::support::{Site, within};
use crate::tools;

fn post() -> Post {
    Post::of(&call("hello", json!({})))
}

#[tokio::test]
async fn ht_4_only_loopback_hosts_are_taken_by_default() {
    let site = Site::of(tools::server());
    for host in ["localhost", "LocalHost:8000", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8000"] {
        assert_eq!(site.answer(&post().with("Host", host)).await.status, 200, "{host}");
    }
    let foreign =
        ["evil.example", "localhost.evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost@evil"];
    for host in foreign {
        assert_eq!(site.answer(&post().with("Host", host)).await.status, 403, "{host}");
    }
    assert_eq!(site.answer(&post().without("Host")).await.status, 403, "none");
    let two = post().also("Host", "127.0.0.1");
    assert_ne!(site.answer(&two).await.status, 200, "two");
}

#[tokio::test]
async fn ht_4_http_1_0_needs_a_host_as_well() {
    let site = Site::of(tools::server());
    for (host, status) in [("", 403), ("Host: localhost\r\n", 405)] {
        let mut wire = site.connect().await;
        wire.send(format!("GET /mcp HTTP/1.0\r\n{host}\r\n")).await;
        assert_eq!(wire.head().await.status, status, "{host:?}");
    }
}

#[tokio::test]
async fn ht_4_a_target_that_names_a_host_is_checked_beside_the_header() {
    let site = Site::of(tools::server());
    let cases = [
        ("http://localhost/mcp", "localhost", 200),
        ("http://evil.example/mcp", "localhost", 403),
        ("http://localhost/mcp", "evil.example", 403),
    ];
    for (target, host, status) in cases {
        assert_eq!(site.answer(&post().to(target).with("Host", host)).await.status, status, "{target} {host}");
    }
}

#[tokio::test]
async fn ht_4_only_pages_of_this_machine_may_call_by_default() {
    let site = Site::of(tools::server());
    for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:3000"] {
        assert_eq!(site.answer(&post().with("Origin", origin)).await.status, 200, "{origin}");
    }
    let foreign = [
        "https://evil.example",
        "http://localhost.evil.example",
        "null",
        "",
        "localhost",
        "file://",
        "app://localhost",
        "http://localhost/path",
    ];
    for origin in foreign {
        assert_eq!(site.answer(&post().with("Origin", origin)).await.status, 403, "{origin}");
    }
    let two = post().with("Origin", "http://localhost").also("Origin", "https://evil.example");
    assert_eq!(site.answer(&two).await.status, 403);
}

#[tokio::test]
async fn ht_4_others_are_allowed_by_name() {
    let endpoint = Endpoint::anonymous(tools::server()).allow_host("mcp.example.com");
    let site = Site::start(Serve::new(endpoint.allow_origin("https://app.example.com").allow_origin("null")));
    let cases = [
        ("mcp.example.com", None, 200),
        ("MCP.example.com:443", Some("https://mcp.example.com"), 200),
        ("mcp.example.com", Some("https://app.example.com"), 200),
        ("mcp.example.com", Some("http://app.example.com"), 403),
        ("mcp.example.com", Some("https://app.example.com:8443"), 403),
        ("app.example.com", None, 403),
        ("localhost", Some("null"), 200),
        ("other.example.com", None, 403),
    ];
    for (host, origin, status) in cases {
        let post = post().with("Host", host);
        let post = origin.map_or(post.clone(), |origin| post.with("Origin", origin));
        assert_eq!(site.answer(&post).await.status, status, "{host} from {origin:?}");
    }
}

#[tokio::test]
async fn ht_4_serve_takes_no_address_that_others_reach() {
    let (loopback, all) = (SocketAddr::from(([127, 0, 0, 1], 0)), SocketAddr::from(([0, 0, 0, 0], 0)));
    let all_v6: SocketAddr = "[::]:0".parse().unwrap();
    // Of several, the first that can be had would be taken; which one that is must not decide who may call.
    let addresses =
        [vec![all], vec![all_v6], vec![loopback, all], vec![all, loopback], vec![loopback, all_v6, loopback]];
    for addresses in addresses {
        // A server that took them would serve until it is dropped.
        let refused = within("a refusal", mrtr_http::serve(&*addresses, tools::server())).await.unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput, "{addresses:?}");
    }
}
