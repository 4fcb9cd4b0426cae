//! Lines that are no message, or none that is taken: each is answered, and the next one is read.

use mrtr_server::Server;
use mrtr_stdio::Stdio;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use crate::peer::{Peer, request};

fn server() -> Server {
    Server::builder("empty", "1.0.0").build().unwrap()
}

#[tokio::test]
async fn an_unreadable_first_line_is_answered_and_the_server_goes_on() {
    for (line, code) in [
        ("hello?", -32700),
        ("{", -32700),
        ("[]", -32600),
        ("{}", -32600),
        ("null", -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, -32602),
        (&"[".repeat(100_000), -32700),
    ] {
        let mut peer = Peer::new(server());
        peer.say(line).await;
        assert_eq!(peer.hear().await["error"]["code"], code, "{line:.80}");
        peer.send(&request(2, "server/discover", json!({}))).await;
        assert_eq!(peer.hear().await["result"]["supportedVersions"], json!(["2026-07-28"]));
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_are_answered() {
    use tokio::io::AsyncWriteExt;
    let mut peer = Peer::new(server());
    peer.write.write_all(b"\xff\xfe\x00\n").await.unwrap();
    assert_eq!(peer.hear().await["error"]["code"], -32700);
}

#[tokio::test]
async fn a_line_that_is_too_long_is_refused_and_the_next_one_is_read() {
    let mut peer = Peer::of(Stdio::new(server()).line_limit(1000), 64);
    peer.say(&"x".repeat(100_000)).await;
    assert_eq!(peer.hear().await["error"]["message"], "The line is too long.");
    peer.send(&request("next", "server/discover", json!({}))).await;
    assert_eq!(peer.hear().await["id"], "next");
}

#[tokio::test]
async fn responses_and_empty_lines_are_never_answered() {
    let mut peer = Peer::new(server());
    for line in ["", "   ", "\r", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#] {
        peer.say(line).await;
    }
    peer.say(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}"#).await;
    peer.say(r#"{"jsonrpc":"2.0","method":"notifications/whatever"}"#).await;
    peer.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#).await;
    peer.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#).await;
    assert_eq!(peer.end().await, "");
}

/// Whatever the client says, only messages come back, and the server is there afterwards.
#[test]
fn any_lines_are_answered_with_messages_alone() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let line = prop_oneof![
        proptest::collection::vec(any::<u8>().prop_filter("one line", |byte| *byte != b'\n'), 0..60),
        Just(request(1, "server/discover", json!({})).to_string().into_bytes()),
        Just(request(1, "tools/call", json!({ "name": "none" })).to_string().into_bytes()),
        Just(br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#.to_vec()),
    ];
    let lines = proptest::collection::vec(line, 0..12);
    let outcome = TestRunner::new(Config::with_cases(64)).run(&lines, |lines| {
        runtime.block_on(async {
            use tokio::io::AsyncWriteExt;
            let mut peer = Peer::of(Stdio::new(server()).concurrency(2), 256);
            let mut writer = std::mem::replace(&mut peer.write, tokio::io::duplex(1).0);
            let text = [lines.join(&b'\n'), b"\n".to_vec()].concat();
            let writing = tokio::spawn(async move {
                writer.write_all(&text).await.unwrap();
                writer
                    .write_all(format!("{}\n", request("last", "server/discover", json!({}))).as_bytes())
                    .await
                    .unwrap();
                writer
            });
            // It may be refused, if too many run at a time; but it is answered.
            while peer.hear().await["id"] != "last" {}
            drop(writing.await);
        });
        Ok(())
    });
    outcome.unwrap();
}
