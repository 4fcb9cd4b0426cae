//! The example with a page: driven as a person would, by a browser and the Enter key.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use reqwest::StatusCode;

use crate::promise::is_kept;

const SOURCE: &str = include_str!("../../sign_in.rs");

struct Running {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sign_in"));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the example is built");
        let lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        Self { process, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().expect("it goes on").expect("it prints text")
    }

    fn press_enter(&mut self) {
        self.process.stdin.as_mut().expect("it is piped").write_all(b"\n").expect("it reads");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn sign_in(page: &str, name: &str, password: &str) -> StatusCode {
    let request = reqwest::Client::new().post(page).header("content-type", "application/x-www-form-urlencoded");
    request.body(format!("name={name}&password={password}")).send().await.expect("the page answers").status()
}

#[tokio::test]
async fn the_call_completes_after_its_own_caller_has_signed_in_and_not_before() {
    let mut running = Running::start();
    let asked = [running.line(), running.line()];
    let page = asked[0].rsplit(' ').next().expect("the URL ends the line").to_owned();
    let shown = reqwest::get(&page).await.expect("the page answers").text().await.expect("it is text");
    assert!(shown.contains("<form"), "{shown}");

    assert_eq!(sign_in(&page, "ada", "guess").await, StatusCode::UNAUTHORIZED);
    assert_eq!(sign_in(&page, "bob", "ross").await, StatusCode::FORBIDDEN, "the link was ada's");
    running.press_enter();
    // Consent is not completion: the same page is asked for again.
    assert_eq!([running.line(), running.line()], asked);

    assert_eq!(sign_in(&page, "ada", "lovelace").await, StatusCode::OK);
    running.press_enter();
    let printed = [asked[0].clone(), asked[1].clone(), running.line()].join("\n");
    assert!(is_kept(SOURCE, &printed), "{printed}");
    assert!(running.process.wait().expect("it ends").success());
}

#[tokio::test]
async fn no_token_is_no_caller() {
    let mut running = Running::start();
    let line = running.line();
    let url = line.split(' ').next().expect("the URL begins the line");
    let request = reqwest::Client::new().post(url).header("content-type", "application/json").body("{}");
    let request = request.header("accept", "application/json, text/event-stream");
    assert_eq!(request.send().await.expect("it answers").status(), StatusCode::UNAUTHORIZED);
}
