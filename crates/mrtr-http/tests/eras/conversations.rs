//! Whole conversations: the same calls with the same handlers, and the caller sees no difference.

use futures_util::StreamExt;
use mrtr_client::{CallErrorKind, Client, EventKind, RoundOutcome};
use mrtr_schema::{Era, Revision};
use mrtr_server::Legacy;
use serde_json::json;

use crate::front::{Front, Refusal};
use crate::support::until;
use crate::tracker::{DONE, Outside, answering, builder, server, text};

pub(crate) const NO_SESSION: Refusal = (400, "text/plain", "Bad Request: Missing session ID");

#[tokio::test]
async fn the_azure_devops_flow_is_one_call_in_every_revision_and_links_once_each() {
    let outside = Outside::default();
    let front = Front::start(server(&outside), None).await;
    let old = Front::start(server(&outside), Some(NO_SESSION)).await;
    let of = |front: &Front, revision| answering(Client::builder(front.transport())).revision(revision).build();
    let clients = [
        (front.client(), Era::Modern),
        (of(&front, Revision::V2025_11_25), Era::Legacy),
        (of(&front, Revision::V2025_06_18), Era::Legacy),
        (old.client(), Era::Legacy),
    ];
    for (number, (client, era)) in clients.into_iter().enumerate() {
        let result = client.call_tool("update_work_item", json!({ "workItemId": 4522 })).await.unwrap();
        assert_eq!((text(&result), outside.links()), (DONE.to_owned(), number + 1));
        assert_eq!(client.era(), Some(era));
    }
}

#[tokio::test]
async fn questions_of_every_kind_are_answered_at_once_by_the_same_handlers() {
    let front = Front::start(server(&Outside::default()), None).await;
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = answering(Client::builder(front.transport())).revision(revision).build();
        let result = client.call_tool("everything", json!({})).await.unwrap();
        assert_eq!(text(&result), "Paris in file:///src", "{revision}");
    }
}

#[tokio::test]
async fn what_a_client_declares_is_what_it_has_handlers_for() {
    let front = Front::start(server(&Outside::default()), None).await;
    let declared = |front: &Front| front.seen().last().unwrap().message["params"]["capabilities"].clone();
    let of = |revision| Client::builder(front.transport()).revision(revision);
    for (client, capabilities) in [
        (of(Revision::V2025_11_25), json!({})),
        (
            of(Revision::V2025_11_25).on_elicit(|form| async move { form.decline() }),
            json!({ "elicitation": { "form": {} } }),
        ),
        (of(Revision::V2025_06_18).on_elicit(|form| async move { form.decline() }), json!({ "elicitation": {} })),
        (of(Revision::V2025_06_18).on_url(|url| async move { url.decline() }), json!({})),
        (of(Revision::V2025_11_25).on_url(|url| async move { url.decline() }), json!({ "elicitation": { "url": {} } })),
        (answering(of(Revision::V2025_11_25)), json!({ "elicitation": { "form": {} }, "sampling": {}, "roots": {} })),
    ] {
        let before = front.count("initialize");
        client.build().list_tools().await.unwrap();
        let initialize = front.seen().into_iter().filter(|seen| seen.kind() == "initialize").nth(before).unwrap();
        assert_eq!(initialize.message["params"]["capabilities"], capabilities, "{}", declared(&front));
    }
}

#[tokio::test]
async fn progress_and_rounds_are_told_alike() {
    let front = Front::start(server(&Outside::default()), None).await;
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = answering(Client::builder(front.transport())).revision(revision).build();
        let events = client.events();
        client.call_tool("talk", json!({})).await.unwrap();
        client.call_tool("update_work_item", json!({ "workItemId": 1 })).await.unwrap();
        drop(client);
        let kinds: Vec<_> = events.map(|event| kind(&event.kind)).collect().await;
        let expected = [
            "round 1", "halfway", "done", "round 1", "asked", "answered", "round 2", "asked", "answered", "round 3",
            "done",
        ];
        assert_eq!(kinds, expected, "{revision}");
    }
}

fn kind(kind: &EventKind) -> String {
    match kind {
        EventKind::Round(round) => format!("round {round}"),
        EventKind::Asked(_) => "asked".to_owned(),
        EventKind::Answered(_) => "answered".to_owned(),
        EventKind::Progress(progress) => progress.message.clone().unwrap(),
        EventKind::Done => "done".to_owned(),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn a_handler_that_fails_ends_the_call_and_the_server_hears_of_it() {
    let outside = Outside::default();
    let front = Front::start(server(&outside), None).await;
    let client = Client::builder(front.transport())
        .revision(Revision::V2025_11_25)
        .on_elicit(|_| async { Err::<mrtr_schema::elicitation::ElicitResult, _>("there is no screen") })
        .build();
    let error = client.call_tool("update_work_item", json!({ "workItemId": 1 })).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::NotAnswered { .. }), "{error}");
    until("a cancellation", || front.count("notifications/cancelled") == 1).await;
    assert_eq!((front.count("answer"), outside.links()), (0, 0), "nothing was made up");
    let again = client.resume(error.into_pending().unwrap()).await.unwrap_err();
    assert!(matches!(again.kind, CallErrorKind::HeldByServer), "{again}");
}

#[tokio::test]
async fn a_call_is_put_down_before_it_is_asked_and_not_after() {
    let front = Front::start(server(&Outside::default()), None).await;
    let client = answering(Client::builder(front.transport())).revision(Revision::V2025_11_25).build();
    client.list_tools().await.unwrap();
    let call = client.prepare_tool("update_work_item", json!({ "workItemId": 4522 })).unwrap();
    let saved = serde_json::to_string(&call).unwrap();
    let later = answering(Client::builder(front.transport())).build();
    assert_eq!(text(&later.resume(serde_json::from_str(&saved).unwrap()).await.unwrap()), DONE);
    assert_eq!(later.era(), Some(Era::Modern), "a call that was not sent belongs to no era");

    assert!(matches!(client.call_tool_once("hello", json!({})).await, Ok(RoundOutcome::Complete(_))));
    let error = client.advance(call).await.unwrap_err();
    assert!(error.to_string().contains("in a session of 2025-11-25: there a call cannot be saved"), "{error}");
    assert!(error.pending().is_none(), "it can never be resumed");
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_at_the_server() {
    let outside = Outside::default();
    let front = Front::start(server(&outside), None).await;
    let client = Client::builder(front.transport()).revision(Revision::V2025_11_25).build();
    let call = tokio::spawn(async move { client.call_tool("wait", json!({})).await });
    outside.is_waiting().await;
    call.abort();
    outside.is_gone().await;
    let seen = front.seen();
    let call = seen.iter().find(|seen| seen.kind() == "tools/call").unwrap();
    let cancelled = seen.iter().find(|seen| seen.kind() == "notifications/cancelled").unwrap();
    assert_eq!(cancelled.message["params"]["requestId"], call.message["id"]);
}

#[tokio::test]
async fn a_server_without_sessions_is_called_in_the_legacy_era_too() {
    let stateless = builder(&Outside::default()).legacy(Legacy::Stateless).build().unwrap();
    let front = Front::start(stateless, Some(NO_SESSION)).await;
    let client = front.client();
    assert_eq!(text(&client.call_tool("hello", json!({})).await.unwrap()), "Hello");
    assert!(front.seen().iter().all(|seen| seen.session.is_none()));
}
