//! The attacks, each a way to take what all callers share.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::attack::{Body, Hostile, Streams, slow_reports};
use crate::caller::CONNECTIONS_OF_CALLER;
use crate::message::{Post, call, initialize, listen};

/// An attack, which every hostile connection runs.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// What is sent, in words.
    pub(crate) what: &'static str,
    pub(crate) run: for<'a> fn(&'a Hostile) -> BoxFuture<'a, ()>,
}

pub(crate) const ATTACKS: [Attack; 18] = [
    Attack {
        name: "unread-progress",
        what: "calls that report progress, on HTTP/2 without a window",
        run: |hostile| {
            let post = Post::modern(&hostile.caller, &watched(call("progress", &slow_reports())));
            hostile.hold_streams(Streams { window: 0, ..MANY }, post).boxed()
        },
    },
    Attack {
        name: "unread-ids",
        what: "ids of 3.9 MB, whose replies are not read (HTTP/2)",
        run: |hostile| {
            let mut message = call("plain", &json!({}));
            message["id"] = "x".repeat(LARGE).into();
            let post = Post::modern(&hostile.caller, &message);
            hostile.hold_streams(Streams { window: 0, ..few(hostile) }, post).boxed()
        },
    },
    Attack {
        name: "unread-results",
        what: "results of 1 MiB that are not read (HTTP/2)",
        run: |hostile| {
            let post = Post::modern(&hostile.caller, &call("large", &json!({ "bytes": 1 << 20 })));
            hostile.hold_streams(Streams { window: 0, rate: 2.0, ..MANY }, post).boxed()
        },
    },
    Attack {
        name: "unread-pipeline",
        what: "results of 1 MiB, asked for one after another and not read (HTTP/1.1)",
        run: |hostile| {
            let post = Post::modern(&hostile.caller, &call("large", &json!({ "bytes": 1 << 20 })));
            async move { hostile.pipeline(2.0, &post).await }.boxed()
        },
    },
    Attack {
        name: "abandoned-loop",
        what: "two calls of sessions that report a million times, and nobody reads",
        run: |hostile| async move { abandon_loop(hostile).await }.boxed(),
    },
    Attack {
        name: "abandoned-calls",
        what: "sessions with 64 calls each, whose client goes away",
        run: |hostile| async move { abandon_calls(hostile).await }.boxed(),
    },
    Attack {
        name: "wide-subscriptions",
        what: "subscriptions to 950,000 resources with names of one letter",
        run: |hostile| {
            let post = Post::modern(&hostile.caller, &listen(&json!({ "resourceSubscriptions": vec!["a"; 950_000] })));
            hostile.hold_streams(few(hostile), post).boxed()
        },
    },
    Attack {
        name: "wide-capabilities",
        what: "sessions that declare 280,000 capabilities",
        run: |hostile| {
            let capabilities = json!({ "experimental": members(280_000, &json!({})) });
            let post = Post::legacy(&hostile.caller, None, &initialize(&capabilities));
            async move { drop(hostile.exchange_all(few(hostile).rate, FEW, &post).await) }.boxed()
        },
    },
    Attack {
        name: "wide-answers",
        what: "calls with 100,000 answers that nobody asked for, and as much `_meta`",
        run: |hostile| {
            let mut message = watched(call("progress", &slow_reports()));
            message["params"]["inputResponses"] = members(100_000, &json!({ "action": "cancel" })).into();
            if let Value::Object(meta) = &mut message["params"]["_meta"] {
                meta.extend(members(20_000, &json!(0)).into_iter().map(|(name, zero)| (format!("x/{name}"), zero)));
            }
            hostile.hold_streams(few(hostile), Post::modern(&hostile.caller, &message)).boxed()
        },
    },
    Attack {
        name: "wide-task-lists",
        what: "subscriptions to 70,000 tasks, the same five again and again",
        run: |hostile| async move { listen_to_tasks(hostile).await }.boxed(),
    },
    Attack {
        name: "session-bytes",
        what: "sessions that declare 3.9 MB",
        run: |hostile| {
            let capabilities = json!({ "experimental": { "x": { "text": "x".repeat(LARGE) } } });
            let post = Post::legacy(&hostile.caller, None, &initialize(&capabilities));
            async move { drop(hostile.exchange_all(few(hostile).rate, FEW, &post).await) }.boxed()
        },
    },
    Attack {
        name: "session-slots",
        what: "sessions that are begun and left",
        run: |hostile| {
            let post = Post::legacy(&hostile.caller, None, &initialize(&json!({})));
            async move { drop(hostile.exchange_all(RATE, usize::MAX, &post).await) }.boxed()
        },
    },
    Attack {
        name: "subscriptions",
        what: "as many subscriptions as there may be",
        run: |hostile| {
            let post = Post::modern(&hostile.caller, &listen(&json!({ "toolsListChanged": true })));
            hostile.hold_streams(MANY, post).boxed()
        },
    },
    Attack {
        name: "hanging-tasks",
        what: "tasks that never end",
        run: |hostile| {
            let post = Post::modern(&hostile.caller, &call("hang", &json!({})));
            async move { drop(hostile.exchange_all(RATE, 40, &post).await) }.boxed()
        },
    },
    Attack {
        name: "kept-results",
        what: "tasks with results of 1 MiB, which are kept",
        run: |hostile| {
            let post = Post::modern(&hostile.caller, &call("report", &json!({ "bytes": 1 << 20 })));
            async move { drop(hostile.exchange_all(0.5, usize::MAX, &post).await) }.boxed()
        },
    },
    Attack {
        name: "churned-tasks",
        what: "tasks that end at once, more than were swept before",
        run: |hostile| {
            let post = Post::modern(&hostile.caller, &call("report", &json!({ "bytes": 100 })));
            async move { drop(hostile.exchange_all(2.0, usize::MAX, &post).await) }.boxed()
        },
    },
    Attack {
        name: "long-heads",
        what: "requests with heads of 56 KiB whose bodies do not end (HTTP/2)",
        run: |hostile| {
            let mut post = Post::modern(&hostile.caller, &call("plain", &json!({})));
            post.headers.extend((0..80).map(|_| ("x-filler", "x".repeat(650))));
            hostile.hold_streams(Streams { body: Body::Half, ..MANY }, post).boxed()
        },
    },
    Attack {
        name: "dripping-bodies",
        what: "bodies that come by a byte a second (HTTP/2)",
        run: |hostile| {
            let post = Post::modern(&hostile.caller, &call("plain", &json!({})));
            hostile.hold_streams(Streams { body: Body::Dripping, ..MANY }, post).boxed()
        },
    },
];

