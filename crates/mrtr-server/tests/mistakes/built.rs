//! Mistakes that show when a server is built, or checked.

use std::error::Error;
use std::sync::Arc;

use mrtr_schema::prompts::PromptArgument;
use mrtr_schema::tools::InputSchema;
use mrtr_schema::{JsonObject, Method, NamespacedInput, Revision};
use mrtr_server::extend::{Extension, ExtensionReply, ExtensionRequest, Host};
use mrtr_server::handler::Completing;
use mrtr_server::testing::check;
use mrtr_server::{
    Failure, Flow, Guard, Prompt, ProtocolError, Resource, ResourceTemplate, Sealer, Server, TaskPolicy, Tool,
};
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
    assert!(log.starts_with("INFO"), "a first program is not warned: {log}");
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
fn what_can_never_work_is_refused() {
    struct Nothing;
    #[async_trait::async_trait]
    impl Extension for Nothing {
        fn name(&self) -> &'static str {
            "com.example/nothing"
        }

        fn capability(&self, _: Revision) -> Option<JsonObject> {
            None
        }

        async fn handle(&self, _: &ExtensionRequest<'_>) -> Result<ExtensionReply, ProtocolError> {
            Err(ProtocolError::invalid_params("there is nothing"))
        }
    }
    struct Seat;
    struct Meal;
    impl NamespacedInput for Seat {
        const METHOD: Method = Method::from_static("com.example/choice");
        type Params = ();
        type Response = u32;
    }
    impl NamespacedInput for Meal {
        const METHOD: Method = Method::from_static("com.example/choice");
        type Params = ();
        type Response = u32;
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "it is never read")]
    struct Named {
        name: String,
    }
    async fn named(_: Flow, _: Named) -> Result<&'static str, Failure> {
        Ok("")
    }
    let completer = async |_: Flow, _: Completing| Ok::<_, Failure>(Vec::new());
    let argument = || PromptArgument::new("title");
    let builder = || Server::builder("test", "1.0.0").sealer(sealer());
    let name_with = "name it with 1 to 128 of A-Z a-z 0-9 _ - .";
    let no_uri = "which is no URI: give it an absolute one, such as `files:///readme`";
    let tool = Tool::new("pay", hello).tasks(TaskPolicy::Required);
    let template = |uri| builder().resource_template(ResourceTemplate::new(uri, "bug", hello));
    let cases = [
        (builder().tool(Tool::new("", hello)), format!("tool \"\": the name is empty; {name_with}")),
        (
            builder().tool(Tool::new("a\nb", hello)),
            format!("tool \"a\\nb\": the name has control characters; {name_with}"),
        ),
        (builder().prompt(Prompt::new("", hello)), format!("prompt \"\": the name is empty; {name_with}")),
        (builder().resource(Resource::new("", "readme", hello)), format!("resource `readme` is at \"\", {no_uri}")),
        (
            builder().resource(Resource::new("/readme", "readme", hello)),
            format!("resource `readme` is at \"/readme\", {no_uri}"),
        ),
        (template("bugs/{id}"), format!("resource `bug` is at \"bugs/{{id}}\", {no_uri}")),
        (template(""), format!("resource `bug` is at \"\", {no_uri}")),
        (
            builder().tool(tool),
            "tool `pay` has `TaskPolicy::Required`, and nothing on the server runs tasks: give the builder \
             `.extension(Tasks::new(…))`, or the tool another policy"
                .to_owned(),
        ),
        (
            builder().prompt(Prompt::new("greet", named).complete("nmae", completer)),
            "`greet` completes `nmae`, which it does not take: it takes `name`".to_owned(),
        ),
        (
            builder().resource_template(ResourceTemplate::new("bugs://{id}", "bug", hello).complete("bug", completer)),
            "`bugs://{id}` completes `bug`, which it does not take: it takes `id`".to_owned(),
        ),
        (
            builder().prompt(Prompt::new("greet", named).define(|prompt| prompt.arguments = Some(vec![argument()]))),
            "`greet` can never be called: its handler needs `name`, and the prompt offers no argument `name`"
                .to_owned(),
        ),
        (
            builder().extension(Nothing).extension(Nothing),
            "two extensions are named `com.example/nothing`: give each a name of its own".to_owned(),
        ),
        (
            builder().input::<Seat>().input::<Meal>(),
            "two inputs are named `com.example/choice`: give each a name of its own".to_owned(),
        ),
    ];
    for (builder, says) in cases {
        let error = builder.build().unwrap_err();
        assert_eq!((format!("{error:?}"), error.to_string()), (says.clone(), says));
        assert!(error.source().is_none(), "the text has the cause already, and a chain would say it twice: {error}");
    }
    for fine in ["bugs://{id}", "bugs:{id}", "{+uri}"] {
        assert!(template(fine).build().is_ok(), "{fine}");
    }
    assert!(builder().input::<Seat>().input::<Seat>().build().is_ok(), "it is one input");
}

