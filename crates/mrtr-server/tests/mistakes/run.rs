//! Mistakes that show when a handler runs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mrtr_schema::{Method, NamespacedInput};
use mrtr_server::testing::{Client, Conversation};
use mrtr_server::{Builder, Failure, Flow, Server, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::log::Log;

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Age {
    years: u64,
}

fn builder(tool: Tool) -> Builder {
    Server::builder("test", "1.0.0").tool(tool)
}

async fn call(builder: Builder, arguments: Value) -> Conversation {
    Client::new(&builder.build().unwrap()).call_tool("tool", arguments).await
}

/// The author finds these words in the log, under the tool's name and the reference that the caller got; in the panic
/// of a test that expected more; as the cause in that test; and in the reply, if the server explains its failures.
/// Otherwise the caller gets the reference alone.
async fn expect_told(tool: impl Fn() -> Tool, words: &[&str]) {
    let log = Log::start();
    let failed = call(builder(tool()), json!({})).await;
    let (log, reply) = (log.text(), failed.expect_tool_error());
    let reference = reply.strip_prefix("The tool failed (reference ").and_then(|reply| reply.strip_suffix(')'));
    let reference = reference.unwrap_or_else(|| panic!("the caller was told {reply:?}"));
    assert!(log.contains(reference) && log.contains("name=tool"), "the log was {log}");
    let panicked = catch_unwind(AssertUnwindSafe(|| failed.expect_text())).expect_err("the call failed");
    let panicked = panicked.downcast::<String>().expect("a panic with a text");
    let explained = call(builder(tool()).explain_failures(), json!({})).await.expect_tool_error();
    assert!(explained.starts_with("The tool `tool` failed (reference "), "{explained}");
    for words in words {
        for (place, text) in
            [("log", &log), ("cause", &failed.cause().unwrap()), ("panic", &panicked), ("reply", &explained)]
        {
            assert!(text.contains(words), "the {place} was {text}, without {words:?}");
        }
        assert!(!reply.contains(words), "the caller was told {reply}");
    }
}

async fn steps(flow: Flow) -> Result<String, Failure> {
    for _ in 0..2 {
        flow.step("act", async { Ok::<_, Failure>(1) }).await?;
    }
    Ok("done".into())
}

async fn scoped(flow: Flow) -> Result<String, Failure> {
    for i in 0..2 {
        flow.scope(i).step("act", async { Ok::<_, Failure>(1) }).await?;
    }
    Ok("done".into())
}

#[tokio::test]
async fn a_key_twice() {
    async fn questions(flow: Flow) -> Result<String, Failure> {
        let asked = (flow.elicit::<Name>("who", "Who?"), flow.elicit::<Age>("who", "How old?"));
        let (Name { name }, Age { years }) = flow.join(asked).await?;
        Ok(format!("{name}, {years}"))
    }
    let words = ["two different questions are asked as `who`", "a key of its own", "`flow.scope(i)`"];
    expect_told(|| Tool::new("tool", questions), &words).await;

    let words = ["two steps are named `act`", "a name of its own", "`flow.scope(i)`"];
    expect_told(|| Tool::new("tool", steps), &words).await;

    let done = call(builder(Tool::new("tool", scoped)), json!({})).await;
    assert_eq!(done.expect_text(), "done", "the remedy is one");
}

#[derive(Deserialize, JsonSchema)]
struct Flat {
    #[serde(flatten)]
    customer: Name,
}

async fn flat(flow: Flow) -> Result<String, Failure> {
    let order: Flat = flow.elicit("order", "What?").await?;
    Ok(order.customer.name)
}

#[tokio::test]
async fn a_nested_struct_in_a_form() {
    #[derive(Deserialize, JsonSchema)]
    struct Order {
        customer: Name,
    }
    async fn nested(flow: Flow) -> Result<String, Failure> {
        let order: Order = flow.elicit("order", "What?").await?;
        Ok(order.customer.name)
    }
    let words = ["the question `order`", "field `customer` of", "Order`", "forms are flat", "`#[serde(flatten)]`"];
    expect_told(|| Tool::new("tool", nested), &words).await;

    let asked = call(builder(Tool::new("tool", flat)), json!({})).await;
    let answered = asked.accept("order", json!({ "name": "Ada" })).send().await;
    assert_eq!(answered.expect_text(), "Ada", "the remedy is one");
}

#[tokio::test]
async fn a_plain_value_instead_of_a_form() {
    async fn plain(flow: Flow) -> Result<String, Failure> {
        let name: String = flow.elicit("name", "Who are you?").await?;
        Ok(name)
    }
    let words = [
        "the question `name` cannot be asked: `alloc::string::String` cannot be a form",
        "not a struct with named fields",
        "ask for one, such as `#[data] struct Name { name: String }`",
    ];
    expect_told(|| Tool::new("tool", plain), &words).await;
}

#[tokio::test]
async fn a_state_that_was_not_given() {
    struct Wanted;
    struct Given;
    struct Also;
    async fn wants(flow: Flow) -> Result<String, Failure> {
        let Wanted = flow.state::<Wanted>();
        Ok(String::new())
    }
    let remedy = "give it one with `Server::builder(…).state(value)`";
    let log = Log::start();
    let failed = call(builder(Tool::new("tool", wants)), json!({})).await;
    let (log, cause) = (log.text(), failed.cause().unwrap());
    for text in [&log, &cause] {
        for words in ["::Wanted`", "the server has no state at all", remedy] {
            assert!(text.contains(words), "{text}, without {words:?}");
        }
    }
    assert!(log.contains("name=tool"), "{log}");
    let failed = call(builder(Tool::new("tool", wants)).state(Given).state(Also), json!({})).await;
    let cause = failed.cause().unwrap();
    let given = cause.split("the server has ").nth(1).unwrap_or_else(|| panic!("{cause}"));
    let (given, rest) = given.split_once(": ").unwrap();
    let names: Vec<_> = given.split(", ").map(|name| name.rsplit("::").next().unwrap()).collect();
    assert_eq!(names, ["Also`", "Given`"], "and nothing that the program did not give");
    assert!(rest.starts_with(remedy), "{rest}");
}

#[tokio::test]
async fn asking_inside_a_step() {
    async fn asks(flow: Flow) -> Result<String, Failure> {
        let work = async {
            let Name { name } = flow.elicit("who", "Who?").await?;
            Ok::<_, Failure>(name)
        };
        Ok(flow.step("greet", work).await?)
    }
    let words = ["question `who` was used inside step `greet`", "ask before it and pass it the answer"];
    expect_told(|| Tool::new("tool", asks), &words).await;
}

struct Seat;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Row {
    row: u32,
}

impl NamespacedInput for Seat {
    const METHOD: Method = Method::from_static("com.example/seat");
    type Params = Row;
    type Response = Row;
}

#[tokio::test]
async fn an_input_that_is_not_registered() {
    async fn book(flow: Flow) -> Result<String, Failure> {
        Ok(flow.ask::<Seat>("seat", Row { row: 30 }).await?.row.to_string())
    }
    let words = ["the question `seat`", "`com.example/seat`", "not registered", ".input::<mistakes::run::Seat>()"];
    expect_told(|| Tool::new("tool", book), &words).await;

    let server = builder(Tool::new("tool", book)).input::<Seat>().build().unwrap();
    let asked = Client::new(&server).declaring_extension("com.example/seat").call_tool("tool", json!({})).await;
    asked.expect_asked(&["seat"]);
}

#[tokio::test]
async fn an_argument_of_the_wrong_type() {
    async fn age(_: Flow, age: Age) -> Result<String, Failure> {
        Ok(age.years.to_string())
    }
    let failed = call(builder(Tool::new("tool", age)), json!({ "years": "seven" })).await;
    let told = failed.expect_tool_error();
    assert_eq!(told, "The arguments do not fit: $.years: expected a whole number, got a string");
}

#[tokio::test]
async fn a_state_that_is_refused_is_explained_too() {
    async fn greet(flow: Flow) -> Result<String, Failure> {
        let Name { name } = flow.elicit("who", "Who?").await?;
        Ok(name)
    }
    let restarted = || builder(Tool::new("tool", greet));
    let asked = call(restarted(), json!({})).await.accept("who", json!({ "name": "Ada" }));
    let log = Log::start();
    let refused = asked.clone().at(&restarted().build().unwrap()).send().await;
    assert_eq!(refused.expect_error().message, "The request state is not valid");
    let log = log.text();
    for words in ["a key of its process", "such as this server before a restart", "Sealer::from_env("] {
        assert!(log.contains(words), "{log}, without {words:?}");
    }
    let refused = asked.at(&restarted().explain_failures().build().unwrap()).send().await;
    let message = refused.expect_error().message;
    assert_eq!(message, "The request state is not valid: it was not sealed with the key it names");
}
