//! Page "Servers": schemas and definitions by hand, questions to models, changes, settings, and tests as a user.

use std::num::NonZeroUsize;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use mrtr::prelude::*;
use mrtr::schema::content::{Annotations, Fraction, Role};
use mrtr::schema::prompts::PromptArgument;
use mrtr::schema::roots::ListRootsRequest;
use mrtr::schema::sampling::{CreateMessageParams, CreateMessageResult, SamplingContent, SamplingMessage};
use mrtr::schema::subscriptions::SubscriptionFilter;
use mrtr::schema::tools::{InputSchema, OutputSchema};
use mrtr::schema::{
    CacheScope, CachingHints, CallToolResult, ClientCapabilities, Icon, LoggingLevel, Method, NamespacedInput,
    Tool as Definition,
};
use mrtr::serde_json::{self, Map};
use mrtr::server::flow::{SamplingTools, StopReason};
use mrtr::server::handler::{Completing, IntoOutput, Output};
use mrtr::server::transport::{HeaderClaim, LegacyReply, Received};
use mrtr::server::{
    Caller, Context, InputRequired, Legacy, ProtocolError, SessionLimits, StatePolicy, TaskPolicy, testing,
};
use mrtr::state::Lifetimes;
use mrtr::tasks::store::MemoryTaskStore;
use tokio::sync::Notify;

use crate::effects::Effects;
use crate::page;

#[data]
struct Query {
    table: String,
    limit: Option<u32>,
}

async fn query(_: Flow, Query { table, limit }: Query) -> Result<String> {
    Ok(format!("{} rows of {table}", limit.unwrap_or(10)))
}

fn query_tool() -> Result<Tool> {
    let schema = InputSchema::parse(
        r#"{
            "type": "object",
            "properties": {
                "table": { "type": "string", "enum": ["orders", "customers"] },
                "limit": { "type": "integer", "maximum": 100 }
            },
            "required": ["table"],
            "additionalProperties": false
        }"#,
    )?;
    Ok(Tool::new("query", query).input_schema(schema))
}

/// Takes whatever comes, and passes it on.
async fn forward(_: Flow, arguments: Map<String, Value>) -> Result<String> {
    Ok(format!("{} arguments", arguments.len()))
}

#[tokio::test]
async fn arguments_are_checked_against_a_schema_by_hand() -> Result<()> {
    let server = Server::builder("shop", "1.0.0").tool(query_tool()?).tool(Tool::new("forward", forward)).build()?;
    let client = testing::Client::new(&server);
    let call = client.call_tool("query", json!({ "table": "orders" })).await;
    assert_eq!(call.expect_text(), "10 rows of orders");
    for wrong in [json!({ "table": "secrets" }), json!({ "table": "orders", "limit": 101 }), json!({ "tabel": "" })] {
        let refused = client.call_tool("query", wrong).await.expect_tool_error();
        assert!(refused.starts_with("The arguments do not fit: "), "{refused}");
    }
    assert_eq!(client.call_tool("forward", json!({ "any": [1], "more": null })).await.expect_text(), "2 arguments");
    Ok(())
}

#[data]
struct Folder {
    folder: String,
}

#[data]
struct Confirmed {
    yes: bool,
}

async fn delete(flow: Flow, Folder { folder }: Folder) -> Result<Structured<Value>> {
    let Confirmed { yes } = flow.elicit("confirm", format!("Delete all of {folder}?")).await?;
    Ok(Structured(json!({ "deleted": yes })))
}

fn delete_tool() -> Result<Tool> {
    let schema = OutputSchema::parse(r#"{ "type": "object", "required": ["deleted"] }"#)?;
    Ok(Tool::new("delete", delete)
        .description("Deletes a folder, once the user agrees")
        .define(|tool| tool.output_schema = Some(schema))
        .strict() // an answer to another wording does not count
        .question_timeout(Duration::from_mins(2))) // in a session; elsewhere `lifetimes` says how long
}

async fn lesson(_: Flow, Topic { topic }: Topic) -> Result<String> {
    Ok(format!("Explain {topic}."))
}

#[data]
struct Topic {
    topic: String,
}

fn lesson_prompt() -> Prompt {
    let mut topic = PromptArgument::new("topic");
    (topic.title, topic.required) = (Some("What to explain".into()), Some(true));
    Prompt::new("lesson", lesson).define(|prompt| prompt.arguments = Some(vec![topic]))
}

async fn handbook(_: Flow) -> Result<&'static str> {
    Ok("# Handbook")
}

