//! Lists and reads: all pages, kept for as long as the server says and no longer.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mrtr_client::testing::Script;
use mrtr_client::{
    CallErrorKind, Client, ServerMessage, ServerNotification, Transport, TransportError, TransportRequest,
    TransportResponse,
};
use mrtr_schema::completion::{CompleteParams, CompletionArgument, PromptReference};
use mrtr_schema::{CacheScope, CachingHints, Revision};
use mrtr_server::handler::Completing;
use mrtr_server::{Failure, Flow, Prompt, Resource, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::common::{InMemory, complete, results, rooted};

async fn nothing(_: Flow) -> Result<&'static str, Failure> {
    Ok("nothing")
}

fn library() -> InMemory {
    let minute = CachingHints::keep(60_000, CacheScope::Private);
    let mut server = Server::builder("library", "1.0.0").list_caching(minute.clone());
    for number in 0..5 {
        server = server.tool(Tool::new(format!("tool-{number}"), nothing));
    }
    let kept = Resource::new("docs://kept", "kept", nothing).caching(minute);
    let fresh = Resource::new("docs://fresh", "fresh", nothing);
    let pages = NonZeroUsize::new(2).unwrap();
    InMemory::new(server.resource(kept).resource(fresh).page_size(pages).build().unwrap())
}

#[tokio::test(start_paused = true)]
async fn all_pages_are_read_and_kept_for_as_long_as_the_server_says() {
    let transport = library();
    let client = Client::builder(transport.clone()).build();
    let names: Vec<_> = client.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["tool-0", "tool-1", "tool-2", "tool-3", "tool-4"]);
    client.list_tools().await.unwrap();
    assert_eq!(transport.sent().len(), 3);
    tokio::time::advance(Duration::from_secs(61)).await;
    client.list_tools().await.unwrap();
    assert_eq!(transport.sent().len(), 6);
    assert_eq!(client.list_resources().await.unwrap().len(), 2);
    assert!(client.list_resource_templates().await.unwrap().is_empty());
    assert_eq!(client.discover().await.unwrap().supported_versions, ["2026-07-28"]);
}

#[tokio::test(start_paused = true)]
async fn a_read_is_kept_only_if_the_server_says_so() {
    let transport = library();
    let client = Client::builder(transport.clone()).build();
    for _ in 0..2 {
        client.read_resource("docs://kept").await.unwrap();
        client.read_resource("docs://fresh").await.unwrap();
    }
    assert_eq!(transport.sent().len(), 3);
    client.clear_cache();
    client.read_resource("docs://kept").await.unwrap();
    assert_eq!(transport.sent().len(), 4);
}

#[tokio::test]
async fn a_list_without_an_end_is_an_error() {
    let turning = results(|request| {
        let next = if request["params"]["cursor"] == "a" { "b" } else { "a" };
        json!({ "resultType": "complete", "tools": [], "nextCursor": next })
    });
    let error = rooted(turning).list_tools().await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::BadResult { .. }), "{error}");

    let growing = results(|request| {
        let next = format!("{}x", request["params"]["cursor"].as_str().unwrap_or_default());
        json!({ "resultType": "complete", "tools": [], "nextCursor": next })
    });
    let error = rooted(growing).list_tools().await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::BadResult { .. }), "{error}");
    assert_eq!(error.pending().unwrap().method(), "tools/list", "the page that it ended at can be asked for");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_longer_good_makes_room() {
    let sent = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&sent);
    let client = rooted(results(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        json!({ "resultType": "complete", "contents": [], "ttlMs": 1000, "cacheScope": "private" })
    }));
    let read_twice = async |uri: String| {
        let before = sent.load(Ordering::Relaxed);
        client.read_resource(&uri).await.unwrap();
        client.read_resource(&uri).await.unwrap();
        sent.load(Ordering::Relaxed) - before
    };
    for number in 0..1000 {
        assert_eq!(read_twice(format!("docs://{number}")).await, 1);
    }
    assert_eq!(read_twice("docs://one-too-many".to_owned()).await, 2, "there is no room");
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(read_twice("docs://later".to_owned()).await, 1);
}

