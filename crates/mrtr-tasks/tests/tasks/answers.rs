//! Answers to a task: which count, which are asked for again, and under which key.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mrtr_schema::Revision;
use mrtr_schema::roots::ListRootsRequest;
use mrtr_server::handler::{IntoOutput, Output};
use mrtr_server::testing::Client;
use mrtr_server::{Failure, Flow, InputRequired, TaskPolicy, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Name, OLDER, Outside, Site, greeting, keys, tool, with_tasks};

#[derive(Deserialize, JsonSchema)]
struct Age {
    years: u32,
}

#[expect(clippy::needless_pass_by_value, reason = "it reads as the literal that it is")]
fn accepted(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

#[tokio::test(start_paused = true)]
async fn tk_5_an_answer_that_misses_the_form_is_acknowledged_and_asked_for_again_under_a_fresh_key() {
    for revision in Revision::MODERN {
        let site = Site::of(greeting());
        let task = site.start_in(revision).await;
        task.until_asked(&["name"]).await;
        let before = task.requests().await["name"].clone();
        let bad = [accepted(json!({ "nom": "Ada" })), accepted(json!({ "name": 7 })), json!({ "action": "accept" })];
        for (number, answer) in bad.into_iter().enumerate() {
            let key = if number == 0 { "name".to_owned() } else { format!("name.{}", number + 1) };
            let said = task.deliver(json!({ key: answer })).await;
            assert!(said["result"].is_object(), "acknowledged: {said}");
            assert_eq!(task.status().await, "input_required", "without having left it");
            assert_eq!(task.asked().await, [format!("name.{}", number + 2)]);
        }
        let mut again = task.requests().await["name.4"].clone();
        let message = again["params"]["message"].take();
        assert_eq!(message, "Who are you?\n\nthe form was not filled in", "with the reason for the last one");
        again["params"]["message"] = before["params"]["message"].clone();
        assert_eq!(again, before, "it is the same question");
        task.accept("name", json!({ "name": "Bob" })).await;
        assert_eq!(task.asked().await, ["name.4"], "a key that is retired is acknowledged and changes nothing");
        task.accept("name.4", json!({ "name": "Ada" })).await;
        assert_eq!(task.text().await, "Hello, Ada");
    }
}

#[tokio::test(start_paused = true)]
async fn tk_7_a_key_is_never_used_for_two_questions() {
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let site = Site::of(tool(&outside, async |flow, _| {
            // The second question is called what a fresh key of the first one would be.
            let first: Name = flow.elicit("name", "First?").await?;
            let second: Age = flow.elicit("name.2", "How old?").await?;
            Ok(format!("{} is {}", first.name, second.years))
        }));
        let task = site.start_in(revision).await;
        task.until_asked(&["name"]).await;
        task.deliver(json!({ "name": accepted(json!({})) })).await;
        task.until_asked(&["name.2"]).await;
        task.accept("name.2", json!({ "name": "Ada" })).await;
        task.until_asked(&["name.2.2"]).await;
        task.accept("name.2", json!({ "years": 7 })).await;
        assert_eq!(task.asked().await, ["name.2.2"]);
        task.accept("name.2.2", json!({ "years": 36 })).await;
        assert_eq!(task.text().await, "Ada is 36");
    }
}

#[tokio::test(start_paused = true)]
async fn tk_8_a_client_that_will_not_answer_cancels() {
    for revision in Revision::MODERN {
        let site = Site::of(greeting());
        let task = site.start_in(revision).await;
        task.until_asked(&["name"]).await;
        task.cancel().await;
        assert_eq!(task.status().await, "cancelled");
        let view = site.tasks.view(None, 1).await.unwrap().remove(0);
        assert_eq!(view.waits_for, mrtr_tasks::WaitsFor::Nothing);
    }
}

