//! Completion: flows that give values for an argument while the user types it.

use mrtr_schema::Revision;
use mrtr_schema::completion::CompleteResult;
use mrtr_schema::prompts::PromptArgument;
use mrtr_server::handler::Completing;
use mrtr_server::{Failure, Flow, Prompt, Resource, ResourceTemplate, Server};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{builder, client, greet, name};

#[derive(Deserialize, JsonSchema)]
struct Place {
    #[expect(dead_code, reason = "only its name matters")]
    city: String,
}

async fn cities(_: Flow, typing: Completing) -> Result<Vec<String>, Failure> {
    let country = typing.others.get("country").map_or("France", String::as_str);
    let cities = [("France", "Paris"), ("France", "Pau"), ("Italy", "Parma")];
    let fitting = cities.iter().filter(|(of, city)| *of == country && city.starts_with(&typing.value));
    Ok(fitting.map(|(_, city)| (*city).to_owned()).collect())
}

fn server() -> Server {
    let many = async |_: Flow, _: Completing| Ok::<_, Failure>((0..250).map(|n| n.to_string()).collect());
    builder()
        .prompt(Prompt::new("visit", async |_: Flow, _: Place| Ok::<_, Failure>("Go there")).complete("city", cities))
        .prompt(Prompt::new("plain", async |_: Flow| Ok::<_, Failure>("Stay here")))
        .resource(Resource::new("test://one", "one", async |_: Flow| Ok::<_, Failure>("one")))
        .resource_template(
            ResourceTemplate::new("geo://{city}", "place", async |_: Flow, _: Place| Ok::<_, Failure>("there"))
                .complete("city", many),
        )
        .build()
        .unwrap()
}

fn of_prompt(prompt: &str, argument: &str, value: &str) -> Value {
    json!({ "ref": { "type": "ref/prompt", "name": prompt }, "argument": { "name": argument, "value": value } })
}

async fn completion(params: Value) -> Value {
    let completed = client(&server()).request("completion/complete", params).await;
    completed.expect_result::<CompleteResult>();
    completed.response()["result"]["completion"].clone()
}

#[tokio::test]
async fn values_depend_on_what_is_typed_and_on_the_other_arguments() {
    let expected = json!({ "values": ["Paris", "Pau"], "total": 2, "hasMore": false });
    assert_eq!(completion(of_prompt("visit", "city", "Pa")).await, expected);
    let mut in_italy = of_prompt("visit", "city", "Pa");
    in_italy["context"] = json!({ "arguments": { "country": "Italy" } });
    assert_eq!(completion(in_italy).await["values"], json!(["Parma"]));
}

#[tokio::test]
async fn no_more_than_a_hundred_values_go_out() {
    let place = json!({ "type": "ref/resource", "uri": "geo://{city}" });
    let completion = completion(json!({ "ref": place, "argument": { "name": "city", "value": "" } })).await;
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(250), &json!(true)));
}

#[tokio::test]
async fn what_nobody_completes_has_no_values() {
    for (prompt, argument) in [("visit", "country"), ("plain", "city")] {
        assert_eq!(completion(of_prompt(prompt, argument, "")).await["values"], json!([]));
    }
}

#[tokio::test]
async fn what_is_not_there_cannot_be_completed() {
    let argument = json!({ "name": "city", "value": "" });
    for params in [
        of_prompt("nobody", "city", ""),
        json!({ "ref": { "type": "ref/resource", "uri": "geo://paris" }, "argument": argument }),
        json!({ "ref": { "type": "ref/tool", "name": "visit" }, "argument": argument }),
        json!({ "ref": { "type": "ref/prompt" }, "argument": argument }),
        json!({ "argument": argument }),
        json!({ "ref": { "type": "ref/prompt", "name": "visit" } }),
        json!({ "ref": { "type": "ref/prompt", "name": "visit" }, "argument": { "name": "city", "value": 7 } }),
    ] {
        let error = client(&server()).request("completion/complete", params.clone()).await.expect_error();
        assert_eq!(error.code.as_i64(), -32602, "{params}");
    }
}

fn asks() -> Server {
    let asking = async |flow: Flow, _: Completing| greet(flow).await.map(|text| vec![text]);
    let visit = Prompt::new("visit", greet);
    let visit = visit.define(|prompt| prompt.arguments = Some(vec![PromptArgument::new("city")]));
    builder().prompt(visit.complete("city", asking)).build().unwrap()
}

#[tokio::test]
async fn sv_1_in_the_draft_a_completion_may_ask() {
    let old = client(&asks()).speaking(Revision::Draft202602);
    let asked = old.request("completion/complete", of_prompt("visit", "city", "")).await;
    asked.expect_asked(&["who"]);
    let done = asked.accept("who", name("Ada")).at(&asks()).send().await;
    assert_eq!(done.response()["result"]["completion"]["values"], json!(["Hello, Ada"]));
}

#[tokio::test]
async fn ty_6_elsewhere_the_members_of_a_retry_have_no_meaning_on_a_completion() {
    let mut params = of_prompt("visit", "city", "Par");
    params["requestState"] = json!("forged");
    params["inputResponses"] = json!({ "who": 7 });
    for revision in [Revision::Sep2322, Revision::V2026_07_28] {
        let completed = client(&server()).speaking(revision).request("completion/complete", params.clone()).await;
        assert_eq!(completed.response()["result"]["completion"]["values"], json!(["Paris"]));
    }
}
