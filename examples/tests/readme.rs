//! The README keeps its word: its handler is the example's, and what it says to paste can be pasted. What its first
//! command shows is compared by the tests of `mrtr-cli`.

use std::process::Command;

use mrtr::prelude::*;

const README: &str = include_str!("../../README.md");

#[data]
struct Name {
    name: String,
}

async fn greet(flow: Flow) -> Result<String> {
    let Name { name } = flow.elicit("name", "Who are you?").await?;
    Ok(format!("Hello, {name}"))
}

#[test]
fn its_handler_is_the_one_that_asks_on_the_terminal() {
    let handler = block("rust,ignore", 0);
    assert!(include_str!("../hello.rs").contains(handler), "{handler}");
    assert!(handler.lines().count() <= 12, "{handler}");
}

#[tokio::test(flavor = "multi_thread")]
async fn its_curl_lines_can_be_pasted() {
    let server = Server::builder("greeter", "1.0.0").tool(Tool::new("greet", greet)).build().expect("it is whole");
    let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0").expect("a port is free");
    let address = bound.address().expect("it is bound").to_string();
    let serving = tokio::spawn(bound.run(std::future::pending()));
    let script = block("sh", 3).replace("127.0.0.1:8000", &address);
    let folder = tempfile::tempdir().expect("there is room");
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &script]).current_dir(folder.path());
    let output = tokio::task::spawn_blocking(move || shell.output()).await.expect("it ends").expect("there is a shell");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let replies: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let mut shown: Vec<Value> =
        block("json", 0).lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    assert!(replies[0]["result"]["requestState"].is_string(), "{printed}");
    // Each state is another.
    shown[0]["result"]["requestState"] = replies[0]["result"]["requestState"].clone();
    assert_eq!(replies, shown, "{printed}");
    serving.abort();
}

/// The block of this kind, counted from 0.
fn block(kind: &str, number: usize) -> &'static str {
    let blocks = README.split("\n```").collect::<Vec<_>>();
    let begins = |text: &&&str| text.split_once('\n').is_some_and(|(head, _)| head == kind);
    let block =
        blocks.iter().filter(begins).nth(number).unwrap_or_else(|| panic!("there is no {kind} number {number}"));
    let (_, body) = block.split_once('\n').expect("it has a first line");
    body
}
