//! `notifications/tasks` on a subscription: the state that `tasks/get` would return at that moment, for clients that
//! may hear it.

use std::sync::Arc;
use std::time::Duration;

use mrtr_schema::subscriptions::SubscriptionFilter;
use mrtr_server::testing::{Client, Listening, everything};
use mrtr_tasks::TaskOptions;
use serde_json::{Value, json};

use crate::faulty::{Fault, Faulty};
use crate::support::{Name, Outside, PATIENCE, Site, Started, greeting, memory, tool, with_tasks, within};

async fn listen(client: &Client, ids: &[&str]) -> Listening {
    let mut wanted = SubscriptionFilter::new();
    wanted.task_ids = Some(ids.iter().map(|id| (*id).to_owned()).collect());
    client.listen(wanted).await
}

async fn next(listening: &mut Listening) -> Value {
    within(PATIENCE, listening.next()).await.expect("it goes on")
}

/// The task that `tasks/get` returns, as a notification has it.
async fn got(task: &Started) -> Value {
    let mut got = task.get().await;
    got.as_object_mut().unwrap().retain(|name, _| name != "resultType" && name != "_meta");
    got
}

fn told(notification: &Value) -> Value {
    assert_eq!(notification["method"], "notifications/tasks", "{notification}");
    let mut told = notification["params"].clone();
    told.as_object_mut().unwrap().remove("_meta");
    told
}

#[tokio::test(start_paused = true)]
async fn tk_12_each_change_is_told_as_get_says_it() {
    let outside = Outside::default();
    let site = Site::of(tool(&outside, async |flow, outside| {
        outside.happen_after_gate("pack").await?;
        let name: Name = flow.elicit("name", "Who?").await?;
        outside.happen_after_gate("ship").await?;
        Ok(name.name)
    }));
    let task = site.start().await;
    let mut listening = listen(&task.client, &[&task.id]).await;
    let acknowledged = next(&mut listening).await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"], json!({ "taskIds": [task.id] }));
    outside.open_gate();
    let asks = next(&mut listening).await;
    assert_eq!(told(&asks), got(&task).await);
    assert_eq!(asks["params"]["status"], "input_required");
    assert_eq!(asks["params"]["_meta"], acknowledged["params"]["_meta"], "with the id of its subscription");
    task.accept("name", json!({ "name": "Ada" })).await;
    let works = next(&mut listening).await;
    assert_eq!(told(&works), got(&task).await);
    assert_eq!(works["params"]["status"], "working");
    // The handler runs again from the top, past both gates.
    (0..2).for_each(|_| outside.open_gate());
    outside.until("at the gate", 3).await;
    outside.open_gate();
    let done = next(&mut listening).await;
    assert_eq!(told(&done), got(&task).await);
    assert_eq!(done["params"]["result"]["content"][0]["text"], "Ada");
}

/// The extension: a server MUST answer -32021 with what is missing, and does not acknowledge the rest.
#[tokio::test(start_paused = true)]
async fn tk_12_task_ids_without_the_capability_are_refused_with_what_is_missing() {
    let site = Site::of(greeting());
    let task = site.start().await;
    let undeclared = Client::new(&site.server).declaring(everything());
    for ids in [json!([task.id]), json!(["unknown"]), json!([])] {
        let notifications = json!({ "toolsListChanged": true, "taskIds": ids });
        let asked = undeclared.request("subscriptions/listen", json!({ "notifications": notifications }));
        let refused = within(PATIENCE, asked).await.response().clone();
        let error = &refused["error"];
        assert_eq!(error["code"], -32021, "{refused}");
        let required = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
        assert_eq!(error["data"], json!({ "requiredCapabilities": required }), "{refused}");
    }
    let mut rest = SubscriptionFilter::new();
    rest.tools_list_changed = Some(true);
    let acknowledged = next(&mut undeclared.listen(rest).await).await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "nothing else needs it");
}

#[tokio::test(start_paused = true)]
async fn tk_12_what_cannot_be_shown_to_a_client_is_not_told_to_it() {
    let site = Site::of(greeting());
    let task = site.start().await;
    let bare = Client::new(&site.server).declaring(with_tasks(mrtr_schema::ClientCapabilities::new()));
    let mut listening = listen(&bare, &[&task.id]).await;
    next(&mut listening).await;
    task.until_asked(&["name"]).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!listening.heard().iter().any(|heard| heard["params"].get("inputRequests").is_some()));
    task.cancel().await;
    assert_eq!(next(&mut listening).await["params"]["status"], "cancelled");
}