#[data]
struct Place {
    page: u32,
}

async fn page(_: Flow, Place { page }: Place) -> Result<String> {
    Ok(format!("Page {page}"))
}

fn books() -> Result<(Resource, ResourceTemplate, Prompt)> {
    let icon = Icon::new("https://example.com/book.png");
    let mut for_people = Annotations::new();
    (for_people.audience, for_people.priority) = (Some(vec![Role::User]), Some(Fraction::try_from(0.9)?));
    let half_a_day = Lifetimes { round: Duration::from_hours(12), ..Lifetimes::default() };
    let handbook = Resource::new("docs://handbook", "handbook", handbook)
        .title("The handbook") // for people
        .description("How we work") // for models
        .icons([icon.clone()])
        .annotations(for_people.clone())
        .define(|resource| resource.size = Some(10))
        .lifetimes(half_a_day) // of its states, if its handler asks
        .run_deadline(Duration::from_secs(30))
        .state_policy(StatePolicy::WhenNeeded);
    let page = ResourceTemplate::new("docs://handbook/{page}", "page", page)
        .description("One page of the handbook")
        .icons([icon.clone()])
        .annotations(for_people)
        .caching(CachingHints::keep(60_000, CacheScope::Private))
        .define(|template| template.title = Some("A page".into()))
        .lifetimes(half_a_day)
        .run_deadline(Duration::from_secs(30))
        .state_policy(StatePolicy::WhenNeeded);
    let prompt = Prompt::new("read", async |_: Flow| Ok::<_, Failure>("Read the handbook."))
        .icons([icon])
        .lifetimes(half_a_day)
        .run_deadline(Duration::from_secs(30))
        .state_policy(StatePolicy::WhenNeeded);
    Ok((handbook, page, prompt))
}

#[tokio::test]
async fn resources_and_prompts_have_looks_and_limits() -> Result<()> {
    let (handbook, page, prompt) = books()?;
    let server = Server::builder("docs", "1.0.0").resource(handbook).resource_template(page).prompt(prompt).build()?;
    let client = testing::Client::new(&server);
    let listed = client.request("resources/list", json!({})).await;
    let listed = &listed.response()["result"]["resources"][0];
    assert_eq!((&listed["title"], &listed["size"]), (&json!("The handbook"), &json!(10)));
    assert_eq!(listed["annotations"], json!({ "audience": ["user"], "priority": 0.9 }));
    let templates = client.request("resources/templates/list", json!({})).await;
    assert_eq!(templates.response()["result"]["resourceTemplates"][0]["title"], "A page");
    let read = client.read_resource("docs://handbook/12").await;
    assert_eq!(read.response()["result"]["contents"][0]["text"], "Page 12");
    assert_eq!(read.response()["result"]["ttlMs"], 60_000);
    let prompts = client.request("prompts/list", json!({})).await;
    assert_eq!(prompts.response()["result"]["prompts"][0]["icons"][0]["src"], "https://example.com/book.png");
    Ok(())
}

