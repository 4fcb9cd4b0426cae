//! Any order of answers, errors, cancellations, lost connections and resumptions, over several calls: each effect
//! happens once, and every call ends exactly once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use mrtr_server::testing::FixedClock;
use mrtr_server::{Failure, Flow, Server, Tool};
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::client::{Legacy, OpenCall, settle, until};
use crate::tools::Name;

/// The effects, and the number of times that each was done.
#[derive(Clone, Default)]
struct Effects(Arc<Mutex<HashMap<String, usize>>>);

impl Effects {
    async fn happen(&self, what: String) -> Result<(), Failure> {
        *self.0.lock().unwrap().entry(what).or_default() += 1;
        // Something else may be done meanwhile.
        tokio::task::yield_now().await;
        Ok(())
    }

    fn of(&self, what: &str) -> usize {
        self.0.lock().unwrap().get(what).copied().unwrap_or_default()
    }
}

#[derive(Deserialize, JsonSchema)]
struct Number {
    number: usize,
}

/// Asks two things at once, does something, asks another, and does something else.
async fn work(flow: Flow, Number { number }: Number) -> Result<String, Failure> {
    let effects = flow.state::<Effects>();
    let (one, other) =
        flow.join((flow.elicit::<Name>("one", "One?"), flow.elicit::<Name>("other", "Other?").optional())).await?;
    flow.step("first", effects.happen(format!("{number} first"))).await?;
    let last: Name = flow.elicit("last", "Last?").await?;
    flow.step("second", effects.happen(format!("{number} second"))).await?;
    Ok(format!("{} {} {}", one.name, other.map_or("-".to_owned(), |other| other.name), last.name))
}

/// Something that a client does with one of its calls.
#[derive(Debug, Clone)]
enum Deed {
    Read,
    Answer(usize),
    AnswerAgain,
    Misanswer(usize),
    Decline(usize),
    Fail(usize),
    Cancel,
    Disconnect,
    Resume,
}

fn deed() -> impl Strategy<Value = (usize, Deed)> {
    let which = 0..3_usize;
    let deed = prop_oneof![
        4 => Just(Deed::Read),
        6 => which.clone().prop_map(Deed::Answer),
        1 => Just(Deed::AnswerAgain),
        1 => which.clone().prop_map(Deed::Misanswer),
        1 => which.clone().prop_map(Deed::Decline),
        1 => which.clone().prop_map(Deed::Fail),
        1 => Just(Deed::Cancel),
        2 => Just(Deed::Disconnect),
        2 => Just(Deed::Resume),
    ];
    (0..3_usize, deed)
}

/// A call, as its client sees it.
struct Watched {
    call: OpenCall,
    is_connected: bool,
    was_cancelled: bool,
    open: Vec<serde_json::Value>,
    answered: Vec<serde_json::Value>,
    responses: usize,
    ended: bool,
}

impl Watched {
    /// Reads what is there to read by now.
    async fn read(&mut self) {
        while self.is_connected {
            // What has not come after so many turns of every other task waits for something.
            tokio::select! {
                biased;
                message = self.call.next() => match message {
                    None => {
                        self.ended = true;
                        self.is_connected = false;
                    }
                    Some(message) if message.get("method").is_none() => self.responses += 1,
                    Some(message) if message["method"] == "notifications/cancelled" => {
                        self.open.retain(|open| open["id"] != message["params"]["requestId"]);
                    }
                    Some(message) => self.open.push(message),
                },
                () = settle() => return,
            }
        }
    }

    fn take(&mut self, which: usize) -> Option<serde_json::Value> {
        if self.open.is_empty() {
            return None;
        }
        let taken = self.open.remove(which % self.open.len());
        self.answered.push(taken.clone());
        Some(taken)
    }

    async fn does(&mut self, client: &Legacy, deed: &Deed) {
        match deed {
            Deed::Read => self.read().await,
            Deed::Answer(which) => {
                if let Some(asked) = self.take(*which) {
                    client.accept(&asked, json!({ "name": "x" })).await;
                }
            }
            Deed::AnswerAgain => {
                if let Some(asked) = self.answered.last() {
                    client.accept(asked, json!({ "name": "y" })).await;
                }
            }
            Deed::Misanswer(which) => {
                if let Some(asked) = self.take(*which) {
                    client.accept(&asked, json!({ "name": 7 })).await;
                }
            }
            Deed::Decline(which) => {
                if let Some(asked) = self.take(*which) {
                    client.fail(&asked, -1, "no").await;
                }
            }
            Deed::Fail(which) => {
                if let Some(asked) = self.take(*which) {
                    client.fail(&asked, -32603, "no").await;
                }
            }
            Deed::Cancel => {
                client.cancel(self.call.id).await;
                self.was_cancelled = true;
            }
            Deed::Disconnect => {
                self.call.disconnect();
                self.is_connected = false;
            }
            Deed::Resume if !self.ended => {
                // After a cancellation its stream may be gone; otherwise it never is.
                match client.listen(self.call.last_event.as_deref()) {
                    Ok(_) => {
                        client.resume(&mut self.call);
                        self.is_connected = true;
                    }
                    Err(error) => assert!(self.was_cancelled, "{error}"),
                }
            }
            Deed::Resume => {}
        }
    }
}

async fn play(deeds: &[(usize, Deed)]) {
    let effects = Effects::default();
    let server = Server::builder("test", "1.0.0").state(effects.clone()).clock(FixedClock::default());
    let server = server.tool(Tool::new("work", work)).build().unwrap();
    let client = Legacy::open(&server, "2025-11-25").await;
    let mut calls = Vec::new();
    for number in 0..3 {
        let mut call = client.call("work", json!({ "number": number })).await;
        let open = vec![call.question().await, call.question().await];
        let (is_connected, was_cancelled, ended) = (true, false, false);
        calls.push(Watched { call, is_connected, was_cancelled, open, answered: Vec::new(), responses: 0, ended });
    }
    for (number, deed) in deeds {
        calls[*number].does(&client, deed).await;
    }
    // Then each client comes back, and answers what is open, until its call has ended.
    for watched in &mut calls {
        for _ in 0..20 {
            watched.does(&client, &Deed::Resume).await;
            watched.read().await;
            if watched.ended || !watched.is_connected {
                break;
            }
            watched.does(&client, &Deed::Answer(0)).await;
        }
    }
    until("every call has ended", || server.detached() == 0).await;
    for (number, watched) in calls.iter().enumerate() {
        assert!(watched.responses <= 1, "call {number} has {} responses", watched.responses);
        assert!(watched.responses == 1 || watched.was_cancelled, "call {number} has no response");
        let (first, second) = (effects.of(&format!("{number} first")), effects.of(&format!("{number} second")));
        assert!(first <= 1 && second <= first, "call {number} did {first} and {second}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_effect_happens_once_and_every_call_ends_exactly_once(deeds in prop::collection::vec(deed(), 0..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(play(&deeds));
    }
}
