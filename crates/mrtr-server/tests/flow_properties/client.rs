//! A client that answers rightly, wrongly, partly or not at all, and sends states old, new, none and made up.

use mrtr_schema::{CallToolResult, InputRequiredResult, MethodResult, Revision, Wire};
use mrtr_server::{Context, Server, StatePolicy, Tool};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Map, Value, json};

use crate::program::{Op, run};
use crate::rules;
use crate::world::World;

/// One request of the client's.
#[derive(Debug, Clone)]
pub(crate) struct Move {
    /// The kinds of answers to the questions, in turn, and from the first one again.
    answers: Vec<Answer>,
    state: State,
    /// True if answers to questions that were not asked come along.
    extra: bool,
    reversed: bool,
    other_arguments: bool,
}

#[derive(Debug, Clone, Copy)]
enum Answer {
    Right,
    Bad,
    Decline,
    WrongKind,
    Silence,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Last,
    Older(prop::sample::Index),
    None,
    Tampered(prop::sample::Index),
}

pub(crate) fn any_moves() -> impl Strategy<Value = Vec<Move>> {
    prop::collection::vec(any_move(), 0..8)
}

fn any_move() -> impl Strategy<Value = Move> {
    let answer = prop_oneof![
        5 => Just(Answer::Right),
        1 => Just(Answer::Bad),
        1 => Just(Answer::Decline),
        1 => Just(Answer::WrongKind),
        2 => Just(Answer::Silence),
    ];
    let state = prop_oneof![
        6 => Just(State::Last),
        2 => any::<prop::sample::Index>().prop_map(State::Older),
        2 => Just(State::None),
        1 => any::<prop::sample::Index>().prop_map(State::Tampered),
    ];
    (prop::collection::vec(answer, 1..4), state, any::<bool>(), any::<bool>(), prop::bool::weighted(0.05)).prop_map(
        |(answers, state, extra, reversed, other_arguments)| Move { answers, state, extra, reversed, other_arguments },
    )
}

/// A reply that asked or carried something: the run it came from, its state, and its questions.
#[derive(Clone)]
struct Interim {
    run: usize,
    state: Option<String>,
    questions: Vec<(String, String)>,
    /// True if the call had the other arguments.
    other_arguments: bool,
}

struct Client {
    server: Server,
    world: World,
    interims: Vec<Interim>,
    made: usize,
}

/// Plays a game: the moves, and then a good client that comes to an end.
pub(crate) async fn play(
    program: Vec<Op>,
    moves: Vec<Move>,
    when_needed: bool,
    strict: bool,
) -> Result<(), TestCaseError> {
    let world = World::of(program);
    let policy = if when_needed { StatePolicy::WhenNeeded } else { StatePolicy::Always };
    let tool = Tool::new("run", run).state_policy(policy);
    let tool = if strict { tool.strict() } else { tool };
    let server = Server::builder("any", "1").state(world.clone()).tool(tool).build().unwrap();
    let mut client = Client { server, world: world.clone(), interims: Vec::new(), made: 0 };
    client.send(None, Map::new(), None, false).await?;
    for chosen in &moves {
        client.make(chosen).await?;
    }
    client.finish().await?;
    rules::check(&world.runs(), strict)
}

impl Client {
    async fn make(&mut self, chosen: &Move) -> Result<(), TestCaseError> {
        let Some(last) = self.interims.last().cloned() else { return Ok(()) };
        let from = match chosen.state {
            State::Older(index) => index.get(&self.interims).clone(),
            _ => last,
        };
        let answers = self.answers(chosen, &from.questions);
        let tampered = match (&chosen.state, &from.state) {
            (State::Tampered(index), Some(state)) => Some(tampered(state, *index)),
            _ => None,
        };
        let (state, parent) = match chosen.state {
            State::None => (None, None),
            State::Tampered(_) if tampered.is_some() => (tampered.clone(), None),
            _ => (from.state.clone(), from.state.as_ref().map(|_| from.run)),
        };
        // What was sealed is for the same call, and for no other.
        let refused = tampered.is_some() || chosen.other_arguments && state.is_some();
        let other_arguments = from.other_arguments ^ chosen.other_arguments;
        let reply = self.send_with(parent, answers, state, other_arguments, refused).await?;
        prop_assert_eq!(refused, reply["error"]["code"] == -32602, "{}", reply);
        Ok(())
    }

    /// Answers everything rightly, until the call is done. It must be, in a bounded number of rounds.
    async fn finish(&mut self) -> Result<(), TestCaseError> {
        let right = Move {
            answers: vec![Answer::Right],
            state: State::Last,
            extra: false,
            reversed: false,
            other_arguments: false,
        };
        for _ in 0..48 {
            let Some(last) = self.interims.last().cloned() else { return Ok(()) };
            last.questions.iter().for_each(|(key, _)| self.world.visit(key));
            let answers = self.answers(&right, &last.questions);
            let parent = last.state.as_ref().map(|_| last.run);
            let reply = self.send(parent, answers, last.state, last.other_arguments).await?;
            if reply["result"]["resultType"] == "complete" {
                return Ok(());
            }
        }
        Err(TestCaseError::fail("the flow does not come to an end"))
    }