#[tokio::test]
async fn definitions_are_what_the_author_says() -> Result<()> {
    let server = Server::builder("desk", "1.0.0").tool(delete_tool()?).prompt(lesson_prompt()).build()?;
    let client = testing::Client::new(&server);
    let tools = client.request("tools/list", json!({})).await;
    assert_eq!(tools.response()["result"]["tools"][0]["outputSchema"]["required"], json!(["deleted"]));
    let prompts = client.request("prompts/list", json!({})).await;
    let argument = &prompts.response()["result"]["prompts"][0]["arguments"][0];
    assert_eq!(argument, &json!({ "name": "topic", "title": "What to explain", "required": true }));
    let got = client.get_prompt("lesson", json!({ "topic": "gravity" })).await;
    assert!(got.response().to_string().contains("Explain gravity."), "{}", got.response());

    let call = client.call_tool("delete", json!({ "folder": "tmp" })).await;
    let done = call.accept("confirm", json!({ "yes": true })).send().await;
    let result: CallToolResult = done.expect_result();
    assert_eq!(result.structured_content.ok_or("it is structured")?.as_json().as_str(), r#"{"deleted":true}"#);
    Ok(())
}

#[data]
struct Bug {
    id: u64,
}

async fn close(flow: Flow, Bug { id }: Bug) -> Result<String> {
    if id == 7 {
        return Err(ToolError::new("Bug 7 is closed already. Did you mean bug 8?").into()); // the model reads it
    }
    if flow.principal().is_none() {
        return Err(ProtocolError::invalid_params("Say who you are").into()); // the client's program reads it
    }
    let file = std::fs::read_to_string("/no/such/file")?; // the log has it; the caller gets a reference
    Ok(file)
}

#[tokio::test]
async fn a_failure_goes_to_its_reader() -> Result<()> {
    let server = Server::builder("tracker", "1.0.0").tool(Tool::new("close", close)).build()?;
    let ada = testing::Client::new(&server).calling_as(Caller::new("https://id.example.com", "ada"));
    let text = ada.call_tool("close", json!({ "id": 7 })).await.expect_tool_error();
    assert_eq!(text, "Bug 7 is closed already. Did you mean bug 8?");
    let nobody = ada.clone().calling_as(None);
    assert_eq!(nobody.call_tool("close", json!({ "id": 1 })).await.expect_error().message, "Say who you are");

    let failed = ada.call_tool("close", json!({ "id": 1 })).await;
    assert!(failed.expect_tool_error().starts_with("The tool failed (reference "));
    assert!(failed.cause().ok_or("the log has it")?.contains("No such file"));
    Ok(())
}

/// Suggests streets of the city that the user has filled in already.
async fn streets(flow: Flow, typing: Completing) -> Result<Vec<String>> {
    let city = typing.others.get("city").map_or("", String::as_str);
    let known = flow.state::<Vec<(&str, &str)>>().iter().filter(|(of, _)| *of == city);
    Ok(known.map(|(_, street)| (*street).to_owned()).filter(|street| street.starts_with(&typing.value)).collect())
}

#[data]
struct Address {
    city: String,
    street: String,
}

async fn route(_: Flow, Address { city, street }: Address) -> Result<String> {
    Ok(format!("Describe the way to {street} in {city}."))
}

#[tokio::test]
async fn a_completion_knows_the_other_arguments() -> Result<()> {
    let server = Server::builder("maps", "1.0.0")
        .state(vec![("Oslo", "Main Street"), ("Rome", "Market Street")])
        .prompt(Prompt::new("route", route).complete("street", streets))
        .build()?;
    let typed = json!({ "ref": { "type": "ref/prompt", "name": "route" },
        "argument": { "name": "street", "value": "Ma" }, "context": { "arguments": { "city": "Rome" } } });
    let completed = testing::Client::new(&server).request("completion/complete", typed).await;
    assert_eq!(completed.response()["result"]["completion"]["values"], json!(["Market Street"]));
    Ok(())
}

#[data]
struct Text {
    text: String,
}

async fn edit(flow: Flow, Text { text }: Text) -> Result<&'static str> {
    flow.step("write", write(flow.state(), &text)).await?;
    flow.changes().resource_updated("docs://guide");
    Ok("The guide is changed")
}

async fn write(guide: &Effects, text: &str) -> Result<()> {
    guide.note(text);
    Ok(())
}

#[tokio::test]
async fn subscribers_hear_of_changes() -> Result<()> {
    let guide = async |flow: Flow| Ok::<_, Failure>(flow.state::<Effects>().noted().join("\n"));
    let server = Server::builder("docs", "1.0.0")
        .state(Effects::default())
        .tool(Tool::new("edit", edit))
        .resource(Resource::new("docs://guide", "guide", guide))
        .build()?;
    let client = testing::Client::new(&server);
    let mut wanted = SubscriptionFilter::new();
    wanted.resource_subscriptions = Some(vec!["docs://guide".into()]);
    let (mut listening, mut hears) = (client.listen(wanted).await, 0);
    listening.next().await.ok_or("it is acknowledged")?;

    client.call_tool("edit", json!({ "text": "Be brief." })).await.expect_text();
    server.changes().resource_updated("docs://guide");
    for heard in listening.heard() {
        assert_eq!(heard["method"], "notifications/resources/updated");
        assert_eq!(heard["params"]["uri"], "docs://guide");
        hears += 1;
    }
    assert_eq!(hears, 2);
    Ok(())
}

