//! Bounds of sessions, and of strangers, who get nothing.

use std::sync::Arc;
use std::time::Duration;

use mrtr_schema::{JsonObject, Revision};
use mrtr_server::extend::{Extension, ExtensionReply, ExtensionRequest};
use mrtr_server::testing::FixedClock;
use mrtr_server::transport::{CallerKey, HeaderClaim, LegacyReply, ListenError, Permit, Received};
use mrtr_server::{Caller, Context, Failure, Flow, ProtocolError, Server, SessionLimits, TaskPolicy, Tool};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::client::{Legacy, everything, initialize, send, until};
use crate::tools::{Name, Outside, builder, greet};

fn server(limits: SessionLimits, clock: &FixedClock) -> Server {
    builder(&Outside::default(), clock).session_limits(limits).tool(Tool::new("greet", greet)).build().unwrap()
}

fn caller(name: &str) -> Caller {
    Caller::new("https://id.example.com", name)
}

#[tokio::test]
async fn another_principal_finds_nothing() {
    let server = server(SessionLimits::default(), &FixedClock::default());
    let ann = Legacy::calling_as(&server, "2025-11-25", &everything(), Some(caller("ann"))).await.unwrap();
    let mut call = ann.call("greet", json!({})).await;
    let asked = call.question().await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let accepted = json!({ "action": "accept", "content": { "name": "Eve" } });
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": accepted });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": call.id } });
    for stranger in [Some(caller("eve")), None] {
        for message in [&ping, &answer, &cancel] {
            let reply = send(&server, stranger.as_ref(), Some(&ann.session), HeaderClaim::Missing, message).await;
            assert!(matches!(reply, LegacyReply::NoSession { .. }), "{message}: {reply:?}");
        }
        let context = Context::new().caller(stranger);
        let last_event = call.last_event.as_deref();
        let listened = server.sessions().listen(&ann.session, &context, &HeaderClaim::Missing, last_event);
        assert_eq!(listened.unwrap_err(), ListenError::NoSession);
        assert!(!server.sessions().end(&ann.session, &context));
    }
    let tenant = Context::new().caller(caller("ann")).tenant("acme");
    assert!(!server.sessions().end(&ann.session, &tenant), "on behalf of another tenant");
    ann.accept(&asked, json!({ "name": "Ann" })).await;
    assert_eq!(call.question().await["params"]["message"], "And who else?", "nothing of it came through");
}

#[tokio::test]
async fn answers_to_what_was_never_asked_and_second_answers_change_nothing() {
    let server = server(SessionLimits::default(), &FixedClock::default());
    let (client, other) = (Legacy::open(&server, "2025-11-25").await, Legacy::open(&server, "2025-11-25").await);
    let mut call = client.call("greet", json!({})).await;
    let asked = call.question().await;
    let eve = json!({ "action": "accept", "content": { "name": "Eve" } });
    for id in [json!(-1), json!(0), json!(99), json!("1"), json!(i64::MAX)] {
        client.respond(&id, "result", eve.clone()).await;
        client.respond(&id, "error", json!({ "code": 1, "message": "?" })).await;
    }
    // The id is one of this session's, and of no other.
    other.respond(&asked["id"], "result", eve.clone()).await;
    client.accept(&asked, json!({ "name": "Ann" })).await;
    client.respond(&asked["id"], "result", eve).await;
    let asked = call.question().await;
    client.accept(&asked, json!({ "name": "Bob" })).await;
    assert_eq!(call.text().await, "Ann and Bob");
}

#[tokio::test]
async fn an_unused_session_of_ones_own_makes_way_and_never_one_in_use_or_anothers() {
    let limits = SessionLimits { sessions: 3, sessions_of_caller: 2, ..SessionLimits::default() };
    let clock = FixedClock::default();
    let server = server(limits, &clock);
    let open = async |name: &str| {
        clock.advance(Duration::from_secs(1));
        Legacy::calling_as(&server, "2025-11-25", &everything(), Some(caller(name))).await
    };
    let (first, second) = (open("ann").await.unwrap(), open("ann").await.unwrap());
    let mut call = first.call("greet", json!({})).await;
    call.question().await;
    let third = open("ann").await.unwrap();
    assert_eq!(server.sessions().open(), 2, "the second made way");
    assert!(!second.end() && third.listen(None).is_ok());
    let mut used = third.call("greet", json!({})).await;
    used.question().await;
    assert!(open("ann").await.is_none(), "both are in use");
    let bob = open("bob").await.unwrap();
    let mut bobs = bob.call("greet", json!({})).await;
    bobs.question().await;
    assert!(open("cid").await.is_none(), "there are as many as there may be");
    assert!(bob.end());
    assert!(open("cid").await.is_some());
}

