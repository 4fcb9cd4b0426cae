//! A call of many rounds: the time of a round, and the length of the state by then.

use anyhow::Result;
use mrtr_server::{Flow, Server, Tool};
use mrtr_state::{Key, KeyRing, Sealer};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Round, Times};
use crate::Scale;
use crate::report::Figure;
use crate::server::exchange::{call, state_in};
use crate::tracker::answer;

/// The round that answers question 30 asks question 31. It is the call's 31st, and the default limit is 32.
const ANSWERED: [usize; 5] = [1, 5, 10, 20, 30];
const QUESTIONS: usize = 31;

#[derive(Deserialize, JsonSchema)]
struct Counted {
    count: u64,
}

async fn survey(flow: Flow) -> Result<String> {
    let mut sum = 0;
    for number in 1..=QUESTIONS {
        let Counted { count } = flow.elicit(format!("q{number}"), "How many are there?").await?;
        sum += count;
    }
    Ok(format!("{sum} in all"))
}

pub(super) fn figures(scale: Scale) -> Result<Vec<Figure>> {
    let sealer = Sealer::new(KeyRing::new(Key::new("2026-11", [7; 32])?), "bench")?;
    let server = Server::builder("survey", "1.0.0").sealer(sealer).tool(Tool::new("survey", survey)).build()?;
    let conversation = conversation(&server)?;
    let rounds: Vec<_> = ANSWERED.iter().map(|answered| conversation[*answered].round(&server, *answered)).collect();
    let times = Times::of(&rounds, scale)?;
    let figures = ANSWERED.iter().enumerate().map(|(which, answered)| Figure {
        what: format!("round that answers question {answered}"),
        who: "mrtr-server".to_owned(),
        ratio: times.ratio(which).into(),
        target: None,
        absolute: format!("{:.1} µs, {} B of state", times.micros(which), conversation[*answered].state),
    });
    Ok(figures.collect())
}

/// A message of a conversation, and the length of the state in the reply to it.
struct Sent {
    body: String,
    state: usize,
}

impl Sent {
    fn round<'a>(&self, server: &'a Server, answered: usize) -> Round<'a> {
        Round { server, body: self.body.clone(), mark: format!("\"q{}\"", answered + 1) }
    }
}

/// Plays a conversation, and returns its messages: the first makes the call, and the message at index N answers
/// question N.
fn conversation(server: &Server) -> Result<Vec<Sent>> {
    let runtime = crate::server::load::runtime()?;
    let mut body = call("survey", &json!({}), None);
    let mut sent = Vec::new();
    for number in 1..=QUESTIONS {
        let state = state_in(&runtime.block_on(answer(server, body.clone()))?)?;
        sent.push(Sent { body, state: state.len() });
        let key = format!("q{number}");
        body = call("survey", &json!({}), Some(((&key, json!({ "count": 7 })), &state)));
    }
    Ok(sent)
}
