//! Notifications find their calls, on an output that all calls share.

use futures_util::StreamExt;
use mrtr_client::{CallEvent, Client, EventKind};
use serde_json::{Value, json};

use crate::scripted::ScriptedServer;

fn progress(token: &Value, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/progress",
        "params": { "progressToken": token, "progress": 1, "message": message } })
}

#[tokio::test]
async fn progress_is_told_to_the_call_whose_token_it_has() {
    let (mut server, client) = ScriptedServer::new();
    let client: Client = client.build();
    let mut events = client.events();
    let calls = tokio::spawn({
        let client = client.clone();
        async move { tokio::join!(client.call_tool("a", json!({})), client.call_tool("b", json!({}))) }
    });
    let mut asked = [server.hear().await, server.hear().await];
    asked.sort_by_key(|request| request["params"]["name"].to_string());
    for (request, said) in asked.iter().zip(["for a", "for b"]).rev() {
        server.say(progress(&request["params"]["_meta"]["progressToken"], said)).await;
    }
    for request in &asked {
        server.respond(&request["id"], "done").await;
    }
    let (a, b) = calls.await.unwrap();
    a.unwrap();
    b.unwrap();
    drop(client);
    let mut told = Vec::new();
    while let Some(CallEvent { name, kind, .. }) = events.next().await {
        if let EventKind::Progress(progress) = kind {
            told.push((name.unwrap(), progress.message.unwrap()));
        }
    }
    told.sort();
    assert_eq!(told, [("a".into(), "for a".into()), ("b".into(), "for b".to_owned())]);
}
