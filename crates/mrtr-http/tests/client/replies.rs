//! Replies of either kind: cut anywhere, within bounds, and never without a response.

use std::error::Error;

use mrtr_client::{CallError, CallErrorKind, Client, EventKind, Limits, Stop};
use mrtr_http::HttpTransport;
use mrtr_schema::Revision;
use serde_json::json;

use crate::support::scripted::{Answer, Asked, Scripted};

fn client(scripted: &Scripted) -> Client {
    Client::builder(HttpTransport::new(&scripted.url()).unwrap()).build()
}

fn result(asked: &Asked, text: &str) -> String {
    let content = json!([{ "type": "text", "text": text }]);
    asked.reply(json!({ "result": { "resultType": "complete", "content": content } }))
}

fn progress(asked: &Asked, progress: u64) -> String {
    let token = &asked.message["params"]["_meta"]["progressToken"];
    let params = json!({ "progressToken": token, "progress": progress });
    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }).to_string()
}

async fn call(client: &Client) -> Result<String, CallError> {
    let result = client.call_tool("tool", json!({})).await?;
    Ok(serde_json::to_value(&result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned())
}

fn causes(error: &CallError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[tokio::test]
async fn ht_5_a_stream_may_be_cut_anywhere() {
    for end in ["\n", "\r\n", "\r"] {
        let scripted = Scripted::start(move |number, asked| {
            let (first, second) = (progress(asked, 1), progress(asked, 2));
            let last = result(asked, "Straße");
            let (head, tail) = last.split_at(last.find("\"result\"").unwrap());
            let lines = [
                ": a comment",
                "",
                "event: message",
                &format!("data: {first}"),
                "",
                "event: ping",
                "data: {}",
                "",
                "id: 7",
                "data:",
                "",
                &format!("data:{second}"),
                "",
                &format!("data: {head}"),
                &format!("data: {tail}"),
                "",
                "",
            ];
            let bytes = lines.join(end).into_bytes();
            // The first time in one piece, and then cut at one place after the other.
            let at = (number * 7) % bytes.len();
            Answer::stream(bytes.chunks(at.max(1)).map(<[u8]>::to_vec).collect())
        })
        .await;
        let client = client(&scripted);
        let mut events = client.events();
        for round in 0..60 {
            assert_eq!(call(&client).await.unwrap(), "Straße", "{end:?}, {round}");
            let mut heard = Vec::new();
            while heard.len() < 2 {
                if let EventKind::Progress(progress) = events.next().await.unwrap().kind {
                    heard.push(serde_json::to_value(&progress).unwrap()["progress"].as_u64().unwrap());
                }
            }
            assert_eq!(heard, [1, 2]);
        }
    }
}

#[tokio::test]
async fn ht_5_a_stream_without_a_response_is_no_reply() {
    let scripted = Scripted::start(|number, asked| {
        let whole = result(asked, "late");
        let pieces = match number {
            1 => String::new(),
            2 => format!("data: {}\n\n", progress(asked, 1)),
            3 => format!("data: {whole}"),
            _ => format!("data: {whole}\n"),
        };
        Answer::stream(vec![pieces.into_bytes()])
    })
    .await;
    let client = client(&scripted);
    for _ in 0..4 {
        let error = call(&client).await.unwrap_err();
        assert!(causes(&error).contains("without a response"), "{}", causes(&error));
        assert!(error.pending().is_some(), "the call can be picked up");
    }
    assert_eq!(scripted.asked().len(), 4, "and is not sent again by itself");
}

#[tokio::test]
async fn ht_5_a_server_has_nothing_to_ask_on_a_stream() {
    let scripted = Scripted::start(|number, _| {
        let line = match number {
            1 => r#"data: {"jsonrpc":"2.0","id":1,"method":"roots/list"}"#,
            2 => "data: [1",
            _ => "data: \u{fffd}{",
        };
        Answer::stream(vec![format!("{line}\n\n").into_bytes()])
    })
    .await;
    let client = client(&scripted);
    let error = call(&client).await.unwrap_err();
    assert!(causes(&error).contains("roots/list"), "{}", causes(&error));
    for _ in 0..2 {
        assert!(matches!(call(&client).await, Err(CallError { kind: CallErrorKind::Transport { .. }, .. })));
    }
}

#[tokio::test]
async fn ht_8_replies_are_bounded() {
    let scripted = Scripted::start(|number, asked| {
        let long = "x".repeat(100_000);
        match number {
            1 => Answer::json(&result(asked, &long)),
            2 => Answer::stream(vec![format!("data: {}\n\n", result(asked, &long)).into_bytes()]),
            3 => Answer::stream(vec![vec![b'x'; 100_000]]),
            4 => Answer::stream(vec!["data: x\n".repeat(20_000).into_bytes()]),
            // Many small notifications are no long reply.
            _ => {
                let many = format!("data: {}\n\n", progress(asked, 1)).repeat(500);
                Answer::stream(vec![many.into_bytes(), format!("data: {}\n\n", result(asked, "short")).into_bytes()])
            }
        }
    })
    .await;
    let transport = HttpTransport::new(&scripted.url()).unwrap();
    let limits = Limits { reply_bytes: 10_000, ..Limits::default() };
    let client = Client::builder(transport).limits(limits).build();
    for _ in 0..4 {
        let error = call(&client).await.unwrap_err();
        assert!(causes(&error).contains("longer than 10000 bytes"), "{}", causes(&error));
    }
    assert_eq!(call(&client).await.unwrap(), "short");
}

#[tokio::test]
async fn a_status_with_a_message_is_a_message_and_one_without_is_named() {
    let scripted = Scripted::start(|number, asked| {
        let error = asked.reply(json!({ "error": { "code": -32602, "message": "No such tool" } }));
        match number {
            1 => Answer::with(400, "Content-Type: Application/JSON; charset=utf-8\r\n", &error),
            2 => Answer::with(502, "Content-Type: text/html\r\n", "<h1>Bad Gateway</h1>"),
            3 => Answer::with(307, "Location: http://127.0.0.1:9/elsewhere\r\n", ""),
            _ => Answer::with(202, "", ""),
        }
    })
    .await;
    let transport = HttpTransport::new(&scripted.url()).unwrap();
    let client = Client::builder(transport).revision(Revision::V2026_07_28).build();
    assert!(
        matches!(call(&client).await, Err(CallError { kind: CallErrorKind::Server { error, .. }, .. }) if error.message == "No such tool")
    );
    for status in ["502", "307", "202"] {
        let error = call(&client).await.unwrap_err();
        assert!(causes(&error).contains(&format!("status {status}")), "{}", causes(&error));
    }
}

#[tokio::test]
async fn a_reply_to_somebody_else_is_none() {
    let scripted = Scripted::start(|_, _| Answer::json(r#"{"jsonrpc":"2.0","id":"other","result":{}}"#)).await;
    let error = call(&client(&scripted)).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Stopped { stop: Stop::ForeignReply { .. }, .. }), "{error:?}");
}