/// A render farm that works until it is told to stop.
#[derive(Default)]
struct Farm {
    begun: Notify,
    stopped: Notify,
}

impl Farm {
    async fn render(&self) -> Result<u32> {
        self.begun.notify_one();
        std::future::pending().await
    }

    fn stop(&self) {
        self.stopped.notify_one();
    }
}

async fn render(flow: Flow) -> Result<String> {
    let farm = flow.state::<Arc<Farm>>();
    let work = async {
        tokio::select! {
            frames = farm.render() => frames,
            reason = flow.cancelled() => {
                farm.stop();
                match reason {
                    StopReason::Cancelled => Err("cancelled".into()), // recorded: nothing begins it again
                    _ => std::future::pending().await, // not recorded: another run begins it again
                }
            }
        }
    };
    let frames: u32 = flow.step("render", work).idempotent().await?;
    Ok(format!("{frames} frames"))
}

#[tokio::test]
async fn a_handler_hears_that_its_task_is_cancelled() -> Result<()> {
    let (farm, tasks) = (Arc::<Farm>::default(), Tasks::new(MemoryTaskStore::default()));
    let server = Server::builder("films", "1.0.0")
        .state(Arc::clone(&farm))
        .tool(Tool::new("render", render).tasks(TaskPolicy::Required))
        .extension(tasks.clone())
        .build()?;
    let client = testing::Client::new(&server).declaring_extension("io.modelcontextprotocol/tasks");
    client.call_tool("render", json!({})).await;
    let soon = Duration::from_mins(1);
    tokio::time::timeout(soon, farm.begun.notified()).await?;
    let task = tasks.view(None, 1).await?.pop().ok_or("there is a task")?;
    tasks.cancel(task.id).await?;
    tokio::time::timeout(soon, farm.stopped.notified()).await?;
    tasks.shut_down().await;
    Ok(())
}

async fn summarize(flow: Flow, Text { text }: Text) -> Result<String> {
    let mut question = CreateMessageParams::new([SamplingMessage::user(format!("Summarize: {text}"))], 200_u64);
    question.system_prompt = Some("You use ten words at most.".into());
    let answer = flow.sample("summary", question).await?;
    Ok(answer.text().unwrap_or_default())
}

#[data]
struct Words {
    words: String,
}

async fn research(flow: Flow) -> Result<String> {
    let library = flow.state::<Effects>();
    let schema = InputSchema::parse(
        r#"{ "type": "object", "properties": { "words": { "type": "string" } }, "required": ["words"] }"#,
    )?;
    let tools = SamplingTools::new().turns(5).tool(Definition::new("search", schema), async |arguments| {
        let Words { words } = arguments.to().map_err(|_| ToolError::new("Give me `words`"))?;
        library.note(&words);
        Ok("The Eiffel Tower is 330 m high.".into())
    });
    let question = CreateMessageParams::new([SamplingMessage::user("How high is the Eiffel Tower?")], 200_u64);
    let answer = flow.sample_with_tools("research", question, &tools).await?;
    Ok(answer.text().unwrap_or_default())
}

