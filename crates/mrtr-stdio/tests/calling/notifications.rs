//! Notifications find their calls, on an output that all calls share.

use mrtr_client::{CallEvent, Client, EventKind};
use mrtr_schema::{Json, JsonObject};
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

fn changed(subscription: Option<&Value>, uri: &str) -> Value {
    let meta = subscription.map(|id| json!({ "io.modelcontextprotocol/subscriptionId": id })).unwrap_or(json!({}));
    json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": uri, "_meta": meta } })
}

#[tokio::test]
async fn a_change_is_told_to_the_subscription_that_it_names() {
    let (mut server, client) = ScriptedServer::new();
    let client: Client = client.build();
    let mut events = client.events();
    let (mut listening, mut ids) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let listen = client.prepare("subscriptions/listen", JsonObject::parse(r#"{"notifications": {}}"#).unwrap());
        let client = client.clone();
        listening.push(tokio::spawn(async move { client.resume_as::<Json>(listen).await }));
        ids.push(server.hear().await["id"].clone());
    }
    server.say(changed(Some(&ids[1]), "for the second")).await;
    server.say(changed(Some(&ids[0]), "for the first")).await;
    server.say(changed(None, "for none by name: the first hears it")).await;
    server.say(changed(Some(&json!("over")), "for one that is over")).await;
    for id in &ids {
        server.respond(id, "the end").await;
    }
    for ended in listening {
        ended.await.unwrap().unwrap();
    }
    drop(client);
    let mut told = Vec::new();
    while let Some(CallEvent { call, kind, .. }) = events.next().await {
        if let EventKind::Other { params, .. } = kind {
            told.push((call, params.to::<Value>().unwrap()["uri"].as_str().unwrap().to_owned()));
        }
    }
    told.sort();
    let expected = [(1, "for none by name: the first hears it"), (1, "for the first"), (2, "for the second")];
    assert_eq!(told, expected.map(|(call, uri)| (call, uri.to_owned())));
}