/// How many requests a hostile connection sends a second, where they are small.
pub(crate) const RATE: f64 = 10.0;
/// As many as a connection may have.
const MANY: Streams = Streams { window: 65_535, most: 200, rate: RATE, body: Body::Whole };
/// How many large requests a hostile connection sends.
const FEW: usize = 2;
/// What a large request has of one thing; 4 MiB are allowed for a body.
const LARGE: usize = 3_900_000;

/// Large requests, spread over half of the time.
fn few(hostile: &Hostile) -> Streams {
    let rate = 2.0 * FEW as f64 / hostile.seconds();
    Streams { most: FEW, rate, ..MANY }
}

fn watched(mut message: Value) -> Value {
    message["params"]["_meta"]["progressToken"] = json!("watched");
    message
}

fn members(count: usize, value: &Value) -> Map<String, Value> {
    (0..count).map(|number| (format!("k{number}"), value.clone())).collect()
}

/// By the first two callers' first connection, once.
async fn abandon_loop(hostile: &Hostile) {
    if hostile.number.is_multiple_of(CONNECTIONS_OF_CALLER)
        && hostile.number < 2 * CONNECTIONS_OF_CALLER
        && let Some(session) = hostile.begin_session(&json!({})).await
    {
        hostile.abandon_call(&session, 1, &json!({ "reports": 1_000_000, "pause_ms": 0 })).await;
    }
}

async fn abandon_calls(hostile: &Hostile) {
    loop {
        let session = hostile.begin_session(&json!({})).await;
        for id in 1..=64 {
            if let Some(session) = &session {
                hostile.abandon_call(session, id, &slow_reports()).await;
            }
            tokio::time::sleep(std::time::Duration::from_secs_f64(1.0 / RATE)).await;
        }
    }
}

async fn listen_to_tasks(hostile: &Hostile) {
    let report = Post::modern(&hostile.caller, &call("report", &json!({ "bytes": 200_000 })));
    let created = hostile.exchange_all(RATE, 5, &report).await;
    let ids: Vec<_> = created.iter().filter_map(|created| created["result"]["taskId"].as_str()).collect();
    let many: Vec<_> = ids.iter().cycle().take(if ids.is_empty() { 0 } else { 70_000 }).collect();
    let post = Post::modern(&hostile.caller, &listen(&json!({ "taskIds": many })));
    hostile.hold_streams(few(hostile), post).await;
}