    fn answers(&mut self, chosen: &Move, questions: &[(String, String)]) -> Map<String, Value> {
        let mut answers = Vec::new();
        for ((key, method), answer) in questions.iter().zip(chosen.answers.iter().cycle()) {
            self.made += 1;
            let value = format!("file:///{}", self.made);
            let answered = match answer {
                Answer::Silence => continue,
                Answer::Decline => json!({ "action": "decline" }),
                Answer::WrongKind => json!({ "surprise": [1, 2] }),
                Answer::Right => right(method, &value),
                Answer::Bad => right(method, &format!("bad{value}")),
            };
            answers.push((key.clone(), answered));
        }
        if chosen.extra {
            let strangers = ["0", "1", "2", "0f", "1a", "1.l.0", "0/0", "1/0"];
            for key in strangers.into_iter().filter(|key| questions.iter().all(|(asked, _)| asked != key)) {
                self.made += 1;
                answers.push((key.to_owned(), right("elicitation/create", &format!("file:///{}", self.made))));
            }
        }
        if chosen.reversed {
            answers.reverse();
        }
        answers.into_iter().collect()
    }

    async fn send(
        &mut self,
        parent: Option<usize>,
        answers: Map<String, Value>,
        state: Option<String>,
        other_arguments: bool,
    ) -> Result<Value, TestCaseError> {
        self.send_with(parent, answers, state, other_arguments, false).await
    }

    async fn send_with(
        &mut self,
        parent: Option<usize>,
        answers: Map<String, Value>,
        state: Option<String>,
        other_arguments: bool,
        refused: bool,
    ) -> Result<Value, TestCaseError> {
        let brought = answers.iter().filter_map(|(key, answer)| Some((key.clone(), value_of(answer)?))).collect();
        let run = self.world.begin(parent, brought, answers.keys().cloned().collect());
        let mut params = json!({
            "name": "run",
            "arguments": if other_arguments { json!({ "x": 1 }) } else { json!({}) },
            "inputResponses": answers,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {
                    "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {},
                },
            },
        });
        if let Some(state) = state {
            params["requestState"] = state.into();
        }
        let message = json!({ "jsonrpc": "2.0", "id": run, "method": "tools/call", "params": params });
        let reply = self.server.handle_value(message, Context::new()).await.unwrap();
        if refused {
            prop_assert!(self.world.runs()[run].events.is_empty());
            return Ok(reply);
        }
        prop_assert!(reply.get("error").is_none(), "{}", reply);
        let read =
            MethodResult::<CallToolResult>::from_json(&reply["result"].to_string(), Revision::V2026_07_28.strict());
        match read {
            Ok(MethodResult::InputRequired(interim)) => self.keep(run, &interim, other_arguments),
            Ok(MethodResult::Complete(_)) => {
                let text = reply["result"].to_string();
                // A strict tool may have refused an answer before the mistake was made; and a question whose check is
                // dropped in every run is asked until the flow's rounds are used up.
                let is_refused =
                    text.contains("changed after it was answered") || text.contains("This call has lasted too long");
                prop_assert!(is_refused || self.world.is_fair(text.contains("The tool failed")), "{}", text);
                prop_assert!(!text.contains("The run did not end within"), "it ran until its deadline: {}", text);
            }
            other => prop_assert!(false, "{:?} of {}", other, reply),
        }
        Ok(reply)
    }

    fn keep(&mut self, run: usize, interim: &InputRequiredResult, other_arguments: bool) {
        let questions: Vec<_> =
            interim.input_requests().map(|(key, request)| (key.to_owned(), request.method().to_owned())).collect();
        let wordings = interim.input_requests().filter_map(|(key, request)| {
            let request = serde_json::to_value(request).unwrap();
            Some((key.to_owned(), request["params"]["message"].as_str()?.to_owned()))
        });
        self.world.replied(questions.iter().map(|(key, _)| key.clone()).collect(), wordings.collect());
        let state = interim.request_state().map(|state| state.untrusted_text().to_owned());
        self.interims.push(Interim { run, state, questions, other_arguments });
    }
}

fn right(method: &str, value: &str) -> Value {
    match method {
        "roots/list" => json!({ "roots": [{ "uri": value }] }),
        "sampling/createMessage" => {
            json!({ "role": "assistant", "model": value, "content": { "type": "text", "text": "" } })
        }
        _ => json!({ "action": "accept", "content": { "value": value } }),
    }
}

/// The value in an answer, by which it is known again.
fn value_of(answer: &Value) -> Option<String> {
    let places = [&answer["content"]["value"], &answer["roots"][0]["uri"], &answer["model"]];
    places.into_iter().find_map(Value::as_str).map(str::to_owned)
}

fn tampered(state: &str, index: prop::sample::Index) -> String {
    let mut bytes = state.as_bytes().to_vec();
    let at = index.index(bytes.len());
    bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
    String::from_utf8(bytes).unwrap()
}
