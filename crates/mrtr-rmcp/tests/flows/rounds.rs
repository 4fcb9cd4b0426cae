//! Calls that ask: once, three times, in prompts and resources, declined, refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mrtr_fixtures::work_item::{HOW, Original, Resolution, Resolved, Update, WHICH};
use mrtr_rmcp::Flows;
use mrtr_server::{Failure, Flow, Prompt, Resource, ResourceTemplate, Server, Tool};
use rmcp::model::{CallToolResponse, ErrorCode, GetPromptRequestParams, ProtocolVersion, ReadResourceRequestParams};
use rmcp::service::ServiceError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::person::{Person, call, text};
use crate::sites::{ALL, Lifecycle, Way, connect};

#[derive(Deserialize, JsonSchema)]
struct Confirmed {
    yes: bool,
}

#[derive(Default)]
struct Links(AtomicU32);

async fn update_work_item(flow: Flow, args: Update) -> Result<String, Failure> {
    let links = flow.state::<Arc<Links>>();
    let Resolved { resolution } = flow.elicit("resolution", HOW).await?;
    match resolution {
        Resolution::Fixed => return Ok(format!("Bug #{} fixed, {} fields", args.work_item_id, args.fields.len())),
        Resolution::WontFix | Resolution::ByDesign => return Ok(format!("Bug #{} is none", args.work_item_id)),
        Resolution::Duplicate => {}
    }
    let dup: Original = flow.elicit("duplicate_of", WHICH).await?;
    let links = flow.step("link", async { Ok::<_, Failure>(links.0.fetch_add(1, Ordering::SeqCst) + 1) }).await?;
    let Confirmed { yes } = flow.elicit("close", "Shall it be closed, too?").await?;
    let closed = if yes { "closed" } else { "left open" };
    Ok(format!("Bug #{} is #{}, link {links}, {closed}", args.work_item_id, dup.duplicate_of_id))
}

fn tracker(links: &Arc<Links>) -> Flows {
    let server = Server::builder("tracker", "1.0.0")
        .state(Arc::clone(links))
        .tool(Tool::new("update_work_item", update_work_item).description("Updates a work item"))
        .build()
        .expect("it is well made");
    Flows::new(server)
}

#[tokio::test]
async fn one_round_is_played_by_rmcps_client_in_both_lifecycles() {
    for site in ALL {
        let person = Person::answering([("How was this bug resolved?", json!({ "resolution": "Fixed" }))]);
        let client = connect(tracker(&Arc::default()), &person, site).await;
        let result = client.call_tool(call("update_work_item", json!({ "workItemId": 7, "fields": { "a": 1 } }))).await;
        assert_eq!(text(&result.expect("it is answered")), "Bug #7 fixed, 1 fields", "{site:?}");
        assert_eq!(person.questions(), ["How was this bug resolved?"], "{site:?}");
    }
}

#[tokio::test]
async fn three_rounds_link_once() {
    for site in ALL {
        let links = Arc::default();
        let person = Person::answering([
            ("How was this bug resolved?", json!({ "resolution": "Duplicate" })),
            ("Which work item is the original?", json!({ "duplicateOfId": 4301 })),
            ("Shall it be closed, too?", json!({ "yes": true })),
        ]);
        let client = connect(tracker(&links), &person, site).await;
        let result = client.call_tool(call("update_work_item", json!({ "workItemId": 4522, "fields": {} }))).await;
        assert_eq!(text(&result.expect("it is answered")), "Bug #4522 is #4301, link 1, closed", "{site:?}");
        assert_eq!(person.questions().len(), 3, "{site:?}: each is asked once");
        assert_eq!(links.0.load(Ordering::SeqCst), 1, "{site:?}");
    }
}