#[tokio::test]
async fn an_idle_session_makes_way_for_a_caller_below_its_share_if_its_own_has_more() {
    let limits = SessionLimits { sessions: 3, sessions_of_caller: 2, ..SessionLimits::default() };
    let clock = FixedClock::default();
    let server = server(limits, &clock);
    let open = async |name: &str| {
        clock.advance(Duration::from_secs(1));
        Legacy::calling_as(&server, "2025-11-25", &everything(), Some(caller(name))).await
    };
    // Bob's was unused for longest.
    let bob = open("bob").await.unwrap();
    let first = open("ann").await.unwrap();
    let second = open("ann").await.unwrap();
    let cid = open("cid").await.unwrap();
    assert!(!first.end(), "of Ann's, who has most, the older one made way");
    assert!(open("dan").await.is_none(), "none has more than its share now");
    let third = open("ann").await.unwrap();
    assert!(!second.end(), "of Ann's own, the older one made way");
    assert!(third.end() && bob.end() && cid.end());
}

#[tokio::test]
async fn a_session_does_not_end_while_the_stream_of_its_call_is_read() {
    let limits = SessionLimits { question_timeout: Duration::from_hours(24), ..SessionLimits::default() };
    let clock = FixedClock::default();
    let server = server(limits, &clock);
    let (read, lost) = (Legacy::open(&server, "2025-11-25").await, Legacy::open(&server, "2025-11-25").await);
    let (mut reading, mut losing) = (read.call("greet", json!({})).await, lost.call("greet", json!({})).await);
    let asked = reading.question().await;
    losing.question().await;
    losing.disconnect();
    for _ in 0..3 {
        clock.advance(Duration::from_mins(31));
        until("the one that is not read is removed", || server.sessions().open() == 1).await;
    }
    read.accept(&asked, json!({ "name": "Ann" })).await;
    let asked = reading.question().await;
    read.accept(&asked, json!({ "name": "Bob" })).await;
    assert_eq!(reading.text().await, "Ann and Bob");
}