#[test]
fn a_refusal_says_the_whole_cause_once() {
    struct Taken;
    #[async_trait::async_trait]
    impl Extension for Taken {
        fn name(&self) -> &'static str {
            "com.example/taken"
        }

        fn capability(&self, _: Revision) -> Option<JsonObject> {
            None
        }

        fn attached(&self, _: Host) -> Result<(), Box<dyn Error + Send + Sync>> {
            Err("another server has it: make one for each server".into())
        }

        async fn handle(&self, _: &ExtensionRequest<'_>) -> Result<ExtensionReply, ProtocolError> {
            Err(ProtocolError::invalid_params("there is nothing"))
        }
    }
    let builder = || Server::builder("test", "1.0.0").sealer(sealer());
    let template = |uri| builder().resource_template(ResourceTemplate::new(uri, "bug", hello));
    let cases = [
        (
            builder().resource(Resource::new("a://b", "one", hello)).resource(Resource::new("a://b", "other", hello)),
            "two resources are at `a://b`: give each a URI of its own".to_owned(),
        ),
        (
            template("a://{b}").resource_template(ResourceTemplate::new("a://{b}", "other", hello)),
            "two templates are at `a://{b}`: give each a URI of its own".to_owned(),
        ),
        (template("a://{b"), "`a://{b` cannot be matched against: a brace stands alone".to_owned()),
        (
            builder().extension(Taken),
            "extension `com.example/taken`: another server has it: make one for each server".to_owned(),
        ),
    ];
    for (builder, says) in cases {
        let error = builder.build().unwrap_err();
        assert_eq!((format!("{error:?}"), error.to_string()), (says.clone(), says));
        assert!(error.source().is_none(), "the text has the cause already, and a chain would say it twice: {error}");
    }
}

#[test]
fn a_name_that_some_clients_refuse_is_warned_of() {
    let log = Log::start();
    let server = Server::builder("test", "1.0.0").sealer(sealer());
    assert!(server.tool(Tool::new("say hello", hello)).tool(Tool::new("say.hello-2", hello)).build().is_ok());
    let text = log.text();
    assert_eq!(text.lines().count(), 1, "{text}");
    for words in ["WARN", "name=say hello", "clients may refuse the name of this tool: use 1 to 128 of A-Z a-z"] {
        assert!(text.contains(words), "{text}, without {words:?}");
    }
}

/// Its flows fail when they call `into_task`, and perhaps not in the first weeks.
#[test]
fn a_flow_that_may_become_a_task_where_nothing_runs_tasks_is_warned_of() {
    let log = Log::start();
    let tool = |name: &str, policy| Tool::new(name, hello).tasks(policy);
    let server = Server::builder("test", "1.0.0").sealer(sealer());
    let server = server.tool(tool("order", TaskPolicy::ByFlow)).tool(tool("index", TaskPolicy::IfPossible));
    assert!(server.tool(tool("greet", TaskPolicy::Never)).build().is_ok());
    let text = log.text();
    assert_eq!(text.lines().count(), 1, "{text}");
    for words in ["WARN", "tool=order", "TaskPolicy::ByFlow", "give the builder `.extension(Tasks::new(…))`"] {
        assert!(text.contains(words), "{text}, without {words:?}");
    }
}

#[test]
fn a_schema_by_hand_that_leaves_out_what_the_handler_requires() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "it is never read")]
    struct Book {
        isbn: String,
        copies: Option<u32>,
    }
    async fn find(_: Flow, _: Book) -> Result<&'static str, Failure> {
        Ok("")
    }
    let built = |schema: &str| {
        let tool = Tool::new("find", find).input_schema(InputSchema::parse(schema).unwrap());
        Server::builder("test", "1.0.0").sealer(sealer()).tool(tool).build()
    };
    let text = built(r#"{"type": "object", "properties": {"ISBN": {"type": "string"}}, "required": ["ISBN"]}"#);
    assert_eq!(
        text.unwrap_err().to_string(),
        "the input schema of tool `find` has no property `isbn`, and its handler's type requires it: add the \
         property, or name the field as the schema does, with `#[serde(rename = \"…\")]`"
    );
    for fine in [
        r#"{"type": "object", "properties": {"isbn": {"type": "string", "pattern": "^[0-9]+$"}}, "required": ["isbn"]}"#,
        r#"{"type": "object", "properties": {"copies": {}}, "required": ["isbn"]}"#,
        r#"{"type": "object", "properties": {}, "allOf": [{"properties": {"isbn": {}}, "required": ["isbn"]}]}"#,
        r#"{"type": "object"}"#,
    ] {
        assert!(built(fine).is_ok(), "{fine}");
    }
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
    let one = Server::builder("test", "1.0.0").sealer(sealer()).explain_failures().build().unwrap();
    assert!(check(&one).unwrap_err().to_string().starts_with("1 problem:\n- "));
}