#[tokio::test]
async fn a_model_is_asked_and_calls_a_tool() -> Result<()> {
    let searched = Effects::default();
    let server = Server::builder("library", "1.0.0")
        .state(searched.clone())
        .tool(Tool::new("summarize", summarize))
        .tool(Tool::new("research", research))
        .build()?;
    let client = testing::Client::new(&server);
    let says = |text: &str| json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": text } });

    let call = client.call_tool("summarize", json!({ "text": "A long text" })).await;
    assert_eq!(call.answer_raw("summary", says("Short.")).send().await.expect_text(), "Short.");

    let text: SamplingContent = serde_json::from_value(json!({ "type": "text", "text": "Brief." }))?;
    let brief = CreateMessageResult::new(Role::Assistant, text, "m");
    let call = client.call_tool("summarize", json!({ "text": "A long text" })).await;
    assert_eq!(call.answer("summary", &brief).send().await.expect_text(), "Brief.");

    let call = client.call_tool("research", json!({})).await;
    let uses = json!({ "role": "assistant", "model": "m", "stopReason": "toolUse",
        "content": [{ "type": "tool_use", "id": "1", "name": "search", "input": { "words": "tower" } }] });
    let call = call.answer_raw("research.1", uses).send().await;
    call.expect_asked(&["research.2"]);
    assert_eq!(call.answer_raw("research.2", says("330 m")).send().await.expect_text(), "330 m");
    assert_eq!(searched.noted(), ["tower"]);
    Ok(())
}

#[data]
struct Review {
    language: String,
}