#[tokio::test]
async fn an_idle_session_is_removed_and_one_in_use_is_not() {
    let clock = FixedClock::default();
    let server = server(SessionLimits::default(), &clock);
    let (idle, heard, read) = (
        Legacy::open(&server, "2025-11-25").await,
        Legacy::open(&server, "2025-11-25").await,
        Legacy::open(&server, "2025-11-25").await,
    );
    let _listening = read.listen(None).unwrap();
    let mut lost = idle.call("greet", json!({})).await;
    lost.question().await;
    lost.disconnect();
    clock.advance(Duration::from_mins(29));
    assert_eq!(heard.request("ping", json!({})).await["result"], json!({}));
    clock.advance(Duration::from_mins(1));
    until("the idle one is removed", || server.sessions().open() == 2).await;
    until("its call has ended", || server.detached() == 0).await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert!(matches!(idle.send(&ping).await, LegacyReply::NoSession { .. }), "it is not found any more");
    assert_eq!(heard.request("ping", json!({})).await["result"], json!({}));
    assert_eq!(read.request("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn there_are_only_so_many_calls_and_questions() {
    async fn many(flow: Flow) -> Result<String, Failure> {
        let all = (0..4).map(|number| flow.elicit::<Name>(format!("name {number}"), "Who?"));
        flow.join_all(all).await?;
        Ok("all".to_owned())
    }
    let limits = SessionLimits { calls: 2, questions: 3, ..SessionLimits::default() };
    let server = builder(&Outside::default(), &FixedClock::default()).session_limits(limits);
    let server = server.tool(Tool::new("greet", greet)).tool(Tool::new("many", many)).build().unwrap();
    let client = Legacy::open(&server, "2025-11-25").await;
    let text = client.call("many", json!({})).await.error_text().await;
    assert_eq!(text, "This tool asks 4 questions at once; a session takes 3");
    let (mut one, mut other) = (client.call("greet", json!({})).await, client.call("greet", json!({})).await);
    one.question().await;
    other.question().await;
    let refused = client.call("greet", json!({})).await.response().await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("its limit of open calls"), "{refused}");
    let params = json!({ "name": "greet", "arguments": {} });
    let same = json!({ "jsonrpc": "2.0", "id": one.id, "method": "tools/call", "params": params });
    let LegacyReply::Message { body, .. } = client.send(&same).await else { panic!("refused") };
    assert!(body.contains("-32600"), "{body}");
    client.cancel(one.id).await;
    while one.next().await.is_some() {}
    client.call("greet", json!({})).await.question().await;
}

#[tokio::test]
async fn a_session_keeps_no_more_than_it_may() {
    async fn large(flow: Flow, name: Name) -> Result<String, Failure> {
        let length = name.name.len();
        flow.step("keep", async { Ok::<_, Failure>("x".repeat(length)) }).await?;
        let answer: Name = flow.elicit("name", "Who?").await?;
        // The last answer of a call may take more than its journal: one that something follows may not.
        if answer.name.len() > 1000 {
            let _: Name = flow.elicit("more", "Who else?").await?;
        }
        Ok(length.to_string())
    }
    let limits = SessionLimits { bytes_of_session: 1 << 20, bytes: 3 << 19, ..SessionLimits::default() };
    let server = builder(&Outside::default(), &FixedClock::default()).session_limits(limits);
    let server = server.tool(Tool::new("large", large)).build().unwrap();
    let client = Legacy::open(&server, "2025-11-25").await;
    let of = |kib: usize| json!({ "name": "x".repeat(kib << 10) });
    let mut kept = client.call("large", of(200)).await;
    let asked = kept.question().await;
    let refused = client.call("large", of(700)).await.response().await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("no room"), "{refused}");
    // Another session has room, as far as all of them have.
    let other = Legacy::open(&server, "2025-11-25").await;
    other.call("large", of(200)).await.question().await;
    client.accept(&asked, json!({ "name": "y".repeat(300 << 10) })).await;
    let response = kept.response().await.to_string();
    assert!(response.contains("too large"), "the answer is more than a journal may hold: {response}");
    // What has ended is given back.
    let mut again = client.call("large", of(200)).await;
    let asked = again.question().await;
    client.accept(&asked, json!({ "name": "Ann" })).await;
    assert_eq!(again.text().await, (200 << 10).to_string());
}

#[tokio::test]
async fn resources_that_are_watched_are_bounded() {
    let server = builder(&Outside::default(), &FixedClock::default());
    let server = server.resource(mrtr_server::Resource::new("test://one", "one", greet)).build().unwrap();
    let client = Legacy::open(&server, "2025-11-25").await;
    let mut refused = None;
    for number in 0..2000 {
        let reply = client.request("resources/subscribe", json!({ "uri": format!("test://{number}") })).await;
        if reply.get("error").is_some() {
            refused = Some((number, reply));
            break;
        }
    }
    let (number, reply) = refused.expect("an end");
    assert_eq!((number, &reply["error"]["code"]), (1024, &json!(-32602)));
}

