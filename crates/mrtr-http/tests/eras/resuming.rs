//! Streams of a session that break off again and again: how often they are resumed, and what counts.

use std::sync::atomic::{AtomicUsize, Ordering};

use mrtr_client::{CallError, CallErrorKind, Client};
use mrtr_http::HttpTransport;
use mrtr_schema::{CallToolResult, Revision};
use serde_json::json;

use crate::support::scripted::{Answer, Asked, Scripted};
use crate::support::within;
use crate::tracker::text;

/// A server whose stream breaks off at once, and that answers the GETs which resume it by this, from the first on.
async fn breaking(resumed: impl Fn(usize, &Asked) -> Answer + Send + Sync + 'static) -> Scripted {
    let gets = AtomicUsize::new(0);
    Scripted::start(move |_, asked| match asked.message["method"].as_str() {
        Some("initialize") => {
            let server = json!({ "name": "s", "version": "1" });
            let result = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": server });
            let headers = "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n";
            Answer::with(200, headers, &asked.reply(json!({ "result": result })))
        }
        Some("tools/call") => Answer::stream(vec![b"id: e-0\ndata:\n\n".to_vec()]),
        None if asked.message.is_null() => resumed(gets.fetch_add(1, Ordering::SeqCst) + 1, asked),
        _ => Answer::with(202, "", ""),
    })
    .await
}

async fn call(scripted: &Scripted) -> Result<CallToolResult, CallError> {
    let transport = HttpTransport::new(&scripted.url()).unwrap();
    let client = Client::builder(transport).revision(Revision::V2025_11_25).build();
    within("the end of the call", client.call_tool("t", json!({}))).await
}

fn gets(scripted: &Scripted) -> Vec<String> {
    let gets = scripted.asked().into_iter().filter(|asked| asked.message.is_null());
    gets.filter_map(|asked| asked.header("last-event-id").map(ToOwned::to_owned)).collect()
}

#[tokio::test]
async fn a_stream_that_cannot_be_resumed_is_given_up_after_so_many_failures() {
    let scripted = breaking(|_, _| Answer::Nothing).await;
    let error = call(&scripted).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::InDoubt { .. }), "{error}");
    assert!(error.to_string().contains("cannot be resumed"), "{error}");
    assert_eq!(gets(&scripted).len(), 5);
    assert_eq!(HttpTransport::RESUME_FAILURES, 5);
}

#[tokio::test]
async fn failures_are_counted_from_the_last_event_on() {
    let last = usize::try_from(HttpTransport::RESUME_FAILURES).unwrap();
    let scripted = breaking(move |number, _| match number {
        // One less than too many.
        _ if number % last != 0 => Answer::Nothing,
        _ if number == last => Answer::stream(vec![b"id: e-1\ndata:\n\n".to_vec()]),
        _ => {
            // Nothing else says which request it answers: an error without an id does.
            let error = json!({ "jsonrpc": "2.0", "error": { "code": -32000, "message": "at last" } });
            Answer::stream(vec![format!("id: e-2\ndata: {error}\n\n").into_bytes()])
        }
    })
    .await;
    let error = call(&scripted).await.map(|result| text(&result)).unwrap_err();
    assert!(error.to_string().contains("at last"), "{error}");
    let resumed = gets(&scripted);
    assert_eq!((resumed.len(), resumed[4].as_str(), resumed[5].as_str()), (10, "e-0", "e-1"));
}