#[tokio::test(start_paused = true)]
async fn tk_12_a_task_that_asks_or_is_over_when_it_is_subscribed_to_is_told_at_once() {
    let site = Site::of(greeting());
    let (asks, over) = (site.start().await, site.start().await);
    asks.until_asked(&["name"]).await;
    over.cancel().await;
    let mut listening = listen(&asks.client, &[&asks.id, &over.id]).await;
    next(&mut listening).await;
    let mut heard = [told(&next(&mut listening).await), told(&next(&mut listening).await)];
    heard.sort_by_key(|task| task["status"].as_str().unwrap().to_owned());
    assert_eq!(heard, [got(&over).await, got(&asks).await], "its client may have looked before it did");
}

#[tokio::test(start_paused = true)]
async fn tk_12_time_over_is_told() {
    let options = TaskOptions::default().ttl(Duration::from_mins(1), Duration::from_mins(1));
    let site = Site::with(memory(), options, [greeting()]);
    let task = site.start().await;
    let mut listening = listen(&task.client, &[&task.id]).await;
    loop {
        let heard = next(&mut listening).await;
        if heard["params"]["status"] == "failed" {
            assert_eq!(heard["params"]["error"]["message"], "The task's ttl is over");
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn tk_12_a_store_that_fails_for_a_moment_does_not_silence_a_subscription() {
    let store = Faulty::over(memory());
    let site = Site::with(Arc::clone(&store) as _, TaskOptions::default(), [greeting()]);
    let task = site.start().await;
    task.until_asked(&["name"]).await;
    let mut listening = listen(&task.client, &[&task.id]).await;
    next(&mut listening).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    listening.heard();
    store.fault("get", Fault::Fails, usize::MAX);
    site.store.wake(task.task_id()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    listening.heard();
    store.heal();
    task.cancel().await;
    assert_eq!(next(&mut listening).await["params"]["status"], "cancelled");
}

#[tokio::test(start_paused = true)]
async fn tk_12_nothing_is_told_twice_and_an_id_that_is_named_twice_counts_once() {
    let site = Site::of(greeting());
    let task = site.start().await;
    task.until_asked(&["name"]).await;
    let mut ids = vec![task.id.clone(); 3];
    ids.extend((0..150).map(|number| format!("{number:032x}")));
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    let mut listening = listen(&task.client, &ids).await;
    let acknowledged = next(&mut listening).await;
    assert_eq!(acknowledged["params"]["notifications"]["taskIds"].as_array().unwrap().len(), 151);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(listening.heard().len(), 1, "it asks, which is told once");
    for _ in 0..3 {
        task.accept("other", json!({})).await;
        site.tasks.wake(task.task_id()).await.unwrap();
        task.at_rest(&site).await;
    }
    let heard = listening.heard();
    let all: std::collections::BTreeSet<_> = heard.iter().map(ToString::to_string).collect();
    assert_eq!(all.len(), heard.len(), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn tk_12_more_ids_than_a_subscription_has_are_refused() {
    let site = Site::of(greeting());
    let task = site.start().await;
    let ids = |number: usize| (0..number).map(|number| format!("{number:032x}")).collect::<Vec<_>>();
    let notifications = json!({ "taskIds": ids(1025) });
    let asked = task.client.request("subscriptions/listen", json!({ "notifications": notifications }));
    let refused = within(PATIENCE, asked).await.response().clone();
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let most = ids(1024);
    let most: Vec<_> = most.iter().map(String::as_str).collect();
    let acknowledged = next(&mut listen(&task.client, &most).await).await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
}

/// The server looks through many records at once, and reads what a task holds only where there is something to tell.
#[tokio::test(start_paused = true)]
async fn tk_12_many_ids_are_read_in_few_statements() {
    let store = Faulty::over(memory());
    let site = Site::with(Arc::clone(&store) as _, TaskOptions::default(), [greeting()]);
    let task = site.start().await;
    task.until_asked(&["name"]).await;
    let mut ids = vec![task.id.clone()];
    ids.extend((0..1000).map(|number| format!("{number:032x}")));
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    let (gets, records) = (store.calls("get"), store.calls("records"));
    let mut listening = listen(&task.client, &ids).await;
    next(&mut listening).await;
    assert_eq!(next(&mut listening).await["params"]["status"], "input_required");
    assert_eq!((store.calls("get") - gets, store.calls("records") - records), (1, 4));
}
