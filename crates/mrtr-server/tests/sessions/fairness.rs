//! Any order of what several callers do with their sessions: places are divided fairly, and nothing in use is ended.

use mrtr_server::testing::FixedClock;
use mrtr_server::transport::{LegacyReply, SessionStream};
use mrtr_server::{Caller, Server, SessionLimits, Tool};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::client::{Legacy, OpenCall, everything, until};
use crate::tools::{Outside, builder, greet};

const PLACES: usize = 8;
const CALLERS: usize = 6;

/// Something that a caller does, with one of its sessions by its place among them.
#[derive(Debug, Clone)]
enum Deed {
    Open,
    Call(usize),
    Answer(usize),
    Abandon(usize),
    Listen(usize),
    Leave(usize),
    End(usize),
}

fn deed() -> impl Strategy<Value = (usize, Deed)> {
    let place = 0..PLACES;
    let deed = prop_oneof![
        6 => Just(Deed::Open),
        3 => place.clone().prop_map(Deed::Call),
        3 => place.clone().prop_map(Deed::Answer),
        2 => place.clone().prop_map(Deed::Abandon),
        1 => place.clone().prop_map(Deed::Listen),
        1 => place.clone().prop_map(Deed::Leave),
        1 => place.prop_map(Deed::End),
    ];
    // One of them does as much as all others.
    (prop_oneof![Just(0), 0..CALLERS], deed)
}

/// A session, and what is under way in it.
struct Open {
    client: Legacy,
    call: Option<(OpenCall, Value)>,
    listening: Option<SessionStream>,
}

impl Open {
    fn is_in_use(&self) -> bool {
        self.call.is_some() || self.listening.is_some()
    }

    async fn is_found(&self) -> bool {
        let ping = json!({ "jsonrpc": "2.0", "id": "ping", "method": "ping" });
        matches!(self.client.send(&ping).await, LegacyReply::Message { .. })
    }
}

struct World {
    server: Server,
    sessions: [Vec<Open>; CALLERS],
}

impl World {
    fn new() -> Self {
        let limits = SessionLimits { sessions: PLACES, ..SessionLimits::default() };
        let server = builder(&Outside::default(), &FixedClock::default()).session_limits(limits);
        let server = server.tool(Tool::new("greet", greet)).build().unwrap();
        Self { server, sessions: Default::default() }
    }

    async fn begin(&self, caller: usize) -> Option<Legacy> {
        let caller = Caller::new("https://id.example.com", caller.to_string());
        Legacy::calling_as(&self.server, "2025-11-25", &everything(), Some(caller)).await
    }

    /// The share of a caller that holds something from now on, beside one who may come.
    fn share(&self, caller: usize) -> usize {
        let others = (0..CALLERS).filter(|other| *other != caller && !self.sessions[*other].is_empty()).count();
        (PLACES / (others + 2).max(4)).max(1)
    }

    fn used(&self, caller: usize) -> usize {
        self.sessions[caller].len()
    }

    async fn open(&mut self, caller: usize) {
        let is_below = self.used(caller) < self.share(caller);
        let Some(client) = self.begin(caller).await else {
            if is_below {
                self.refused_fairly(caller).await;
            }
            return;
        };
        self.sessions[caller].push(Open { client, call: None, listening: None });
        self.forget_what_made_way().await;
    }

    /// Checks a refusal of a caller below its share: there is no place then, and no caller above its share is admitted.
    async fn refused_fairly(&self, refused: usize) {
        let all: usize = (0..CALLERS).map(|caller| self.used(caller)).sum();
        assert_eq!(all, PLACES, "there is a place, and {refused} was refused");
        for other in (0..CALLERS).filter(|other| self.used(*other) > self.share(*other)) {
            assert!(self.begin(other).await.is_none(), "{other} is admitted, and {refused} was not");
        }
    }

    /// Takes note of sessions that have ended, and makes sure that nothing was under way in them.
    async fn forget_what_made_way(&mut self) {
        for sessions in &mut self.sessions {
            for session in std::mem::take(sessions) {
                if session.is_found().await {
                    sessions.push(session);
                } else {
                    assert!(!session.is_in_use(), "a session in use was ended");
                }
            }
        }
    }

    async fn happen(&mut self, caller: usize, deed: Deed) {
        let place = match deed {
            Deed::Open => return self.open(caller).await,
            Deed::Call(place)
            | Deed::Answer(place)
            | Deed::Abandon(place)
            | Deed::Listen(place)
            | Deed::Leave(place)
            | Deed::End(place) => place,
        };
        if place >= self.used(caller) {
            return;
        }
        if let Deed::End(_) = deed {
            assert!(self.sessions[caller].swap_remove(place).client.end());
            return until("its call has ended", || self.server.detached() <= self.calls()).await;
        }
        let session = &mut self.sessions[caller][place];
        match deed {
            Deed::Call(_) if session.call.is_none() => {
                let mut call = session.client.call("greet", json!({})).await;
                let asked = call.question().await;
                session.call = Some((call, asked));
            }
            Deed::Answer(_) => {
                let Some((mut call, asked)) = session.call.take() else { return };
                session.client.resume(&mut call);
                session.client.accept(&asked, json!({ "name": "Ann" })).await;
                let asked = call.question().await;
                session.client.accept(&asked, json!({ "name": "Bob" })).await;
                assert_eq!(call.text().await, "Ann and Bob");
                until("its call has ended", || self.server.detached() <= self.calls()).await;
            }
            Deed::Abandon(_) => {
                if let Some((call, _)) = &mut session.call {
                    call.disconnect();
                }
            }
            Deed::Listen(_) => session.listening = Some(session.client.listen(None).unwrap()),
            Deed::Leave(_) => session.listening = None,
            Deed::Call(_) | Deed::Open | Deed::End(_) => {}
        }
    }

    fn calls(&self) -> usize {
        self.sessions.iter().flatten().filter(|session| session.call.is_some()).count()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn places_are_divided_fairly_and_nothing_in_use_is_ended(deeds in proptest::collection::vec(deed(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new();
            for (caller, deed) in deeds {
                world.happen(caller, deed).await;
                world.forget_what_made_way().await;
                let all: usize = (0..CALLERS).map(|caller| world.used(caller)).sum();
                assert!(all <= PLACES);
                assert_eq!(world.server.sessions().open(), all);
            }
        });
    }
}
