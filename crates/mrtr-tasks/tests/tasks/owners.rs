//! Owners of tasks: the server tells any other caller that there is no such task, in the same words on every method.

use mrtr_schema::Revision;
use mrtr_schema::subscriptions::SubscriptionFilter;
use mrtr_server::Caller;
use mrtr_server::testing::Client;
use mrtr_tasks::TaskOptions;
use serde_json::{Value, json};

use crate::support::{OLDER, Site, Started, ann, greeting};

/// Every method that names a task, in this revision, with what it needs besides.
fn methods(revision: Revision) -> Vec<(&'static str, Value)> {
    let answers = json!({ "inputResponses": { "name": { "action": "accept", "content": { "name": "Eve" } } } });
    if revision == Revision::V2026_07_28 {
        vec![("tasks/get", json!({})), ("tasks/update", answers), ("tasks/cancel", json!({}))]
    } else {
        let (get, result, cancel) = (json!({}), json!({}), json!({}));
        vec![("tasks/get", get), ("tasks/result", result), ("tasks/input_response", answers), ("tasks/cancel", cancel)]
    }
}

async fn is_unknown_to(task: &Started, stranger: &Client, revision: Revision) {
    let seen = Started { revision, ..task.by(stranger) };
    let missing = Started { id: "0123456789abcdef0123456789abcdef".to_owned(), ..seen.clone() };
    for (method, params) in methods(revision) {
        let said = seen.send(method, params.clone()).await["error"].clone();
        assert_eq!(said, json!({ "code": -32602, "message": "Unknown task" }), "{method}");
        assert_eq!(said, missing.send(method, params).await["error"], "as if there were none");
    }
}

#[tokio::test(start_paused = true)]
async fn tk_13_a_task_is_its_callers_alone() {
    for revision in Revision::MODERN {
        let site = Site::of(greeting());
        let client = |caller: Option<Caller>| site.speaking(revision).calling_as(caller);
        let of_ann = client(Some(ann()));
        let task = site.start_as(of_ann.clone(), revision).await;
        task.until_asked(&["name"]).await;
        let strangers = [
            client(None),
            client(Some(Caller::new("https://id.example.com", "eve"))),
            client(Some(Caller::new("https://id.example.org", "ann"))),
            client(Some(Caller::new("https://id.example.com/ann", ""))),
            of_ann.clone().in_context(|context| context.tenant("acme")),
        ];
        for stranger in &strangers {
            is_unknown_to(&task, stranger, revision).await;
        }
        assert_eq!(task.asked().await, ["name"], "and nothing that a stranger sent has changed it");
        task.accept("name", json!({ "name": "Ada" })).await;
        assert_eq!(task.text().await, "Hello, Ada");
        is_unknown_to(&task, &strangers[0], revision).await;
    }
}

#[tokio::test(start_paused = true)]
async fn tk_13_a_task_is_its_tenants_alone() {
    for revision in Revision::MODERN {
        let site = Site::of(greeting());
        let of = |tenant: &'static str| {
            site.speaking(revision).calling_as(ann()).in_context(|context| context.tenant(tenant))
        };
        let task = site.start_as(of("acme"), revision).await;
        is_unknown_to(&task, &of("other"), revision).await;
        is_unknown_to(&task, &of(""), revision).await;
        is_unknown_to(&task, &site.speaking(revision).calling_as(ann()), revision).await;
        task.until_asked(&["name"]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn tk_13_what_no_caller_created_is_no_callers() {
    for revision in Revision::MODERN {
        let site = Site::of(greeting());
        let task = site.start_as(site.speaking(revision), revision).await;
        is_unknown_to(&task, &site.speaking(revision).calling_as(ann()), revision).await;
        task.until_asked(&["name"]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_belongs_to_its_revision() {
    for revision in Revision::MODERN {
        let site = Site::of(greeting());
        let task = site.start_as(site.speaking(revision).calling_as(ann()), revision).await;
        for other in Revision::MODERN.into_iter().filter(|other| *other != revision) {
            is_unknown_to(&task, &site.speaking(other).calling_as(ann()), other).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_belongs_to_its_deployment() {
    use mrtr_state::{Key, KeyRing, Sealer};
    let site = Site::of(greeting());
    let task = site.start().await;
    task.until_asked(&["name"]).await;
    let sealer = Sealer::new(KeyRing::new(Key::new("k1", [7; 32]).unwrap()), "another").unwrap();
    let other = Site::sealed_by(Some(sealer), std::sync::Arc::clone(&site.store), TaskOptions::default(), [greeting()]);
    is_unknown_to(&task, &other.client(), Revision::V2026_07_28).await;
}

#[tokio::test(start_paused = true)]
async fn a_subscription_to_anothers_task_is_acknowledged_like_any_and_stays_silent() {
    let site = Site::of(greeting());
    let task = site.start_as(site.client().calling_as(ann()), Revision::V2026_07_28).await;
    task.until_asked(&["name"]).await;
    let mut wanted = SubscriptionFilter::new();
    wanted.task_ids = Some(vec![task.id.clone(), "0123456789abcdef0123456789abcdef".to_owned(), "nonsense".to_owned()]);
    let mut eve = site.client().listen(wanted.clone()).await;
    let mut ann = site.client().calling_as(ann()).listen(wanted).await;
    let acknowledged = [eve.next().await.unwrap(), ann.next().await.unwrap()];
    assert_eq!(acknowledged[0]["params"]["notifications"], acknowledged[1]["params"]["notifications"]);
    task.accept("name", json!({ "name": "Ada" })).await;
    task.until("completed").await;
    assert_eq!(ann.next().await.unwrap()["method"], "notifications/tasks");
    assert_eq!(eve.heard(), [Value::Null; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_list_shows_a_callers_own_tasks_of_this_revision() {
    for revision in OLDER {
        let site = Site::of(greeting());
        let of = |subject: &str| site.older(revision).calling_as(Caller::new("https://id.example.com", subject));
        let task = site.start_as(of("ann"), revision).await;
        site.start_as(of("bob"), revision).await;
        site.start_as(of("ann").in_context(|context| context.tenant("acme")), revision).await;
        site.start_as(site.client().calling_as(ann()), Revision::V2026_07_28).await;
        let listed = of("ann").request("tasks/list", json!({})).await;
        let listed = listed.response()["result"]["tasks"].as_array().unwrap();
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert_eq!(listed[0]["taskId"], task.id);
    }
}
