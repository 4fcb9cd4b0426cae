//! The attacks. Each takes something that all callers share.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use crate::attack::{Body, Hostile, Streams, slow_reports};
use crate::caller::CONNECTIONS_OF_CALLER;
use crate::message::{Post, call, initialize, listen};

/// An attack, which every hostile connection runs.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// The attack in words.
    pub(crate) what: &'static str,
    /// The request that is sent again and again, smaller by a scale if it is large.
    pub(crate) post: fn(scale: usize) -> Post,
    pub(crate) run: for<'a> fn(&'a Hostile, Post) -> BoxFuture<'a, ()>,
}

pub(crate) const ATTACKS: [Attack; 18] = [
    Attack {
        name: "unread-progress",
        what: "calls that report progress, on HTTP/2 without a window",
        post: |_| Post::modern(&watched(call("progress", &slow_reports()))),
        run: |hostile, post| hostile.hold_streams(Streams { window: 0, ..MANY }, post).boxed(),
    },
    Attack {
        name: "unread-ids",
        what: "ids of 3.9 MB, whose replies are not read (HTTP/2)",
        post: |scale| {
            let mut message = call("plain", &json!({}));
            message["id"] = "x".repeat(LARGE / scale).into();
            Post::modern(&message)
        },
        run: |hostile, post| hostile.hold_streams(Streams { window: 0, ..few(hostile) }, post).boxed(),
    },
    Attack {
        name: "unread-results",
        what: "results of 1 MiB that are not read (HTTP/2)",
        post: |scale| Post::modern(&call("large", &json!({ "bytes": (1 << 20) / scale }))),
        run: |hostile, post| hostile.hold_streams(Streams { window: 0, rate: 2.0, ..MANY }, post).boxed(),
    },
    Attack {
        name: "unread-pipeline",
        what: "results of 1 MiB, asked for one after another and not read (HTTP/1.1)",
        post: |scale| Post::modern(&call("large", &json!({ "bytes": (1 << 20) / scale }))),
        run: |hostile, post| async move { hostile.pipeline(2.0, &post).await }.boxed(),
    },
    Attack {
        name: "abandoned-loop",
        what: "two calls of sessions that report a million times, and nobody reads",
        post: begin_session,
        run: |hostile, post| async move { abandon_loop(hostile, &post).await }.boxed(),
    },
    Attack {
        name: "abandoned-calls",
        what: "sessions with 64 calls each, whose client goes away",
        post: begin_session,
        run: |hostile, post| async move { abandon_calls(hostile, &post).await }.boxed(),
    },
    Attack {
        name: "wide-subscriptions",
        what: "subscriptions to 950,000 resources with names of one letter",
        post: |scale| Post::modern(&listen(&json!({ "resourceSubscriptions": vec!["a"; 950_000 / scale] }))),
        run: |hostile, post| hostile.hold_streams(few(hostile), post).boxed(),
    },
    Attack {
        name: "wide-capabilities",
        what: "sessions that declare 280,000 capabilities",
        post: |scale| Post::plain(&initialize(&json!({ "experimental": members(280_000 / scale, &json!({})) }))),
        run: |hostile, post| {
            async move { drop(hostile.exchange_all(few(hostile).rate, FEW as usize, &post).await) }.boxed()
        },
    },
    Attack {
        name: "wide-answers",
        what: "calls with 100,000 answers that nobody asked for, and 20,000 members of `_meta`",
        post: |scale| {
            let mut message = watched(call("progress", &slow_reports()));
            message["params"]["inputResponses"] = members(100_000 / scale, &json!({ "action": "cancel" })).into();
            if let Value::Object(meta) = &mut message["params"]["_meta"] {
                meta.extend(
                    members(20_000 / scale, &json!(0)).into_iter().map(|(name, zero)| (format!("x/{name}"), zero)),
                );
            }
            Post::modern(&message)
        },
        run: |hostile, post| hostile.hold_streams(few(hostile), post).boxed(),
    },
    Attack {
        name: "wide-task-lists",
        what: "subscriptions to 70,000 tasks, the same five again and again",
        post: |scale| Post::modern(&call("report", &json!({ "bytes": 200_000 / scale }))),
        run: |hostile, post| async move { listen_to_tasks(hostile, &post).await }.boxed(),
    },
    Attack {
        name: "session-bytes",
        what: "sessions that declare 3.9 MB",
        post: |scale| {
            Post::plain(&initialize(&json!({ "experimental": { "x": { "text": "x".repeat(LARGE / scale) } } })))
        },
        run: |hostile, post| {
            async move { drop(hostile.exchange_all(few(hostile).rate, FEW as usize, &post).await) }.boxed()
        },
    },
    Attack {
        name: "session-slots",
        what: "sessions that are begun and left",
        post: begin_session,
        run: |hostile, post| async move { drop(hostile.exchange_all(RATE, usize::MAX, &post).await) }.boxed(),
    },
    Attack {
        name: "subscriptions",
        what: "as many subscriptions as there may be",
        post: |_| Post::modern(&listen(&json!({ "toolsListChanged": true }))),
        run: |hostile, post| hostile.hold_streams(MANY, post).boxed(),
    },
    Attack {
        name: "hanging-tasks",
        what: "tasks that never end",
        post: |_| Post::modern(&call("hang", &json!({}))),
        run: |hostile, post| async move { drop(hostile.exchange_all(RATE, 40, &post).await) }.boxed(),
    },
    Attack {
        name: "kept-results",
        what: "tasks with results of 1 MiB, which are kept",
        post: |scale| Post::modern(&call("report", &json!({ "bytes": (1 << 20) / scale }))),
        run: |hostile, post| async move { drop(hostile.exchange_all(0.5, usize::MAX, &post).await) }.boxed(),
    },
    Attack {
        name: "churned-tasks",
        what: "tasks that end at once and are soon to be swept",
        post: |_| Post::modern(&call("report", &json!({ "bytes": 100 }))),
        run: |hostile, post| async move { drop(hostile.exchange_all(2.0, usize::MAX, &post).await) }.boxed(),
    },
    Attack {
        name: "long-heads",
        what: "requests with heads of 55 KiB whose bodies do not end (HTTP/2)",
        post: |_| {
            let mut post = Post::modern(&call("plain", &json!({})));
            post.headers.extend((0..80).map(|_| ("x-filler", "x".repeat(650))));
            post
        },
        run: |hostile, post| hostile.hold_streams(Streams { body: Body::Half, ..MANY }, post).boxed(),
    },
    Attack {
        name: "dripping-bodies",
        what: "bodies that come by a byte a second (HTTP/2)",
        post: |_| Post::modern(&call("plain", &json!({}))),
        run: |hostile, post| hostile.hold_streams(Streams { body: Body::Dripping, ..MANY }, post).boxed(),
    },
];

