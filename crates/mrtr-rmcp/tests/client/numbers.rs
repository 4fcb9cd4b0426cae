//! Numbers in parameters: what the server reads on the wire is what the caller gave, or nothing was sent.

use mrtr_client::{CallError, CallErrorKind, Client};
use mrtr_rmcp::RmcpTransport;
use mrtr_schema::{Json, Number, RawMembers};
use proptest::prelude::*;
use rmcp::service::ClientServiceExt;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::mpsc;

use crate::desk::{Silent, discover};

/// Serves a stream, and hands on each call as the text that came.
async fn eavesdrop(stream: DuplexStream, calls: mpsc::UnboundedSender<String>) {
    let (read, mut write) = tokio::io::split(stream);
    let mut lines = BufReader::new(read).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).expect("it is JSON");
        let result = if message["method"] == "server/discover" {
            json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} },
                "serverInfo": { "name": "ear", "version": "1" }, "ttlMs": 0, "cacheScope": "private" })
        } else {
            calls.send(line).ok();
            json!({ "resultType": "complete", "content": [] })
        };
        let reply = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        write.write_all(format!("{reply}\n").as_bytes()).await.expect("it listens");
    }
}

/// The arguments as the server reads them, or the reason why they were not sent.
async fn sent(arguments: &str) -> Result<String, String> {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (calls, mut heard) = mpsc::unbounded_channel();
    tokio::spawn(eavesdrop(theirs, calls));
    let rmcp = Silent.serve_with_lifecycle(ours, discover()).await.expect("it begins");
    let client = Client::builder(RmcpTransport::new("ear", rmcp.peer().clone())).build();
    let arguments = Json::parse(arguments).expect("it is JSON");
    let called = client.call_tool("count", arguments).await;
    // All that was sent has been read: the stream ends behind it.
    drop((client, rmcp));
    match called {
        Ok(_) => {
            let line = heard.recv().await.expect("it was heard");
            let message = RawMembers::parse(&line).expect("it is an object");
            let params = RawMembers::of(message.get("params").expect("it has some")).expect("they are an object");
            Ok(params.get("arguments").expect("they are there").get().to_owned())
        }
        Err(CallError { kind: CallErrorKind::Transport { source, .. }, .. }) => {
            assert_eq!(heard.recv().await, None, "it was sent all the same");
            Err(source.to_string())
        }
        Err(error) => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn numbers_that_rmcp_can_keep_arrive_as_they_were() {
    for number in [
        "1.0",
        "-1.0",
        "0",
        "-0.0",
        "0.1",
        "1.5",
        "0.30000000000000004",
        "5e-324",
        "9007199254740993",
        "18446744073709551615",
        "-9223372036854775808",
        "123456789.12345679",
    ] {
        let arguments = format!(r#"{{"n":[{{"deep":{number}}}]}}"#);
        assert_eq!(sent(&arguments).await.as_deref(), Ok(&*arguments));
    }
    for (spelt, arrives) in [("0.1e1", "1.0"), ("10.00", "10.0"), ("1E2", "100.0"), ("1e20", "1e+20")] {
        let arrived = sent(&format!(r#"{{"n":{spelt}}}"#)).await;
        assert_eq!(arrived, Ok(format!(r#"{{"n":{arrives}}}"#)), "the same number, spelt otherwise");
    }
}

#[tokio::test]
async fn numbers_that_rmcp_would_change_are_refused_and_nothing_is_sent() {
    for number in [
        "100000000000000000000",
        "18446744073709551616",
        "-9223372036854775809",
        "123456789012345678901234567890",
        "0.30000000000000000001",
        "3.14159265358979323846",
        "1e400",
        "1e-400",
        "-1e400",
    ] {
        let error = sent(&format!(r#"{{"n":[{{"deep":{number}}}]}}"#)).await.expect_err(number);
        assert!(error.contains(number) && error.contains("as a string"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Every number arrives with its value, an integer as an integer, or the call is refused.
    #[test]
    fn no_number_is_changed_on_the_way(number in "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it is built");
        if let Ok(arrived) = runtime.block_on(sent(&format!(r#"{{"n":{number}}}"#))) {
            let members = RawMembers::parse(&arrived).expect("it is an object");
            let arrived = members.get("n").expect("it is there").get();
            prop_assert_eq!(Number::parse(arrived).expect("a number"), Number::parse(&number).expect("a number"));
            let is_integer = |text: &str| !text.contains(['.', 'e', 'E']);
            prop_assert_eq!(is_integer(arrived), is_integer(&number), "{} for {}", arrived, number);
        }
    }

    /// A number that Rust's own types hold is never refused.
    #[test]
    fn every_float_and_integer_of_64_bits_arrives(float in any::<f64>(), integer in any::<i64>(), natural in any::<u64>()) {
        prop_assume!(float.is_finite());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it is built");
        let arguments = json!([float, integer, natural]).to_string();
        let arguments = format!(r#"{{"n":{arguments}}}"#);
        prop_assert_eq!(runtime.block_on(sent(&arguments)), Ok(arguments));
    }
}