#[tokio::test]
async fn between_runs_a_call_holds_nothing_of_its_transport() {
    async fn slowly(flow: Flow) -> Result<String, Failure> {
        let _: Name = flow.elicit("name", "Who?").await?;
        flow.step("wait", flow.state::<Outside>().wait()).await?;
        Ok("done".to_owned())
    }
    let outside = Outside::default();
    let server = builder(&outside, &FixedClock::default()).tool(Tool::new("slowly", slowly)).build().unwrap();
    let client = Legacy::open(&server, "2025-11-25").await;
    let places = Arc::new(Semaphore::new(1));
    let held = || Permit::new(Arc::clone(&places).try_acquire_owned().expect("a place is free"));
    let send = async |message: Value| {
        let permit = held();
        let context = Context::new().permit(&permit);
        match server.receive(message.to_string().into(), context).await {
            Received::Legacy(message) => message.answer(Some(&client.session), &HeaderClaim::Missing).await,
            Received::Reply(reply) => panic!("{reply:?}"),
        }
    };
    let params = json!({ "name": "slowly", "arguments": {} });
    let call = send(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await;
    assert!(matches!(call, LegacyReply::Events(_)));
    assert_eq!(places.available_permits(), 1, "it waits for a person");
    let content = json!({ "action": "accept", "content": { "name": "Ann" } });
    send(json!({ "jsonrpc": "2.0", "id": 1, "result": content })).await;
    outside.reached().await;
    assert_eq!(places.available_permits(), 0, "the run has the answer's place");
    outside.open();
    until("the run has ended", || places.available_permits() == 1).await;
}

#[tokio::test]
async fn tools_that_are_always_tasks_are_not_listed() {
    /// Runs tasks, as far as the server is told.
    struct Tasks;
    #[async_trait::async_trait]
    impl Extension for Tasks {
        fn name(&self) -> &'static str {
            "com.example/tasks"
        }

        fn capability(&self, _: Revision) -> Option<JsonObject> {
            None
        }

        fn runs_tasks(&self) -> bool {
            true
        }

        async fn handle(&self, _: &ExtensionRequest<'_>) -> Result<ExtensionReply, ProtocolError> {
            Err(ProtocolError::invalid_params("no task is here"))
        }
    }
    let server = builder(&Outside::default(), &FixedClock::default())
        .extension(Tasks)
        .tool(Tool::new("index", greet).tasks(TaskPolicy::Required))
        .tool(Tool::new("greet", greet).tasks(TaskPolicy::ByFlow))
        .build()
        .unwrap();
    let client = Legacy::open(&server, "2025-11-25").await;
    let listed = client.request("tools/list", json!({})).await;
    let names: Vec<_> = listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["greet"]);
}

#[tokio::test]
async fn a_thousand_sessions_with_an_open_question_each_are_kept_and_let_go() {
    let clock = FixedClock::default();
    let server = server(SessionLimits::default(), &clock);
    let mut waiting = Vec::new();
    for _ in 0..1000 {
        let client = Legacy::open(&server, "2025-11-25").await;
        let mut call = client.call("greet", json!({})).await;
        let asked = call.question().await;
        call.disconnect();
        waiting.push((client, call, asked));
    }
    assert_eq!((server.sessions().open(), server.detached()), (1000, 1000));
    let (client, call, asked) = &mut waiting[500];
    client.resume(call);
    client.accept(asked, json!({ "name": "Ann" })).await;
    let asked = call.question().await;
    client.accept(&asked, json!({ "name": "Bob" })).await;
    assert_eq!(call.text().await, "Ann and Bob");
    clock.advance(Duration::from_mins(30));
    until("all are removed", || server.sessions().open() == 0 && server.detached() == 0).await;
}

#[tokio::test]
async fn an_initialize_is_refused_for_want_of_room_without_a_word_about_others() {
    let limits = SessionLimits { sessions: 0, ..SessionLimits::default() };
    let server = server(limits, &FixedClock::default());
    let reply = send(&server, None, None, HeaderClaim::Missing, &initialize("2025-11-25", &everything())).await;
    assert!(matches!(reply, LegacyReply::Overloaded));
}

#[tokio::test]
async fn what_clients_declare_counts_against_what_sessions_keep() {
    let limits = SessionLimits { bytes: 64 << 10, ..SessionLimits::default() };
    let server = server(limits, &FixedClock::default());
    let much = json!({ "experimental": { "x": { "y": "z".repeat(20 << 10) } } });
    let open = async || Legacy::calling_as(&server, "2025-11-25", &much, None).await;
    let mut used = Vec::new();
    while let Some(client) = open().await {
        let listening = client.listen(None).unwrap();
        used.push((client, listening));
    }
    assert_eq!(used.len(), 2, "there is room for what two declare, beside the quarter that is for others");
    assert!(server.sessions().bytes() > 40 << 10);
    assert!(used[0].0.end());
    used.remove(0);
    let idle = open().await.expect("what a session kept is given back");
    assert!(open().await.is_some() && !idle.end(), "an idle one of the same caller's makes way");
    assert_eq!(server.sessions().open(), 2);
}

