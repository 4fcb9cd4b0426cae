//! The failures: calls that are given up, servers that end, and servers that say what they must not.

use mrtr_client::{CallErrorKind, Limits};
use mrtr_stdio::StdioTransport;
use serde_json::{Value, json};

use crate::scripted::{PATIENCE, ScriptedServer, response};

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_at_the_server_and_others_go_on() {
    let (mut server, client) = ScriptedServer::new();
    let client = client.build();
    let given_up = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("slow", json!({})).await }
    });
    let request = server.hear().await;
    given_up.abort();
    let cancelled = server.hear().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], request["id"]);

    let next = tokio::spawn(async move { client.call_tool("quick", json!({})).await });
    let asked = server.hear().await;
    // The response to the one that was given up had been on its way.
    server.respond(&request["id"], "too late").await;
    server.respond(&asked["id"], "in time").await;
    let result = serde_json::to_value(next.await.unwrap().unwrap()).unwrap();
    assert_eq!(result["content"][0]["text"], "in time");
}

#[tokio::test]
async fn a_call_that_was_answered_is_not_cancelled() {
    let (mut server, client) = ScriptedServer::new();
    let client = client.build();
    let call = tokio::spawn(async move { client.call_tool("quick", json!({})).await });
    let request = server.hear().await;
    server.respond(&request["id"], "done").await;
    call.await.unwrap().unwrap();
    assert_eq!(server.try_hear().await, None, "and its input ends with the client");
}

#[tokio::test]
async fn a_server_that_closes_its_output_fails_every_call() {
    let (mut server, client) = ScriptedServer::new();
    let client = client.build();
    let calls = tokio::spawn({
        let client = client.clone();
        async move { tokio::join!(client.call_tool("a", json!({})), client.call_tool("b", json!({}))) }
    });
    server.hear().await;
    server.hear().await;
    drop(server);
    let (a, b) = tokio::time::timeout(PATIENCE, calls).await.expect("they end").unwrap();
    for failed in [a, b] {
        let error = failed.unwrap_err();
        assert!(
            matches!(&error.kind, CallErrorKind::Transport { source, .. }
            if source.to_string() == "the server has closed its output"),
            "{error}"
        );
    }
    assert!(client.call_tool("c", json!({})).await.is_err(), "there is no way to start it again");
}

#[tokio::test]
async fn lines_that_are_no_message_and_requests_are_passed_over() {
    let (mut server, client) = ScriptedServer::new();
    let client = client.build();
    let call = tokio::spawn(async move { client.call_tool("quick", json!({})).await });
    let id = server.hear().await["id"].clone();
    for line in [
        json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }).to_string(),
        json!({ "jsonrpc": "2.0", "id": 3, "method": "roots/list" }).to_string(),
        "Server listening!".to_owned(),
        "[]".to_owned(),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {} }).to_string(),
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": {} } }).to_string(),
        json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": 7 }).to_string(),
        response(&json!("another's"), "not yours").to_string(),
    ] {
        server.say(line).await;
    }
    server.respond(&id, "done").await;
    let result = serde_json::to_value(call.await.unwrap().unwrap()).unwrap();
    assert_eq!(result["content"][0]["text"], "done");
    assert_eq!(server.try_hear().await, None, "none of the requests was answered, a ping as little as the others");
}

#[tokio::test]
async fn a_reply_that_is_longer_than_the_call_takes_is_refused() {
    let (mut server, client) = ScriptedServer::new();
    let limits = Limits { reply_bytes: 1000, ..Limits::default() };
    let client = client.limits(limits).build();
    let call = tokio::spawn(async move { client.call_tool("long", json!({})).await });
    let id = server.hear().await["id"].clone();
    server.respond(&id, &"x".repeat(2000)).await;
    let error = call.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("1000") || format!("{error:?}").contains("longer than 1000 bytes"), "{error:?}");
}

/// No call waits for a response that was dropped: the client cannot tell whose it was.
#[tokio::test(start_paused = true)]
async fn a_message_that_is_too_long_fails_the_calls_that_wait_and_the_next_one_is_answered() {
    let (mut server, client) = ScriptedServer::new();
    let client = client.limits(Limits { reply_bytes: usize::MAX, ..Limits::default() }).build();
    let calls = tokio::spawn({
        let client = client.clone();
        async move { tokio::join!(client.call_tool("a", json!({})), client.call_tool("b", json!({}))) }
    });
    let id = server.hear().await["id"].clone();
    server.hear().await;
    server.respond(&id, &"x".repeat(StdioTransport::DEFAULT_LINE_LIMIT)).await;
    let (a, b) = tokio::time::timeout(PATIENCE, calls).await.expect("they end").unwrap();
    for failed in [a, b] {
        let error = failed.unwrap_err();
        assert!(
            matches!(&error.kind, CallErrorKind::Transport { source, .. }
            if source.to_string() == "the server sent a message that is too long"),
            "{error}"
        );
    }
    let next = tokio::spawn(async move { client.call_tool("c", json!({})).await });
    let id = server.hear().await["id"].clone();
    server.respond(&id, "short").await;
    assert_eq!(next.await.unwrap().unwrap().text(), "short");
}

/// A server that floods a call with notifications, whose caller does not take them, costs a bounded amount.
#[tokio::test]
async fn notifications_that_are_not_taken_are_dropped_beyond_a_bound() {
    let (mut server, client) = ScriptedServer::new();
    let client = client.build();
    let mut call = Box::pin(client.call_tool("flood", json!({})));
    // Sent, and then not polled again until all has come.
    let request: Value = tokio::select! {
        _ = &mut call => panic!("nothing was answered"),
        request = server.hear() => request,
    };
    let noise = json!({ "jsonrpc": "2.0", "method": "notifications/message",
        "params": { "level": "info", "data": "x".repeat(60_000) } });
    for _ in 0..300 {
        server.say(&noise).await;
    }
    server.respond(&request["id"], "done").await;
    let result = tokio::time::timeout(PATIENCE, call).await.expect("it is answered").unwrap();
    assert_eq!(serde_json::to_value(result).unwrap()["content"][0]["text"], "done");
}
