//! Mistakes that show when a server is built, or checked.

use std::sync::Arc;

use mrtr_schema::{Method, NamespacedInput};
use mrtr_server::testing::check;
use mrtr_server::{Failure, Flow, Guard, Prompt, Resource, ResourceTemplate, Sealer, Server, TaskPolicy, Tool};
use mrtr_state::{Key, KeyRing, MemorySingleUse, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::log::Log;

async fn hello(_: Flow) -> Result<&'static str, Failure> {
    Ok("Hello")
}

fn sealer() -> Sealer {
    Sealer::new(KeyRing::new(Key::new("k1", [7; 32]).unwrap()), "tests").unwrap()
}

#[test]
fn no_sealer() {
    let log = Log::of(&["mrtr_state"]);
    let server = Server::builder("test", "1.0.0").build().unwrap();
    let (log, problems) = (log.text(), check(&server).unwrap_err().to_string());
    for text in [&log, &problems] {
        for words in ["a key of this process", "restart", "Sealer::from_env(", "`openssl rand -base64 32` makes a key"]
        {
            assert!(text.contains(words), "{text}, without {words:?}");
        }
    }
    assert!(log.starts_with("WARN"), "{log}");
}

#[test]
fn explaining_failures_is_warned_of_once() {
    let log = Log::start();
    let server = Server::builder("shop", "1.0.0").sealer(sealer()).explain_failures().build().unwrap();
    let text = log.text();
    assert_eq!(text.lines().count(), 1, "{text}");
    for words in ["WARN", "server=shop", "remove `explain_failures` from the builder"] {
        assert!(text.contains(words), "{text}");
    }
    assert!(check(&server).unwrap_err().to_string().contains("take `.explain_failures()` out"));
}

#[test]
fn a_name_twice() {
    let tool = || Tool::new("greet", hello);
    let error = Server::builder("test", "1.0.0").tool(tool()).tool(tool()).build().unwrap_err();
    assert_eq!(format!("{error:?}"), "two tools are named `greet`: give each a name of its own");
}

#[test]
fn arguments_that_never_come() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "it is never read")]
    struct Bug {
        number: u64,
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "it is never read")]
    struct Nested {
        bug: Bug,
    }
    async fn text(_: Flow, _: String) -> Result<&'static str, Failure> {
        Ok("")
    }
    async fn bug(_: Flow, _: Bug) -> Result<&'static str, Failure> {
        Ok("")
    }
    async fn nested(_: Flow, _: Nested) -> Result<&'static str, Failure> {
        Ok("")
    }
    let builder = || Server::builder("test", "1.0.0").sealer(sealer());
    let cases = [
        (
            builder().tool(Tool::new("greet", text)),
            "`greet` can never be called: its handler takes a `alloc::string::String`, and arguments are an object: \
             take a struct with named fields",
        ),
        (
            builder().prompt(Prompt::new("greet", text)),
            "`greet` can never be called: its handler's arguments are no object: take a struct with named fields",
        ),
        (
            builder().prompt(Prompt::new("greet", nested)),
            "`greet` can never be called: its handler needs `bug`, an object or a list, and arguments come as texts: \
             take a text, a number, a boolean or an enum",
        ),
        (
            builder().resource(Resource::new("bugs://7", "bug", bug)),
            "`bugs://7` can never be called: its handler needs `number`, and one URI has no variables: make it a \
             `ResourceTemplate`",
        ),
        (
            builder().resource_template(ResourceTemplate::new("bugs://{id}", "bug", bug)),
            "`bugs://{id}` can never be called: its handler needs `number`, and the template has no `{number}`",
        ),
    ];
    for (builder, says) in cases {
        assert_eq!(format!("{:?}", builder.build().unwrap_err()), says);
    }
    assert!(builder().resource_template(ResourceTemplate::new("bugs://{number}", "bug", bug)).build().is_ok());
}

#[test]
fn an_input_whose_answers_cannot_be_checked() {
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Odd {
        #[schemars(regex(pattern = "(unclosed"))]
        text: String,
    }
    struct Input;
    impl NamespacedInput for Input {
        const METHOD: Method = Method::from_static("com.example/odd");
        type Params = ();
        type Response = Odd;
    }
    let error = Server::builder("test", "1.0.0").sealer(sealer()).input::<Input>().build().unwrap_err();
    let text = format!("{error:?}");
    assert!(text.starts_with("the answers to the input `com.example/odd` cannot be checked"), "{text}");
}

#[test]
fn a_check_finds_what_users_would() {
    let store = || Guard::new(Arc::new(MemorySingleUse::new(Timestamp::from_millis(0))));
    let described = |name: &str| Tool::new(name, hello).description("Says hello");
    let cases = [
        (described("say hello"), "tool \"say hello\": clients may refuse the name"),
        (Tool::new("hello", hello), "tool `hello` has no description"),
        (Tool::new("hello", hello).description(" "), "tool `hello` has no description"),
        (described("hello").tasks(TaskPolicy::ByFlow), "tool `hello` has a task policy, and nothing on the server"),
        (described("hello").single_use(store()), "tool `hello` is single-use with a store in memory"),
    ];
    for (tool, says) in cases {
        let server = Server::builder("test", "1.0.0").sealer(sealer()).tool(tool).build().unwrap();
        let problems = check(&server).unwrap_err();
        assert!(problems.iter().next().unwrap().starts_with(says), "{problems}");
        assert_eq!(problems.iter().count(), 1, "{problems}");
    }
    let prompts = Server::builder("test", "1.0.0").sealer(sealer()).prompt(Prompt::new("hi there", hello)).build();
    assert_eq!(check(&prompts.unwrap()).unwrap_err().iter().count(), 2);
    let fine = Server::builder("test", "1.0.0").sealer(sealer()).tool(described("say.hello-2")).build().unwrap();
    check(&fine).unwrap();
}
