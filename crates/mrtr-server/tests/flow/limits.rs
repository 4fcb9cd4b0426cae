//! How large a journal grows, how far a flow has come, and the ids that stay the same.

use mrtr_server::testing::Client;
use mrtr_server::{Failure, Flow, Server, StatePolicy};
use mrtr_state::Sealer;
use serde_json::json;

use crate::support::{Age, Effects, Log, Name, begin, call, client, expect_internal, tool};

/// A server whose states have 8 KiB.
fn small<M>(handler: impl mrtr_server::IntoHandler<M>) -> Client {
    let sealer = Sealer::this_process_only().limit(8 * 1024);
    Client::new(&Server::builder("test", "1").sealer(sealer).tool(tool(handler)).build().unwrap())
}

#[tokio::test]
async fn a_step_that_is_too_much_is_named() {
    let log = Log::start();
    let client = small(async |flow: Flow| {
        flow.step("little", async { Ok::<_, Failure>("x".repeat(100)) }).await?;
        let _ = flow.step("much", async { Ok::<_, Failure>("x".repeat(10_000)) }).await;
        Ok::<_, Failure>("swallowed")
    });
    expect_internal(&begin(&client).await, &log, "step `much`");
}

#[tokio::test]
async fn an_answer_that_is_too_much_is_named() {
    async fn handler(flow: Flow) -> Result<String, Failure> {
        let name = flow.elicit::<Name>("name", "Who?").await?.name;
        Ok(format!("{name} is {}", flow.elicit::<Age>("age", "How old?").await?.years))
    }
    let answer = json!({ "name": "x".repeat(10_000) });
    let log = Log::start();
    let call = begin(&small(handler)).await.accept("name", &answer).send().await;
    expect_internal(&call, &log, "answer `name`");
    let log = Log::start();
    let call = begin(&small(handler)).await.accept("name", &answer).send_carrying(None).await;
    expect_internal(&call, &log, "answer `name`");
}

#[tokio::test]
async fn progress_that_is_too_much_is_named() {
    let log = Log::start();
    let client = small(async |flow: Flow| {
        flow.yield_point(&"x".repeat(10_000)).await;
        Ok::<_, Failure>("swallowed")
    });
    expect_internal(&begin(&client).await, &log, "`progress`");
}

#[tokio::test]
async fn what_is_replaced_takes_no_room() {
    let client = small(async |flow: Flow| {
        for page in 0..1000 {
            flow.yield_point(&format!("page {page}")).await;
        }
        let wrong = |name: &Name| if name.name.len() > 3 { Err("too long") } else { Ok(()) };
        Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").validate(wrong).await?.name)
    });
    let mut call = begin(&client).await;
    for _ in 0..10 {
        call = call.accept("name", json!({ "name": "x".repeat(3000) })).send().await;
        call.expect_asked(&["name"]);
    }
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "Ada");
}

#[tokio::test]
async fn a_flow_resumes_from_its_last_yield_point() {
    let seen = Effects::default();
    let starts = seen.clone();
    let call = call(move |flow: Flow| {
        let seen = seen.clone();
        async move {
            let start: u32 = flow.resumed_from().unwrap_or(0);
            seen.happen(start.to_string());
            for page in start..start + 3 {
                flow.yield_point(&(page + 1)).await;
            }
            assert_eq!(flow.resumed_from::<u32>().unwrap_or(0), start, "an earlier run's, not this one's");
            assert_eq!(flow.resumed_from::<Vec<String>>(), None, "what does not fit is none");
            flow.elicit::<Name>("name", "Who?").await?;
            Ok::<_, Failure>("done")
        }
    })
    .await;
    let call = call.send().await;
    call.expect_asked(&["name"]);
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "done");
    assert_eq!(starts.all(), ["0", "3", "6"]);
}

/// A flow that tells its keys and ids in every run.
fn telling() -> (Client, Effects) {
    let told = Effects::default();
    let seen = told.clone();
    let client = client(move |flow: Flow| {
        let told = seen.clone();
        async move {
            told.happen(flow.idempotency_key("charge").await);
            told.happen(flow.idempotency_key("refund").await);
            told.happen(flow.interaction_id("visit"));
            told.happen(flow.interaction_id("other"));
            told.happen(flow.scope("s").interaction_id("visit"));
            flow.elicit::<Name>("name", "Who?").await?;
            Ok::<_, Failure>("done")
        }
    });
    (client, told)
}

#[tokio::test]
async fn keys_and_ids_are_the_same_in_every_round_and_nowhere_else() {
    let (client, told) = telling();
    let call = begin(&client).await.send().await;
    call.accept("name", json!({ "name": "Ada" })).send().await.expect_text();
    begin(&client).await.expect_asked(&["name"]);
    let all = told.all();
    let (rounds, other) = all.split_at(15);
    assert_eq!(rounds[..5], rounds[5..10]);
    assert_eq!(rounds[..5], rounds[10..]);
    let mut different: Vec<_> = rounds[..5].iter().chain(other).collect();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), 10, "{different:?}");
    assert!(different.iter().all(|id| id.len() == 32), "{different:?}");
}

#[tokio::test]
async fn a_flow_knows_who_asks_and_in_which_round() {
    let tool = tool(async |flow: Flow| {
        let before = (flow.round(), flow.principal().map(|caller| caller.subject().to_owned()), flow.revision());
        flow.elicit::<Name>("name", "Who?").await?;
        assert!(flow.capabilities().elicits_forms());
        Ok::<_, Failure>(format!("{before:?}"))
    });
    let server = Server::builder("test", "1").tool(tool.state_policy(StatePolicy::Always)).build().unwrap();
    let ann = Client::new(&server).calling_as(mrtr_server::Caller::new("https://id.example.com", "ann"));
    let call = begin(&ann).await.accept("name", json!({ "name": "Ada" }));
    let stolen = call.clone().as_client(&Client::new(&server)).send().await;
    assert_eq!(stolen.expect_error().code.as_i64(), -32602);
    assert_eq!(call.send().await.expect_text(), "(2, Some(\"ann\"), Published)");
}

#[tokio::test]
async fn a_key_tells_scopes_and_names_apart_wherever_the_slash_is() {
    let call = call(async |flow: Flow| {
        let keys = [
            flow.scope("a").idempotency_key("b/c").await,
            flow.scope("a/b").idempotency_key("c").await,
            flow.scope("a").scope("b").idempotency_key("c").await,
            flow.idempotency_key("a/b/c").await,
            flow.scope("1:a").idempotency_key("b").await,
            flow.scope("").idempotency_key("b").await,
            flow.idempotency_key("/b").await,
        ];
        let ids = [flow.scope("a").interaction_id("b/c"), flow.scope("a/b").interaction_id("c")];
        let different: std::collections::HashSet<_> = keys.iter().chain(&ids).collect();
        Ok::<_, Failure>(different.len().to_string())
    });
    assert_eq!(call.await.expect_text(), "9");
}
