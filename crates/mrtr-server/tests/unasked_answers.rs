//! Answers that nothing asked for: there are only so many, and they take no more memory than the text in which they
//! came.
//!
//! A test binary of its own, with one test that measures, so that nothing else is in its memory.

#![allow(clippy::unwrap_used, reason = "a panic is the report")]
#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use mrtr_server::{Context, Failure, Flow, Server, StatePolicy, Tool};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

#[derive(Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

/// A gate at which a call waits while its memory is measured.
#[derive(Clone)]
struct Gate {
    waiting: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Gate {
    fn new() -> Self {
        Self { waiting: Arc::new(Semaphore::new(0)), open: Arc::new(Semaphore::new(0)) }
    }

    async fn pass(&self) -> Result<(), Failure> {
        self.waiting.add_permits(1);
        self.open.acquire().await?.forget();
        Ok(())
    }
}

fn server(gate: &Gate) -> Server {
    let (first, second, third) = (gate.clone(), gate.clone(), gate.clone());
    let in_step = move |flow: Flow| {
        let gate = first.clone();
        async move { Ok::<_, Failure>(flow.step("wait", async { gate.pass().await }).await.map(|()| "done")?) }
    };
    let after_question = move |flow: Flow| {
        let gate = second.clone();
        async move {
            flow.elicit::<Name>("name", "Who?").await?;
            Ok::<_, Failure>(flow.step("wait", async { gate.pass().await }).await.map(|()| "done")?)
        }
    };
    let before_it_asks = move |flow: Flow| {
        let gate = third.clone();
        async move {
            gate.pass().await?;
            Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").await?.name)
        }
    };
    Server::builder("test", "1")
        .tool(Tool::new("in_step", in_step).state_policy(StatePolicy::WhenNeeded))
        .tool(Tool::new("after_question", after_question))
        .tool(Tool::new("before_it_asks", before_it_asks).state_policy(StatePolicy::WhenNeeded))
        .tool(Tool::new("asks_much", asks_much).state_policy(StatePolicy::WhenNeeded))
        .build()
        .unwrap()
}

async fn asks_much(flow: Flow) -> Result<String, Failure> {
    let mut length = 0;
    for number in 0..QUESTIONS {
        length += flow.elicit::<Name>(format!("k{number:x}"), "Who?").await?.name.len();
    }
    Ok(length.to_string())
}

/// A call with so many answers that nothing asked for, and one to `name`.
fn body(tool: &str, state: Option<&str>, unasked: usize, answer: &str) -> Bytes {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    let state = state.map(|state| format!(r#""requestState":"{state}","#)).unwrap_or_default();
    let mut text = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","_meta":{meta},{state}"inputResponses":{{
            "name":{{"action":"accept","content":{{"name":"Ada"}}}}"#
    );
    for number in 0..unasked {
        write!(text, r#","k{number:x}":{answer}"#).unwrap();
    }
    text.push_str("}}}");
    text.into()
}

async fn reply(server: &Server, body: Bytes) -> Value {
    let text = server.handle(body, Context::new()).await.last().await.unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The memory that this process takes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

#[tokio::test]
async fn calls_that_wait_keep_unasked_answers_as_the_text_they_came_in() {
    let gate = Gate::new();
    let server = server(&gate);
    let answer = format!(r#"{{"long":"{}"}}"#, "x".repeat(3 << 10));
    let first = reply(&server, body("after_question", None, 0, "{}").slice(..)).await;
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let state = first["result"]["requestState"].as_str().unwrap().to_owned();
    for (tool, state) in [("in_step", None), ("after_question", Some(&*state)), ("before_it_asks", None)] {
        // What an allocator keeps of the first ones is not counted against the rest.
        gate.open.add_permits(1);
        reply(&server, body(tool, state, UNASKED, &answer)).await;
        gate.waiting.acquire().await.unwrap().forget();
        let bodies: Vec<_> = (0..CALLS).map(|_| body(tool, state, UNASKED, &answer)).collect();
        let taken_by_bodies: usize = bodies.iter().map(Bytes::len).sum();
        assert!(taken_by_bodies > CALLS * (3 << 20), "{taken_by_bodies}");
        let before = resident();
        let measured = async {
            gate.waiting.acquire_many(u32::try_from(CALLS).unwrap()).await.unwrap().forget();
            let taken = resident().saturating_sub(before);
            gate.open.add_permits(CALLS);
            taken
        };
        let calls = join_all(bodies.into_iter().map(|body| reply(&server, body)));
        let (replies, taken) = tokio::join!(calls, measured);
        for reply in replies {
            assert!(reply["result"]["content"][0]["text"].is_string(), "{reply}");
        }
        println!("{tool}: {} KiB beside bodies of {} KiB", taken >> 10, taken_by_bodies >> 10);
        assert!(taken < taken_by_bodies, "{tool}: {taken} bytes beside bodies of {taken_by_bodies}");
    }
    let answer = r#"{"action":"accept","content":{"name":"Ada"}}"#;
    let told = reply(&server, body("asks_much", None, UNASKED, answer)).await;
    assert_eq!(told["result"]["content"][0]["text"], (3 * QUESTIONS).to_string(), "{told}");
    for too_many in [UNASKED + 1, AS_MANY_AS_A_BODY_HOLDS] {
        let refused = reply(&server, body("asks_much", None, too_many, "{}")).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains("at most 1024 are allowed"), "{refused}");
    }
}

const CALLS: usize = 4;
/// The most answers that there may be, beside one that is asked for.
const UNASKED: usize = mrtr_schema::MOST_MEMBERS - 1;
const AS_MANY_AS_A_BODY_HOLDS: usize = 380_000;
const QUESTIONS: usize = 500;
