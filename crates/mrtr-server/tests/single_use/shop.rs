//! A shop whose one tool asks, charges, ships, asks again and mails; and requests to it, as they go over the wire.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mrtr_flow::Clock;
use mrtr_server::testing::FixedClock;
use mrtr_server::{Context, Failure, Flow, Guard, ProtocolError, Server, Tool};
use mrtr_state::single_use::SingleUse;
use mrtr_state::{Key, KeyRing, Sealer};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::yield_now;

use crate::store::{Failures, Wire, Wired, stores};

#[derive(Deserialize, JsonSchema)]
struct Buyer {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Rating {
    stars: u64,
}

#[derive(Clone)]
pub(crate) struct Shop {
    pub(crate) kind: &'static str,
    pub(crate) server: Server,
    pub(crate) clock: FixedClock,
    pub(crate) wire: Wire,
    pub(crate) failures: Failures,
    pub(crate) outside: Outside,
    store: Arc<dyn SingleUse>,
    /// Kept while the store is.
    folder: Arc<Option<TempDir>>,
}

/// The effects outside, as flow and step. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Outside(Arc<Mutex<Vec<(String, String)>>>);

impl Outside {
    pub(crate) fn count(&self, step: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|(_, name)| name == step).count()
    }

    /// The number of times that each step took effect.
    pub(crate) fn counts(&self) -> [usize; 3] {
        ["charge", "ship", "mail"].map(|step| self.count(step))
    }
}

/// The behaviour of the tool.
#[derive(Clone, Copy, Default)]
pub(crate) struct Manner {
    pub(crate) idempotent: bool,
    pub(crate) refuse_replays: bool,
    /// Fails with a protocol error after the second step, as long as nothing was shipped before this run.
    pub(crate) fails_first: bool,
    /// The time that charging takes.
    pub(crate) slow: Duration,
}

impl Shop {
    /// A shop for each kind of store.
    pub(crate) fn all(manner: Manner) -> Vec<Self> {
        let clock = FixedClock::default();
        let open = |(kind, store, folder)| Self::open(kind, &clock, store, Arc::new(folder), manner);
        stores(&clock).into_iter().map(open).collect()
    }

    fn open(
        kind: &'static str,
        clock: &FixedClock,
        store: Arc<dyn SingleUse>,
        folder: Arc<Option<TempDir>>,
        manner: Manner,
    ) -> Self {
        let (wire, failures, outside) = (Wire::default(), Failures::default(), Outside::default());
        let wired = Wired { inner: Arc::clone(&store), wire: wire.clone(), failures: failures.clone() };
        let guard = Guard::new(Arc::new(wired));
        let guard = if manner.refuse_replays { guard.refuse_replays() } else { guard };
        let (happening, places, time) = (outside.clone(), wire.clone(), clock.clone());
        let handler = move |flow| sell(flow, manner, happening.clone(), places.clone(), time.clone());
        let sealer = Sealer::new(KeyRing::new(Key::new("k1", [7; 32]).unwrap()), "shop").unwrap();
        let tool = Tool::new("sell", handler).single_use(guard);
        let server = Server::builder("shop", "1").sealer(sealer).clock(clock.clone()).tool(tool).build().unwrap();
        Self { kind, server, clock: clock.clone(), wire, failures, outside, store, folder }
    }

    /// This shop after a crash: another process with the same keys and the same store.
    pub(crate) fn reopened(&self, manner: Manner) -> Self {
        let other = Self::open(self.kind, &self.clock, Arc::clone(&self.store), Arc::clone(&self.folder), manner);
        let earlier = self.outside.0.lock().unwrap().clone();
        other.outside.0.lock().unwrap().extend(earlier);
        other
    }

    pub(crate) async fn send(&self, request: &Value) -> Value {
        let reply = self.server.handle_value(request.clone(), Context::new()).await.unwrap();
        assert_eq!(reply["id"], request["id"]);
        reply
    }

    /// A first round, and the request that answers its question.
    pub(crate) async fn first(&self) -> Value {
        let asked = self.send(&request(1, None, &json!({}))).await;
        assert!(asked["result"]["inputRequests"]["buyer"].is_object(), "{asked}");
        request(2, state(&asked), &buyer("Ada"))
    }
}

async fn sell(flow: Flow, manner: Manner, outside: Outside, wire: Wire, clock: FixedClock) -> Result<String, Failure> {
    let buyer: Buyer = flow.elicit("buyer", "Who buys?").await?;
    let id = flow.idempotency_key("flow").await;
    let act = |step: &'static str| {
        let (outside, wire, id) = (outside.clone(), wire.clone(), id.clone());
        let step = flow.step(step, async move {
            wire.place().await;
            yield_now().await;
            outside.0.lock().unwrap().push((id, step.to_owned()));
            wire.place().await;
            Ok::<_, Failure>(step.to_owned())
        });
        if manner.idempotent { step.idempotent() } else { step }
    };
    if manner.slow > Duration::ZERO {
        flow.step("wait", async {
            clock.sleep(manner.slow).await;
            Ok::<_, Failure>(())
        })
        .await?;
    }
    let shipped = outside.count("ship") > 0;
    act("charge").await?;
    wire.place().await;
    act("ship").await?;
    if manner.fails_first && !shipped {
        return Err(ProtocolError::new(mrtr_schema::ErrorCode::INTERNAL_ERROR, "the printer is on fire").into());
    }
    let rating: Rating = flow.elicit("rating", "How was it?").await?;
    act("mail").await?;
    Ok(format!("{} gave {} stars", buyer.name, rating.stars))
}

pub(crate) fn request(id: u64, state: Option<&str>, answers: &Value) -> Value {
    let mut params = json!({
        "name": "sell",
        "arguments": {},
        "inputResponses": answers,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        },
    });
    if let Some(state) = state {
        params["requestState"] = state.into();
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

pub(crate) fn again(request: &Value, id: u64) -> Value {
    let mut request = request.clone();
    request["id"] = id.into();
    request
}

pub(crate) fn state(reply: &Value) -> Option<&str> {
    reply["result"]["requestState"].as_str()
}

pub(crate) fn buyer(name: &str) -> Value {
    json!({ "buyer": { "action": "accept", "content": { "name": name } } })
}

pub(crate) fn stars(stars: u64) -> Value {
    json!({ "rating": { "action": "accept", "content": { "stars": stars } } })
}

pub(crate) fn text(reply: &Value) -> &str {
    reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("the reply was {reply}"))
}

/// Returns true if it is the one error for a state that will not do.
pub(crate) fn is_refused(reply: &Value) -> bool {
    reply["error"] == json!({ "code": -32602, "message": "The request state is not valid" })
}