#[tokio::test]
async fn a_client_that_discovers_carries_the_state_itself() {
    let person = Person::answering([]);
    let client = connect(tracker(&Arc::default()), &person, (Lifecycle::Discover, Way::Http)).await;
    assert_eq!(client.peer_info().expect("it has begun").protocol_version, ProtocolVersion::V_2026_07_28);
    let mut request = call("update_work_item", json!({ "workItemId": 7, "fields": {} }));
    let asked = client.call_tool_once(request.clone()).await.expect("it is answered");
    let CallToolResponse::InputRequired(asked) = asked else { panic!("{asked:?}") };
    let questions: Vec<_> = asked.input_requests.expect("it asks").into_keys().collect();
    assert_eq!(questions, ["resolution"]);
    request.request_state = asked.request_state;
    request.input_responses = serde_json::from_value(
        json!({ "resolution": { "action": "accept", "content": { "resolution": "Won't Fix" } } }),
    )
    .expect("they are answers");
    let done = client.call_tool_once(request.clone()).await.expect("it is answered");
    let CallToolResponse::Complete(done) = done else { panic!("{done:?}") };
    assert_eq!(text(&done), "Bug #7 is none");

    // The same state with other arguments.
    request.arguments.as_mut().expect("there are some").insert("workItemId".to_owned(), json!(8));
    let ServiceError::McpError(error) = client.call_tool_once(request).await.expect_err("it does not open") else {
        panic!("it is refused by the server")
    };
    assert_eq!((error.code, &*error.message), (ErrorCode::INVALID_PARAMS, "The request state is not valid"));
}