/// Says, before each reply, that something has changed.
#[derive(Debug)]
struct Announcing(&'static str, Script);

#[async_trait::async_trait]
impl Transport for Announcing {
    fn server(&self) -> &'static str {
        "announcing"
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        notified: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        if request.method == "tools/call" {
            let params = json!({}).into();
            notified(ServerMessage::Notification(ServerNotification { method: self.0.to_owned(), params }));
        }
        self.1.exchange(request, notified).await
    }
}

#[tokio::test]
async fn what_was_kept_is_forgotten_when_the_server_says_that_something_changed() {
    for (announced, sent) in
        [("notifications/tools/list_changed", 3), ("notifications/resources/updated", 3), ("notifications/progress", 2)]
    {
        let page = json!({ "resultType": "complete", "tools": [], "ttlMs": 60_000, "cacheScope": "private" });
        let script = Script::new().result(&page).result(complete("done")).result(&page);
        let client = Client::builder(Announcing(announced, script.clone())).build();
        client.list_tools().await.unwrap();
        client.call_tool("t", json!({})).await.unwrap();
        client.list_tools().await.unwrap();
        assert_eq!(script.sent().len(), sent, "{announced}");
    }
}

#[tokio::test]
async fn hints_that_make_no_sense_are_no_hints() {
    for hint in [json!(0), json!(-1), json!("60000"), json!(1.5), json!(null)] {
        let page = json!({ "resultType": "complete", "resources": [], "ttlMs": hint, "cacheScope": "public" });
        let script = Script::new().result(&page).result(&page);
        let client = rooted(script.clone());
        // Whether such a page is taken at all is the wire types' business.
        let _ = client.list_resources().await;
        let _ = client.list_resources().await;
        assert_eq!(script.sent().len(), 2, "{hint}");
    }
    let page = json!({ "resultType": "complete", "tools": [], "ttlMs": 60_000 });
    let script = Script::new().result(&page).result(&page);
    let client = Client::builder(script.clone()).revision(Revision::Sep2322).build();
    client.list_tools().await.unwrap();
    client.list_tools().await.unwrap();
    assert_eq!(script.sent().len(), 2, "older revisions have no hints");
}

#[derive(Deserialize, JsonSchema)]
struct Review {
    #[expect(dead_code, reason = "the prompt does not look at it")]
    language: String,
}

async fn review(_: Flow, _: Review) -> Result<&'static str, Failure> {
    Ok("Please review")
}

async fn languages(_: Flow, typing: Completing) -> Result<Vec<String>, Failure> {
    Ok(["python", "rust"].iter().filter(|name| name.starts_with(&typing.value)).map(ToString::to_string).collect())
}

#[tokio::test]
async fn completion_works_in_every_revision() {
    let prompt = Prompt::new("review", review).complete("language", languages);
    let transport = InMemory::new(Server::builder("prompts", "1.0.0").prompt(prompt).build().unwrap());
    let typed = CompletionArgument::new("language", "py");
    let params = CompleteParams::new(PromptReference::new("review"), typed);
    for revision in Revision::MODERN {
        let client = Client::builder(transport.clone()).revision(revision).build();
        let found = client.complete(&params).await.unwrap();
        assert_eq!(found.completion.values.as_slice(), ["python"], "{revision}");
        let result = client.get_prompt("review", json!({ "language": "rust" })).await.unwrap();
        assert_eq!(result.messages.len(), 1);
        assert_eq!(client.list_prompts().await.unwrap().len(), 1);
    }
    let metas: Vec<Value> = transport.sent().iter().map(|sent| sent["params"]["_meta"].clone()).collect();
    assert!(metas[..6].iter().all(Value::is_null), "older revisions say nothing of their client: {metas:?}");
    assert!(metas[6..].iter().all(|meta| meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"));
}