#[tokio::test(start_paused = true)]
async fn malformed_answers_are_an_error_and_change_nothing() {
    for revision in Revision::MODERN {
        let site = Site::of(greeting());
        let task = site.start_in(revision).await;
        task.until_asked(&["name"]).await;
        for malformed in [json!(7), json!([]), json!({ "name": 7 }), json!({ "name": [] }), json!({ "name": null })] {
            let said = task.deliver(malformed.clone()).await;
            assert_eq!(said["error"]["code"], -32602, "{malformed}: {said}");
        }
        let method = if revision == Revision::V2026_07_28 { "tasks/update" } else { "tasks/input_response" };
        let said = task.send(method, json!({})).await;
        assert_eq!(said["error"]["code"], -32602, "without answers: {said}");
        assert_eq!(task.asked().await, ["name"]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_answer_counts_and_later_ones_are_acknowledged() {
    let site = Site::of(greeting());
    let task = site.start().await;
    task.until_asked(&["name"]).await;
    task.accept("name", json!({ "name": "Ada" })).await;
    task.accept("name", json!({ "name": "Bob" })).await;
    task.deliver(json!({ "name": { "action": "cancel" } })).await;
    assert_eq!(task.text().await, "Hello, Ada");
    task.accept("name", json!({ "name": "Bob" })).await;
    assert_eq!(task.text().await, "Hello, Ada", "also after the end, in the published revision");
}

#[tokio::test(start_paused = true)]
async fn what_a_person_declines_reaches_the_flow() {
    for revision in Revision::MODERN {
        for action in ["decline", "cancel"] {
            let site = Site::of(greeting());
            let task = site.start_in(revision).await;
            task.until_asked(&["name"]).await;
            task.deliver(json!({ "name": { "action": action } })).await;
            let result = task.ended().await;
            assert_eq!(result["isError"], true, "{result}");
        }
    }
}

/// Asks for an age that is checked, and for a name.
async fn enter(flow: Flow, outside: Outside) -> Result<String, Failure> {
    outside.note("run");
    let age = flow.elicit::<Age>("age", "How old are you?");
    let age = age.validate(|age: &Age| if age.years < 18 { Err("You must be 18") } else { Ok(()) });
    let (age, name) = flow.join((age, flow.elicit::<Name>("name", "Who are you?"))).await?;
    Ok(format!("{} is {}", name.name, age.years))
}

#[tokio::test(start_paused = true)]
async fn what_validate_refuses_is_asked_again_under_a_fresh_key_with_the_reason() {
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let site = Site::of(tool(&outside, enter));
        let task = site.start_in(revision).await;
        task.until_asked(&["age", "name"]).await;
        task.accept("age", json!({ "years": 7 })).await;
        let requests = task.until_it_asks_also("age.2").await;
        let message = requests["age.2"]["params"]["message"].as_str().unwrap();
        assert!(message.contains("You must be 18"), "{message}");
        assert_eq!(keys(&requests).len(), 2, "{requests}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_was_asked_again_keeps_its_key_while_another_is_answered() {
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let site = Site::of(tool(&outside, enter));
        let task = site.start_in(revision).await;
        task.until_asked(&["age", "name"]).await;
        task.accept("age", json!({ "years": 7 })).await;
        let asked = task.until_it_asks_also("age.2").await["age.2"].clone();
        let runs = outside.count("run");
        task.accept("name", json!({ "name": "Ada" })).await;
        outside.until("run", runs + 1).await;
        task.at_rest(&site).await;
        let requests = task.requests().await;
        assert_eq!(requests, json!({ "age.2": asked }), "the person may be filling it in right now");
        task.accept("age.2", json!({ "years": 36 })).await;
        assert_eq!(task.text().await, "Ada is 36");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_whose_answer_missed_the_form_keeps_its_key_while_another_is_answered() {
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let site = Site::of(tool(&outside, enter));
        let task = site.start_in(revision).await;
        task.until_asked(&["age", "name"]).await;
        task.deliver(json!({ "age": accepted(json!({ "years": "seven" })) })).await;
        let asked = task.until_it_asks_also("age.2").await["age.2"].clone();
        let runs = outside.count("run");
        task.accept("name", json!({ "name": "Ada" })).await;
        outside.until("run", runs + 1).await;
        task.at_rest(&site).await;
        assert_eq!(task.requests().await, json!({ "age.2": asked }), "the person may be filling it in right now");
        task.accept("age.2", json!({ "years": 36 })).await;
        assert_eq!(task.text().await, "Ada is 36");
    }
}

/// Asks in other words each time that it runs, while a name is missing.
fn changing(pinned: bool) -> (Outside, Tool) {
    let outside = Outside::default();
    let runs = Arc::new(AtomicUsize::new(0));
    let made = tool(&outside, move |flow, outside| {
        let run = runs.fetch_add(1, Ordering::Relaxed);
        async move {
            outside.note("run");
            // In three runs it says two things.
            let words = if run == 0 { "Delete one file?" } else { "Delete two files?" };
            let consent = flow.elicit::<Name>("consent", words);
            let consent = if pinned { consent.pinned() } else { consent };
            let (consent, name) = flow.join((consent, flow.elicit::<Name>("name", "Who are you?"))).await?;
            Ok(format!("{} by {}", consent.name, name.name))
        }
    });
    (outside, made)
}

#[tokio::test(start_paused = true)]
async fn a_reworded_question_has_a_fresh_key_and_its_old_one_counts_no_more() {
    for revision in Revision::MODERN {
        let (_outside, made) = changing(false);
        let site = Site::of(made);
        let task = site.start_in(revision).await;
        task.until_asked(&["consent", "name"]).await;
        task.accept("name", json!({ "name": "Ada" })).await;
        let requests = task.until_asked(&["consent.2"]).await;
        assert_eq!(requests["consent.2"]["params"]["message"], "Delete two files?");
        task.accept("consent", json!({ "name": "yes" })).await;
        assert_eq!(task.asked().await, ["consent.2"], "what was agreed to is not asked any more");
        task.accept("consent.2", json!({ "name": "yes" })).await;
        assert_eq!(task.text().await, "yes by Ada");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_other_words_of_a_pinned_question_is_asked_for_again() {
    for revision in Revision::MODERN {
        let (_outside, made) = changing(true);
        let site = Site::of(made);
        let task = site.start_in(revision).await;
        task.until_asked(&["consent", "name"]).await;
        task.accept("consent", json!({ "name": "yes" })).await;
        let requests = task.until_it_asks_also("consent.2").await;
        assert_eq!(requests["consent.2"]["params"]["message"], "Delete two files?");
        task.deliver(
            json!({ "consent.2": accepted(json!({ "name": "yes" })), "name": accepted(json!({ "name": "Ada" })) }),
        )
        .await;
        assert_eq!(task.text().await, "yes by Ada");
    }
}

#[tokio::test(start_paused = true)]
async fn a_url_asks_for_consent_once_and_looks_again_after_pauses_that_double() {
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let site = Site::of(tool(&outside, async |flow, outside| {
            let done = || async {
                outside.note("looked");
                outside.count("looked") > 5
            };
            flow.elicit_url("connect", "Please connect", "https://example.com/connect").until(done).await?;
            Ok("connected".into())
        }));
        let task = site.start_in(revision).await;
        let requests = task.until_asked(&["connect"]).await;
        assert_eq!(requests["connect"]["params"]["mode"], "url");
        assert_eq!(outside.count("looked"), 1);
        task.deliver(json!({ "connect": { "action": "accept" } })).await;
        outside.until("looked", 2).await;
        let consented = tokio::time::Instant::now();
        let mut looks = Vec::new();
        for look in 3..=6 {
            let waits = task.get().await;
            assert_eq!(waits["status"], "working", "consent is asked once");
            assert!(waits["statusMessage"].is_string(), "it says what it waits for: {waits}");
            outside.until("looked", look).await;
            looks.push(consented.elapsed().as_secs_f64().round());
        }
        assert_eq!(looks, [2.0, 6.0, 14.0, 30.0], "after 2 s, 4 s, 8 s and 16 s");
        assert_eq!(task.text().await, "connected");
        assert_eq!(outside.count("looked"), 6);
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_is_asked_by_what_was_declared_at_creation() {
    let outside = Outside::default();
    let site = Site::of(tool(&outside, async |flow, _| Ok(flow.roots("roots").await?.len().to_string())));
    let bare = Client::new(&site.server).declaring(with_tasks(mrtr_schema::ClientCapabilities::new()));
    let task = site.start_as(bare, Revision::V2026_07_28).await;
    let failed = task.until("failed").await;
    assert_eq!(failed["error"]["code"], -32021, "{failed}");
    assert_eq!(failed["error"]["data"]["requiredCapabilities"], json!({ "roots": {} }));
}

#[tokio::test(start_paused = true)]
async fn an_answer_larger_than_an_entry_may_be_is_an_error_and_changes_nothing() {
    let options = mrtr_tasks::TaskOptions::default().limits(1_000, 10_000);
    for revision in Revision::MODERN {
        let site = Site::with(crate::support::memory(), options.clone(), [greeting()]);
        let task = site.start_in(revision).await;
        task.until_asked(&["name"]).await;
        let said = task.deliver(json!({ "name": accepted(json!({ "name": "a".repeat(2_000) })) })).await;
        assert_eq!(said["error"]["code"], -32602, "{said}");
        assert_eq!(task.asked().await, ["name"]);
        task.accept("name", json!({ "name": "Ada" })).await;
        assert_eq!(task.text().await, "Hello, Ada");
    }
}

#[tokio::test(start_paused = true)]
async fn however_often_an_answer_will_not_do_a_task_does_not_grow_without_end() {
    let site = Site::of(greeting());
    let task = site.start().await;
    task.until_asked(&["name"]).await;
    for _ in 0..300 {
        let key = task.asked().await.remove(0);
        let said = task.deliver(json!({ key: accepted(json!({})) })).await;
        assert!(said["result"].is_object(), "{said}");
    }
    let key = task.asked().await.remove(0);
    let number: u32 = key.trim_start_matches("name.").parse().unwrap();
    assert!(number <= 101, "{key}: keys are kept for as long as the task is");
    task.accept(&key, json!({ "name": "Ada" })).await;
    assert_eq!(task.text().await, "Hello, Ada");
}

#[tokio::test(start_paused = true)]
async fn answers_to_a_cancelled_task_change_nothing() {
    let site = Site::of(greeting());
    let task = site.start().await;
    task.until_asked(&["name"]).await;
    task.cancel().await;
    task.accept("name", json!({ "name": "Ada" })).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(task.status().await, "cancelled");
    for revision in OLDER {
        let task = site.start_in(revision).await;
        task.until_asked(&["name"]).await;
        task.cancel().await;
        let said = task.deliver(json!({ "name": accepted(json!({ "name": "Ada" })) })).await;
        assert_eq!(said["error"]["code"], -32602, "it is terminal: {said}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_optional_question_that_is_declined_is_none() {
    let outside = Outside::default();
    let site = Site::of(tool(&outside, async |flow, _| {
        let name: Option<Name> = flow.elicit("name", "Who?").optional().await;
        Ok(name.map_or("nobody".to_owned(), |name| name.name))
    }));
    let task = site.start().await;
    task.until_asked(&["name"]).await;
    task.deliver(json!({ "name": { "action": "decline" } })).await;
    assert_eq!(task.text().await, "nobody");
}

#[tokio::test(start_paused = true)]
async fn questions_by_hand_are_asked_and_answered() {
    async fn by_hand(flow: Flow) -> Result<Output, Failure> {
        match flow.given("roots") {
            None => InputRequired::new().ask("roots", ListRootsRequest::new()).into_output(),
            Some(_) => "done".into_output(),
        }
    }
    let site = Site::of(Tool::new("tool", by_hand).tasks(TaskPolicy::IfPossible));
    let task = site.start().await;
    task.until_asked(&["roots"]).await;
    task.deliver(json!({ "roots": { "roots": [{ "uri": "file:///home" }] } })).await;
    assert_eq!(task.text().await, "done");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_before_its_question_is_asked_again_is_not_forgotten() {
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let site = Site::of(tool(&outside, async |flow, outside| {
            outside.note("run");
            let one = flow.elicit::<Name>("one", "One?");
            if outside.count("run") == 1 {
                return Ok(one.await?.name);
            }
            // The second run has begun, and asks nothing yet.
            if outside.count("run") == 2 {
                outside.happen_after_gate("past the gate").await?;
            }
            let (one, two) = flow.join((one, flow.elicit::<Name>("two", "Two?"))).await?;
            Ok(format!("{} and {}", one.name, two.name))
        }));
        let task = site.start_in(revision).await;
        task.until_asked(&["one"]).await;
        task.at_rest(&site).await;
        site.tasks.wake(task.task_id()).await.unwrap();
        outside.until("at the gate", 1).await;
        task.accept("one", json!({ "name": "Ada" })).await;
        outside.open_gate();
        outside.until("run", 3).await;
        task.at_rest(&site).await;
        assert_eq!(task.asked().await, ["two"], "the first one was answered, and that was acknowledged");
        task.accept("two", json!({ "name": "Bob" })).await;
        assert_eq!(task.text().await, "Ada and Bob");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_lost_a_race_is_shown_no_more() {
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let site = Site::of(tool(&outside, async |flow, outside| {
            let asked = flow.branch(async { flow.elicit::<Name>("name", "Who?").await.map(|name| name.name) });
            let worked =
                flow.branch(async { flow.step("pack", outside.happen_after_gate("pack")).await.map_err(drop) });
            flow.race((asked, worked)).await.map_err(|error| error.to_string())?;
            flow.step("ship", outside.happen_after_gate("ship")).await?;
            Ok("done".into())
        }));
        let task = site.start_in(revision).await;
        task.until_asked(&["name"]).await;
        outside.until("at the gate", 1).await;
        outside.open_gate();
        outside.until("at the gate", 2).await;
        assert_eq!(task.status().await, "working");
        task.accept("name", json!({ "name": "Ada" })).await;
        outside.open_gate();
        assert_eq!(task.text().await, "done");
        assert_eq!(outside.count("pack"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_and_a_cancel_at_once_leave_it_cancelled() {
    for revision in Revision::MODERN {
        for cancel_first in [true, false] {
            let outside = Outside::default();
            let site = Site::of(tool(&outside, async |flow, outside| {
                flow.elicit::<Name>("name", "Who?").await?;
                outside.happen("shipped").await
            }));
            let task = site.start_in(revision).await;
            task.until_asked(&["name"]).await;
            let answer = || task.deliver(json!({ "name": accepted(json!({ "name": "Ada" })) }));
            if cancel_first {
                tokio::join!(task.cancel(), answer());
            } else {
                tokio::join!(answer(), task.cancel());
            }
            tokio::time::sleep(Duration::from_secs(30)).await;
            assert_eq!(task.status().await, "cancelled");
            assert_eq!(outside.count("shipped"), 0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_before_its_question_is_reworded_is_not_forgotten() {
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let site = Site::of(tool(&outside, async |flow, outside| {
            outside.note("run");
            if outside.count("run") == 2 {
                outside.happen_after_gate("past the gate").await?;
            }
            let words = if outside.count("run") == 1 { "Who?" } else { "Who are you?" };
            Ok(flow.elicit::<Name>("name", words).await?.name)
        }));
        let task = site.start_in(revision).await;
        task.until_asked(&["name"]).await;
        task.at_rest(&site).await;
        site.tasks.wake(task.task_id()).await.unwrap();
        outside.until("at the gate", 1).await;
        task.accept("name", json!({ "name": "Ada" })).await;
        outside.open_gate();
        assert_eq!(task.text().await, "Ada", "it was acknowledged");
        assert_eq!(outside.count("run"), 3);
    }
}