/// A client at an address, without a caller.
async fn open_from(server: &Server, address: &str, capabilities: &Value) -> Option<String> {
    let account = Arc::new(CallerKey::address(address.parse().unwrap()));
    let context = Context::new().account(&account);
    let message = initialize("2025-11-25", capabilities).to_string();
    let Received::Legacy(message) = server.receive(message.into(), context).await else { panic!("legacy") };
    match message.answer(None, &HeaderClaim::Missing).await {
        LegacyReply::Opened { session, .. } => Some(session.as_str().to_owned()),
        LegacyReply::Overloaded => None,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_flood_of_sessions_from_one_address_ends_its_own_and_leaves_others_theirs() {
    let limits = SessionLimits { sessions: 64, ..SessionLimits::default() };
    let server = server(limits, &FixedClock::default());
    let honest = open_from(&server, "192.0.2.1", &everything()).await.unwrap();
    for _ in 0..200 {
        open_from(&server, "198.51.100.7", &everything()).await.expect("its own older ones make way");
    }
    assert_eq!(server.sessions().open(), 48, "the last quarter is for others");
    for host in 2..=16 {
        assert!(open_from(&server, &format!("192.0.2.{host}"), &everything()).await.is_some());
    }
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let found = send(&server, None, Some(&honest), HeaderClaim::Missing, &message).await;
    assert!(matches!(found, LegacyReply::Message { .. }), "the honest one is still there: {found:?}");
}

#[tokio::test]
async fn sessions_that_declare_much_leave_others_room_for_calls() {
    let limits = SessionLimits { bytes: 64 << 20, ..SessionLimits::default() };
    let server = server(limits, &FixedClock::default());
    let mut honest = Legacy::calling_as(&server, "2025-11-25", &everything(), Some(caller("ann"))).await.unwrap();
    let much = json!({ "experimental": { "x": { "y": "z".repeat(3 << 20) } } });
    let mut used = Vec::new();
    for _ in 0..69 {
        if let Some(eve) = Legacy::calling_as(&server, "2025-11-25", &much, Some(caller("eve"))).await {
            used.push(eve.listen(None).unwrap());
        }
    }
    assert!(used.len() < 17, "{} of them keep what was declared", used.len());
    for _ in 0..8 {
        honest.call("greet", json!({})).await.question().await;
        honest = Legacy::calling_as(&server, "2025-11-25", &everything(), Some(caller("ann"))).await.unwrap();
    }
}

#[tokio::test]
async fn sixteen_callers_with_all_their_sessions_leave_the_next_one_its_own() {
    let limits = SessionLimits { sessions: 256, sessions_of_caller: 16, ..SessionLimits::default() };
    let server = server(limits, &FixedClock::default());
    let mut opened = Vec::new();
    for round in 0..16 {
        for eve in 0..16 {
            let name = format!("eve {eve}");
            let session = Legacy::calling_as(&server, "2025-11-25", &everything(), Some(caller(&name))).await;
            opened.extend(session.map(|session| (round, session)));
        }
    }
    let ann = Legacy::calling_as(&server, "2025-11-25", &everything(), Some(caller("ann"))).await;
    assert!(ann.is_some(), "an idle session of a caller above its share makes way");
}

#[tokio::test]
async fn answers_that_wait_for_others_count_against_what_a_session_keeps() {
    async fn many(flow: Flow) -> Result<String, Failure> {
        let all = (0..8).map(|number| flow.elicit::<Name>(format!("name {number}"), "Who?"));
        flow.join_all(all).await?;
        Ok("all".to_owned())
    }
    let limits = SessionLimits { bytes_of_session: 1 << 20, ..SessionLimits::default() };
    let server = builder(&Outside::default(), &FixedClock::default()).session_limits(limits);
    let server = server.tool(Tool::new("many", many)).build().unwrap();
    let client = Legacy::open(&server, "2025-11-25").await;
    let mut call = client.call("many", json!({})).await;
    let before = server.sessions().bytes();
    for answers in 1..=6 {
        let asked = call.question().await;
        client.accept(&asked, json!({ "name": "x".repeat(200 << 10) })).await;
        let kept = server.sessions().bytes() - before;
        assert!(kept > answers.min(5) * (195 << 10), "{kept} for {answers}");
    }
    let text = loop {
        let message = call.next().await.expect("a response");
        if message["id"] == call.id {
            break message["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        }
    };
    assert!(text.contains("no room"), "{text}");
}