/// The requests that a hostile connection sends a second, where they are small.
pub(crate) const RATE: f64 = 5.0;
/// The most requests that a connection may have open.
const MANY: Streams = Streams { window: 65_535, most: 200, rate: RATE, body: Body::Whole };
/// The number of large requests that a hostile connection sends.
const FEW: u32 = 2;
/// The bytes of the one large part of a large request; 4 MiB are allowed for a body.
const LARGE: usize = 3_900_000;

/// Large requests, spread over half of the time.
fn few(hostile: &Hostile) -> Streams {
    let rate = 2.0 * f64::from(FEW) / hostile.seconds();
    Streams { most: FEW as usize, rate, ..MANY }
}

fn watched(mut message: Value) -> Value {
    message["params"]["_meta"]["progressToken"] = json!("watched");
    message
}

fn members(count: usize, value: &Value) -> Map<String, Value> {
    (0..count).map(|number| (format!("k{number}"), value.clone())).collect()
}

fn begin_session(_: usize) -> Post {
    Post::plain(&initialize(&json!({})))
}

/// Runs once, on the first connection of the first two callers.
async fn abandon_loop(hostile: &Hostile, begin: &Post) {
    let is_first = hostile.number.is_multiple_of(CONNECTIONS_OF_CALLER) && hostile.number < 2 * CONNECTIONS_OF_CALLER;
    if is_first && let Some(session) = hostile.begin_session(begin).await {
        hostile.abandon_call(&session, 1, &json!({ "reports": 1_000_000 / hostile.scale, "pause_ms": 0 })).await;
    }
}

async fn abandon_calls(hostile: &Hostile, begin: &Post) {
    loop {
        let session = hostile.begin_session(begin).await;
        for id in 1..=64 {
            if let Some(session) = &session {
                hostile.abandon_call(session, id, &slow_reports()).await;
            }
            sleep(Duration::from_secs_f64(1.0 / RATE)).await;
        }
    }
}

async fn listen_to_tasks(hostile: &Hostile, report: &Post) {
    let created = hostile.exchange_all(RATE, 5, report).await;
    let ids: Vec<_> = created.iter().filter_map(|created| created["result"]["taskId"].as_str()).collect();
    let many: Vec<_> = ids.iter().cycle().take(if ids.is_empty() { 0 } else { 70_000 / hostile.scale }).collect();
    let post = Post::modern(&listen(&json!({ "taskIds": many }))).by(&hostile.caller);
    hostile.hold_streams(few(hostile), post).await;
}