async fn review(_: Flow, Review { language }: Review) -> Result<String> {
    Ok(format!("Review this {language} code."))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lines_for_curl_get_a_prompt() -> Result<()> {
    let server = Server::builder("teacher", "1.0.0").prompt(Prompt::new("review", review)).build()?;
    let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
    let address = bound.address()?.to_string();
    let serving = tokio::spawn(bound.run(std::future::pending()));
    let lines = page::blocks("sh").find(|block| block.contains("prompts/get")).ok_or("the page has them")?;
    let script = lines.text.replace("127.0.0.1:8000", &address);
    let run = move || Command::new("sh").args(["-e", "-c", &script]).output();
    let output = tokio::task::spawn_blocking(run).await??;
    let reply: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(reply["result"]["messages"][0]["content"]["text"], "Review this Rust code.", "{reply}");
    serving.abort();
    Ok(())
}

async fn projects(flow: Flow) -> Result<String> {
    let roots = flow.roots("roots").await?;
    let names = roots.into_iter().map(|root| root.name.unwrap_or(root.uri));
    Ok(names.collect::<Vec<_>>().join(", "))
}

/// A seat, which the user picks on a plan of the cabin.
struct Seat;

#[data]
struct Plan {
    rows: u32,
}

#[data]
struct Picked {
    row: u32,
}

impl NamespacedInput for Seat {
    const METHOD: Method = Method::from_static("com.example/seat");
    type Params = Plan;
    type Response = Picked;
}

async fn book(flow: Flow) -> Result<String> {
    let Picked { row } = flow.ask::<Seat>("seat", Plan { rows: 30 }).await?;
    Ok(format!("Row {row}"))
}

#[data]
struct Guests {
    names: Vec<String>,
}

#[data]
struct Dish {
    dish: String,
}

async fn dinner(flow: Flow, Guests { names }: Guests) -> Result<String> {
    let asked = names.iter().map(|name| flow.elicit::<Dish>(name, format!("What does {name} eat?")));
    let dishes = flow.join_all(asked).await?;
    let lines = names.iter().zip(dishes).map(|(name, Dish { dish })| format!("{dish} for {name}"));
    Ok(lines.collect::<Vec<_>>().join(", "))
}

#[tokio::test]
async fn roots_seats_and_any_number_of_guests_are_asked() -> Result<()> {
    let server = Server::builder("travel", "1.0.0")
        .input::<Seat>()
        .tool(Tool::new("projects", projects))
        .tool(Tool::new("book", book))
        .tool(Tool::new("dinner", dinner))
        .build()?;
    let client = testing::Client::new(&server).declaring_extension("com.example/seat");
    let roots = json!({ "roots": [{ "uri": "file:///src", "name": "Sources" }, { "uri": "file:///tmp" }] });
    let call = client.call_tool("projects", json!({})).await.answer_raw("roots", roots);
    assert_eq!(call.send().await.expect_text(), "Sources, file:///tmp");
    let call = client.call_tool("book", json!({})).await.answer_raw("seat", json!({ "row": 12 }));
    assert_eq!(call.send().await.expect_text(), "Row 12");

    let call = client.call_tool("dinner", json!({ "names": ["Ada", "Bob"] })).await;
    call.expect_asked(&["Ada", "Bob"]);
    let call = call.accept("Ada", json!({ "dish": "Soup" })).accept("Bob", json!({ "dish": "Fish" }));
    assert_eq!(call.send().await.expect_text(), "Soup for Ada, Fish for Bob");
    Ok(())
}

/// A greeting that an operator may have set.
struct Motto(String);

async fn facts(flow: Flow) -> Result<String> {
    let who = flow.principal().map_or("a stranger", Caller::subject);
    let motto = flow.extension::<Motto>().map_or("none", |Motto(text)| text); // `state` would panic without one
    flow.elicit::<Confirmed>("go_on", "Go on?").await?;
    Ok(format!("{who}, {}, round {}, motto: {motto}", flow.revision(), flow.round()))
}

/// Asks by hand: each run works out where it is.
async fn count(flow: Flow) -> Result<Output> {
    let asked: u32 = flow.carried().unwrap_or_default();
    if flow.given("roots").is_none() {
        let asks = InputRequired::new().ask("roots", ListRootsRequest::new());
        return asks.carry(&(asked + 1))?.into_output();
    }
    format!("asked {asked} times").into_output()
}

#[tokio::test]
async fn a_handler_knows_facts_and_may_ask_by_hand() -> Result<()> {
    let built = |builder: mrtr::server::Builder| {
        builder.tool(Tool::new("facts", facts)).tool(Tool::new("count", count)).build()
    };
    let server = built(Server::builder("facts", "1.0.0").state(Motto("Be brief".into())))?;
    let ada = testing::Client::new(&server).calling_as(Caller::new("https://id.example.com", "ada"));
    let call = ada.call_tool("facts", json!({})).await.accept("go_on", json!({ "yes": true }));
    assert_eq!(call.send().await.expect_text(), "ada, 2026-07-28, round 2, motto: Be brief");
    let nobody = testing::Client::new(&built(Server::builder("facts", "1.0.0"))?);
    let call = nobody.call_tool("facts", json!({})).await.accept("go_on", json!({ "yes": true }));
    assert_eq!(call.send().await.expect_text(), "a stranger, 2026-07-28, round 2, motto: none");

    let call = nobody.call_tool("count", json!({})).await;
    let call = call.send().await; // without an answer: it asks again
    let call = call.answer_raw("roots", json!({ "roots": [] })).send().await;
    assert_eq!(call.expect_text(), "asked 2 times");
    Ok(())
}

fn tuned() -> Result<Server> {
    let limits = SessionLimits { idle: Duration::from_mins(5), ..SessionLimits::default() };
    Ok(Server::builder("library", env!("CARGO_PKG_VERSION"))
        .instructions("Search first. Lend a book only if the user names it.") // for the model
        .tool(Tool::new("summarize", summarize).run_deadline(Duration::from_mins(1)).state_policy(StatePolicy::WhenNeeded))
        .run_deadline(Duration::from_mins(5)) // of all others
        .page_size(NonZeroUsize::new(100).ok_or("it is not zero")?)
        .list_caching(CachingHints::keep(60_000, CacheScope::Public))
        .legacy(Legacy::Sessions)
        .session_limits(limits)
        .explain_failures() // in development only
        .build()?)
}

#[tokio::test]
async fn settings_reach_the_client() -> Result<()> {
    let client = testing::Client::new(&tuned()?);
    let offer = client.request("server/discover", json!({})).await;
    let told = &offer.response()["result"];
    assert_eq!(told["instructions"], "Search first. Lend a book only if the user names it.");
    let tools = client.request("tools/list", json!({})).await;
    assert_eq!(tools.response()["result"]["ttlMs"], 60_000, "{}", tools.response());
    Ok(())
}

#[data]
struct Paper {
    paper: String,
}

async fn sign(flow: Flow) -> Result<String> {
    let caller = flow.principal().ok_or(ToolError::new("Say who you are"))?.subject();
    flow.progress(1, Some(2), "asking").await;
    flow.log(LoggingLevel::Info, "a signature is asked for").await;
    let Paper { paper } = flow.elicit("paper", "What do you sign?").await?;
    Ok(format!("{caller} signs {paper}"))
}

fn office() -> Result<Server> {
    Ok(Server::builder("office", "1.0.0").tool(Tool::new("sign", sign)).build()?)
}

#[tokio::test]
async fn a_call_belongs_to_its_caller() -> Result<()> {
    let server = office()?;
    let ada = testing::Client::new(&server).calling_as(Caller::new("https://id.example.com", "ada"));
    let bob = ada.clone().calling_as(Caller::new("https://id.example.com", "bob"));

    let call = ada.call_tool("sign", json!({})).await.accept("paper", json!({ "paper": "the contract" }));
    let stolen = call.clone().as_client(&bob).send().await;
    assert_eq!(stolen.expect_error().message, "The request state is not valid");
    assert_eq!(call.send().await.expect_text(), "ada signs the contract");
    Ok(())
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_told_so() -> Result<()> {
    let client = testing::Client::new(&office()?).calling_as(Caller::new("https://id.example.com", "ada"));
    let plain = client.clone().declaring(ClientCapabilities::new());
    let refused = plain.call_tool("sign", json!({})).await.expect_error();
    assert!(
        refused.message.starts_with("The client did not declare a capability that this request needs: elicitation")
    );

    let hears = client.hearing_progress("token").hearing_logs(LoggingLevel::Info);
    let call = hears.call_tool("sign", json!({})).await;
    let methods = call.notifications().iter().map(|message| &message["method"]);
    assert_eq!(methods.collect::<Vec<_>>(), ["notifications/progress", "notifications/message"]);
    Ok(())
}

/// Answers a message of a modern client; `None` if it needs no answer.
async fn answer(server: &Server, message: String, caller: Option<Caller>) -> Option<String> {
    let context = Context::new().caller(caller).received(server.arrival());
    server.handle(message.into(), context).await.last().await
}

/// Answers a message of any client. A legacy client opens a session, whose id the transport keeps.
async fn answer_any(server: &Server, message: String, session: &mut Option<String>) -> Option<String> {
    match server.receive(message.into(), Context::new()).await {
        Received::Reply(reply) => reply.last().await,
        Received::Legacy(message) => match message.answer(session.as_deref(), &HeaderClaim::Missing).await {
            LegacyReply::Opened { body, session: opened } => {
                *session = Some(opened.as_str().to_owned());
                Some(body)
            }
            LegacyReply::Message { body, .. } | LegacyReply::NoSession { body } => Some(body),
            _ => None, // streams of calls that ask; see the page of `LegacyReply`
        },
    }
}

/// Says on the console what is served.
fn introduce(server: &Server) -> String {
    let (inventory, offers) = (server.inventory(), server.offers());
    let names: Vec<_> = offers.tools().map(|tool| tool.name.as_str()).collect();
    let keys = if server.sealer().outlives_process() { "keys that stay" } else { "keys of this process" };
    format!("{} has {} tools ({}), and {keys}", inventory.name, inventory.tools, names.join(", "))
}

#[tokio::test]
async fn a_transport_of_ones_own_carries_messages() -> Result<()> {
    let server = office()?;
    assert_eq!(introduce(&server), "office has 1 tools (sign), and keys of this process");
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} } });
    let call =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "sign", "_meta": meta } });
    let ada = Caller::new("https://id.example.com", "ada");
    let reply = answer(&server, call.to_string(), Some(ada)).await.ok_or("a reply")?;
    assert!(reply.contains("What do you sign?"), "{reply}");
    let reply = server.handle_value(call, Context::new()).await.ok_or("a reply")?;
    assert_eq!(reply["result"]["content"][0]["text"], "Say who you are");

    let mut session = None;
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion":
        "2025-11-25", "capabilities": {}, "clientInfo": { "name": "editor", "version": "1.0.0" } } });
    let reply = answer_any(&server, initialize.to_string(), &mut session).await.ok_or("a reply")?;
    assert!(reply.contains("office"), "{reply}");
    assert_eq!((session.is_some(), server.sessions().open()), (true, 1));
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let reply = answer_any(&server, list.to_string(), &mut session).await.ok_or("a reply")?;
    assert!(reply.contains("sign"), "{reply}");
    Ok(())
}