#[tokio::test]
async fn who_declines_is_told_so_and_nothing_is_linked() {
    for site in ALL {
        let links = Arc::default();
        let client = connect(tracker(&links), &Person::answering([]), site).await;
        let result = client.call_tool(call("update_work_item", json!({ "workItemId": 7, "fields": {} }))).await;
        let result = result.expect("it is answered");
        assert_eq!(result.is_error, Some(true), "{site:?}");
        assert!(text(&result).contains("declined"), "{site:?}: {}", text(&result));
        assert_eq!(links.0.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_refused() {
    for site in ALL {
        let client = connect(tracker(&Arc::default()), &Person::without_forms(), site).await;
        let refused = client.call_tool(call("update_work_item", json!({ "workItemId": 7, "fields": {} }))).await;
        match (site.0, refused) {
            (Lifecycle::Discover, Err(ServiceError::McpError(error))) => {
                assert_eq!(error.code, ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY, "{site:?}");
                let required = error.data.expect("it says which")["requiredCapabilities"].clone();
                assert!(required["elicitation"].is_object(), "{site:?}: {required}");
            }
            // In a session there is no code for it.
            (Lifecycle::Initialize, Ok(result)) => assert_eq!(result.is_error, Some(true), "{site:?}: {result:?}"),
            (_, other) => panic!("{site:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn arguments_that_miss_the_schema_are_a_tools_error_and_other_tools_are_unknown() {
    for site in ALL {
        let client = connect(tracker(&Arc::default()), &Person::answering([]), site).await;
        let result = client.call_tool(call("update_work_item", json!({ "workItemId": "seven" }))).await;
        assert_eq!(result.expect("it is answered").is_error, Some(true), "{site:?}");
        let ServiceError::McpError(error) = client.call_tool(call("paint", json!({}))).await.expect_err("unknown")
        else {
            panic!("{site:?}: it is refused by the server")
        };
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{site:?}");
    }
}

fn library() -> Flows {
    #[derive(Deserialize, JsonSchema)]
    struct Page {
        number: u32,
    }
    async fn language(flow: &Flow) -> Result<String, Failure> {
        #[derive(Deserialize, JsonSchema)]
        struct Language {
            language: String,
        }
        Ok(flow.elicit::<Language>("language", "Which language?").await?.language)
    }
    let review = async |flow: Flow| Ok::<_, Failure>(format!("Review it in {}", language(&flow).await?));
    let manual = async |flow: Flow| Ok::<_, Failure>(format!("The manual in {}", language(&flow).await?));
    let page = async |flow: Flow, Page { number }: Page| {
        Ok::<_, Failure>(format!("Page {number} in {}", language(&flow).await?))
    };
    let server = Server::builder("library", "1.0.0")
        .prompt(Prompt::new("review", review))
        .resource(Resource::new("library://manual", "manual", manual))
        .resource_template(ResourceTemplate::new("library://pages/{number}", "page", page))
        .build()
        .expect("it is well made");
    Flows::new(server)
}

#[tokio::test]
async fn prompts_and_resources_ask_too() {
    for site in ALL {
        let person = Person::answering([("Which language?", json!({ "language": "Norwegian" }))]);
        let client = connect(library(), &person, site).await;
        let prompt = client.get_prompt(GetPromptRequestParams::new("review")).await.expect("it is answered");
        assert!(format!("{prompt:?}").contains("Review it in Norwegian"), "{site:?}: {prompt:?}");
        for (uri, expected) in
            [("library://manual", "The manual in Norwegian"), ("library://pages/7", "Page 7 in Norwegian")]
        {
            let read = client.read_resource(ReadResourceRequestParams::new(uri)).await.expect("it is answered");
            assert!(format!("{read:?}").contains(expected), "{site:?}: {read:?}");
        }
        let missing = client.read_resource(ReadResourceRequestParams::new("library://attic")).await;
        assert!(matches!(missing, Err(ServiceError::McpError(_))), "{site:?}: {missing:?}");
        assert_eq!(client.list_all_prompts().await.expect("they are listed").len(), 1, "{site:?}");
        assert_eq!(client.list_all_resources().await.expect("they are listed").len(), 1, "{site:?}");
        assert_eq!(client.list_all_resource_templates().await.expect("they are listed").len(), 1, "{site:?}");
    }
}

/// Forms of every shape go through rmcp's types, which know what a form may be.
#[tokio::test]
async fn forms_of_every_shape_are_carried() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "it is asked for, and not looked at")]
    struct Everything {
        /// What to call it.
        #[schemars(length(min = 1, max = 40))]
        name: String,
        #[schemars(email)]
        email: Option<String>,
        #[schemars(range(min = 1, max = 9))]
        count: u8,
        share: f64,
        urgent: bool,
        resolution: Resolution,
        tags: Vec<Tag>,
    }
    #[derive(Deserialize, JsonSchema)]
    enum Tag {
        Red,
        Green,
    }
    for site in ALL {
        let everything = async |flow: Flow| {
            let form: Everything = flow.elicit("everything", "All of it?").await?;
            Ok::<_, Failure>(format!("{} times {}", form.count, form.name))
        };
        let answer = json!({ "name": "box", "count": 3, "share": 0.5, "urgent": true, "resolution": "Won't Fix",
            "tags": ["Red", "Green"] });
        let person = Person::answering([("All of it?", answer)]);
        let handler = Flows::of_tool(Tool::new("everything", everything)).expect("it is well made");
        let client = connect(handler, &person, site).await;
        let result = client.call_tool(call("everything", json!({}))).await.expect("it is answered");
        assert_eq!(text(&result), "3 times box", "{site:?}");
    }
}

/// rmcp's type for a URL demands an id that the published revision does not have.
#[tokio::test]
async fn urls_are_carried() {
    for site in ALL {
        let connect_to = async |flow: Flow| {
            let visited = flow.state::<AtomicU32>();
            let done = || async { visited.fetch_add(1, Ordering::SeqCst) > 0 };
            flow.elicit_url("connect", "Sign in there", "https://id.example.com/start").until(done).await?;
            Ok::<_, Failure>("signed in")
        };
        let server = Server::builder("gate", "1.0.0").state(AtomicU32::new(0)).tool(Tool::new("connect", connect_to));
        let person = Person::answering([("Sign in there", json!({}))]);
        let client = connect(Flows::new(server.build().expect("it is well made")), &person, site).await;
        let result = client.call_tool(call("connect", json!({}))).await.expect("it is answered");
        assert_eq!(text(&result), "signed in", "{site:?}");
    }
}
