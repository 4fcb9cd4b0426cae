//! Calls that are given up: at any point, and the server hears of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use mrtr_client::testing::Script;
use mrtr_client::{
    CallErrorKind, Client, FormRequest, Limits, ServerMessage, Transport, TransportError, TransportRequest,
    TransportResponse,
};
use mrtr_schema::Json;
use mrtr_schema::elicitation::ElicitResult;
use mrtr_server::{Failure, Flow, Server, Tool};
use serde_json::json;
use tokio::sync::Notify;

use super::common::{InMemory, asks_form, complete};

/// Counts how often it was begun and how often it was dropped.
#[derive(Default)]
struct Work {
    begun: Notify,
    dropped: AtomicU32,
}

struct Dropped(Arc<Work>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

async fn work(flow: Flow) -> Result<&'static str, Failure> {
    let work = Arc::clone(flow.state::<Arc<Work>>());
    let _dropped = Dropped(Arc::clone(&work));
    work.begun.notify_one();
    std::future::pending::<()>().await;
    Ok("never")
}

fn worker() -> (InMemory, Arc<Work>) {
    let state = Arc::new(Work::default());
    let server = Server::builder("worker", "1.0.0").state(Arc::clone(&state)).tool(Tool::new("work", work));
    (InMemory::new(server.build().unwrap()), state)
}

/// A server that asks, and never responds to the answers.
#[derive(Debug, Default)]
struct Asks {
    retried: Arc<Notify>,
}

#[async_trait::async_trait]
impl Transport for Asks {
    fn server(&self) -> &'static str {
        "asks"
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        _: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        if request.message.contains("inputResponses") {
            self.retried.notify_one();
            std::future::pending::<()>().await;
        }
        let result = asks_form("pin", &json!({ "type": "object", "properties": { "pin": { "type": "string" } } }));
        Ok(TransportResponse::new(json!({ "jsonrpc": "2.0", "id": request.id, "result": result }).to_string()))
    }
}

#[tokio::test]
async fn a_call_that_is_stopped_during_a_retry_keeps_its_answers() {
    let transport = Asks::default();
    let retried = Arc::clone(&transport.retried);
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let client = Client::builder(transport)
        .on_elicit(move |form: FormRequest| {
            count.fetch_add(1, Ordering::Relaxed);
            async move { form.accept(&json!({ "pin": "0000" })) }
        })
        .build();
    let mut call = client.prepare_tool("pay", json!({})).unwrap();
    for _ in 0..2 {
        let error = client.resume_until::<Json>(call, retried.notified()).await.unwrap_err();
        assert!(matches!(error.kind, CallErrorKind::Interrupted), "{error}");
        let saved = serde_json::to_string(&error.into_pending().unwrap()).unwrap();
        assert!(saved.contains("0000"), "{saved}");
        call = serde_json::from_str(&saved).unwrap();
        assert_eq!(call.unanswered().count(), 0);
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1, "nobody is asked again");
}

#[tokio::test]
async fn dropping_a_call_drops_what_the_server_does_for_it() {
    let (transport, work) = worker();
    let client = Client::builder(transport).build();
    tokio::select! {
        result = client.call_tool("work", json!({})) => panic!("it never ends: {result:?}"),
        () = work.begun.notified() => {}
    }
    assert_eq!(work.dropped.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_drops_what_the_server_does_for_it() {
    let (transport, work) = worker();
    let limits = Limits { exchange: Duration::from_secs(3), ..Limits::default() };
    let client = Client::builder(transport).limits(limits).build();
    let error = client.call_tool("work", json!({})).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Transport { .. }), "{error}");
    assert_eq!(work.dropped.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn dropping_a_call_takes_its_dialogs_away() {
    let work = Arc::new(Work::default());
    let handed = Arc::clone(&work);
    let form = json!({ "type": "object", "properties": {} });
    let client = Client::builder(Script::new().result(asks_form("a", &form)))
        .on_elicit(move |_| {
            let dialog = Dropped(Arc::clone(&handed));
            async move {
                let _dialog = dialog;
                std::future::pending::<ElicitResult>().await
            }
        })
        .build();
    assert!(client.call_tool("t", json!({})).now_or_never().is_none());
    assert_eq!(work.dropped.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn if_one_answer_fails_the_other_dialogs_are_taken_away() {
    let form = json!({ "type": "object", "properties": {} });
    let mut asks = asks_form("stays", &form);
    for key in ["given", "fails"] {
        asks["inputRequests"][key] = asks["inputRequests"]["stays"].clone();
    }
    let work = Arc::new(Work::default());
    let handed = Arc::clone(&work);
    let script = Script::new().result(asks).result(complete("never"));
    let client = Client::builder(script.clone())
        .on_elicit(move |form| {
            let dialog = Dropped(Arc::clone(&handed));
            async move {
                let _dialog = dialog;
                match form.context().key.as_str() {
                    "given" => Ok(form.accept(&json!({})).unwrap()),
                    "fails" => {
                        tokio::task::yield_now().await;
                        Err("the screen went dark")
                    }
                    _ => std::future::pending().await,
                }
            }
        })
        .build();
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(&error.kind, CallErrorKind::NotAnswered { key, .. } if key == "fails"), "{error}");
    assert_eq!(work.dropped.load(Ordering::Relaxed), 3);
    assert_eq!(script.sent().len(), 1);
    let open: Vec<_> = error.pending().unwrap().unanswered().map(str::to_owned).collect();
    assert_eq!(open, ["stays", "fails"], "what was given is kept");
}

#[tokio::test(start_paused = true)]
async fn a_pause_can_be_given_up() {
    let client = Client::builder(Script::new().busy(Some(Duration::from_mins(30)))).build();
    let given_up = tokio::time::timeout(Duration::from_secs(1), client.call_tool("t", json!({}))).await;
    assert!(given_up.is_err());
}
