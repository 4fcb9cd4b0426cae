//! The client finds out over a pipe too which era a server speaks: by a probe that goes first, and by silence.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use mrtr_client::{CallError, CallErrorKind, Client, EventKind, FormRequest, Limits, QuestionContext};
use mrtr_schema::roots::Root;
use mrtr_schema::{Era, Revision};
use mrtr_server::{Failure, Flow, Legacy, Server, Tool};
use mrtr_stdio::{Stdio, StdioTransport};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::scripted::{PATIENCE, ScriptedServer, response};

#[derive(Deserialize, JsonSchema)]
struct Port {
    name: String,
}

fn harbour(links: &Arc<AtomicUsize>) -> Server {
    let links = Arc::clone(links);
    let book = move |flow: Flow| {
        let links = Arc::clone(&links);
        async move {
            let port: Port = flow.elicit("port", "Where to?").await?;
            let again: Port = flow.elicit("again", format!("{}, really?", port.name)).await?;
            flow.step("book", async { Ok::<_, Failure>(links.fetch_add(1, Ordering::SeqCst)) }).await?;
            Ok::<_, Failure>(format!("to {}", again.name))
        }
    };
    Server::builder("harbour", "1.0.0").tool(Tool::new("book", book)).build().unwrap()
}

/// The answers of a server to a probe.
#[derive(Debug, Clone, Copy)]
enum Probed {
    /// The server knows the probe.
    Modern,
    /// The server answers with an error of this code.
    Error(i64),
    Silence,
}

/// A client of this server, behind a pipe that gives this answer to a probe.
fn client_of(server: Server, probed: Probed) -> mrtr_client::Builder {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (filtered, behind) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(behind);
    tokio::spawn(Stdio::new(server).over(read, write));
    let (their_read, mut their_write) = tokio::io::split(theirs);
    let (mut back, mut on) = tokio::io::split(filtered);
    let (answers, mut said) = tokio::sync::mpsc::unbounded_channel::<String>();
    tokio::spawn(async move {
        let mut lines = BufReader::new(their_read).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            match probed {
                Probed::Error(code) if message["method"] == "server/discover" => {
                    let error = json!({ "code": code, "message": "no" });
                    let _ = answers.send(json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }).to_string());
                }
                Probed::Silence if message["method"] == "server/discover" => {}
                _ => on.write_all(format!("{line}\n").as_bytes()).await.unwrap(),
            }
        }
    });
    tokio::spawn(async move {
        let mut lines = BufReader::new(&mut back).lines();
        loop {
            let line = tokio::select! {
                Some(line) = said.recv() => line,
                Ok(Some(line)) = lines.next_line() => line,
                else => return,
            };
            their_write.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }
    });
    let (read, write) = tokio::io::split(ours);
    let answer = |form: FormRequest| async move { form.accept(&json!({ "name": "Kirkwall" })) };
    Client::builder(StdioTransport::over("harbour", read, write)).on_elicit(answer)
}

#[tokio::test]
async fn er_4_what_a_server_says_to_the_probe_tells_its_era_and_the_call_is_one_either_way() {
    let rows = [
        (Probed::Modern, Era::Modern),
        (Probed::Error(-32601), Era::Legacy),
        (Probed::Error(-32602), Era::Legacy),
        (Probed::Error(-32000), Era::Legacy),
        (Probed::Error(-32020), Era::Modern),
        (Probed::Silence, Era::Legacy),
    ];
    for (probed, era) in rows {
        let links = Arc::new(AtomicUsize::new(0));
        let limits = Limits { probe: Duration::from_millis(50), ..Limits::default() };
        let client = client_of(harbour(&links), probed).limits(limits).build();
        for booked in 1..=2 {
            let result = client.call_tool("book", json!({})).await.unwrap();
            assert_eq!((result.text(), links.load(Ordering::SeqCst)), ("to Kirkwall".to_owned(), booked), "{probed:?}");
        }
        assert_eq!(client.era(), Some(era), "{probed:?}");
    }
}

#[tokio::test]
async fn both_legacy_revisions_are_spoken_over_a_pipe() {
    for revision in Revision::LEGACY {
        let links = Arc::new(AtomicUsize::new(0));
        let client = client_of(harbour(&links), Probed::Silence).revision(revision).build();
        assert_eq!(client.call_tool("book", json!({})).await.unwrap().text(), "to Kirkwall");
        assert_eq!((client.revision(), links.load(Ordering::SeqCst)), (revision, 1));
        assert_eq!(client.list_tools().await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_modern_only_server_stays_modern() {
    let hello = async |_: Flow| Ok::<_, Failure>("hello");
    let server = Server::builder("h", "1.0.0").tool(Tool::new("hello", hello)).legacy(Legacy::Refuse).build().unwrap();
    let client = client_of(server, Probed::Modern).build();
    assert_eq!(client.call_tool("hello", json!({})).await.unwrap().text(), "hello");
    assert!(client.call_tool("no_such_tool", json!({})).await.is_err());
    assert_eq!(client.era(), Some(Era::Modern));
}

fn initialized(id: &Value) -> Value {
    let server = json!({ "name": "s", "version": "1" });
    json!({ "jsonrpc": "2.0", "id": id, "result": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": server } })
}

/// Hears a probe, says nothing, and begins a session.
async fn begin_session(server: &mut ScriptedServer) {
    let probe = server.hear().await;
    assert_eq!(probe["method"], "server/discover");
    server.say(json!({ "jsonrpc": "2.0", "id": probe["id"], "error": { "code": -32602, "message": "no" } })).await;
    let initialize = server.hear().await;
    assert_eq!(
        (&initialize["method"], &initialize["params"]["protocolVersion"]),
        (&json!("initialize"), &json!("2025-11-25"))
    );
    server.say(initialized(&initialize["id"])).await;
    assert_eq!(server.hear().await["method"], "notifications/initialized");
}

#[tokio::test]
async fn nothing_goes_before_the_probe_and_what_a_server_asks_outside_of_calls_waits_for_one() {
    let (mut server, client) = ScriptedServer::of_either_era();
    let client = client.on_roots(|_| async { Ok::<_, String>(vec![Root::new("file:///src")]) }).build();
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.list_tools().await }
    });
    begin_session(&mut server).await;
    let list = server.hear().await;
    assert_eq!(list["method"], "tools/list");
    server.say(json!({ "jsonrpc": "2.0", "id": list["id"], "result": { "tools": [] } })).await;
    assert!(call.await.unwrap().unwrap().is_empty());
    assert_eq!((client.era(), client.revision()), (Some(Era::Legacy), Revision::V2025_06_18));

    // No call is under way: a ping is answered at once, and a question with the next call.
    server.say(json!({ "jsonrpc": "2.0", "id": "q", "method": "roots/list" })).await;
    server.say(json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" })).await;
    assert_eq!(server.hear().await, json!({ "jsonrpc": "2.0", "id": "p", "result": {} }));
    let call = tokio::spawn(async move { client.call_tool("t", json!({})).await });
    let (mut answered, mut asked) = (None, None);
    for _ in 0..2 {
        let message = server.hear().await;
        if message.get("method").is_some() { asked = Some(message) } else { answered = Some(message) }
    }
    assert_eq!(answered.unwrap()["result"]["roots"][0]["uri"], "file:///src");
    server.respond(&asked.unwrap()["id"], "done").await;
    assert_eq!(call.await.unwrap().unwrap().text(), "done");
}

/// Nothing on the wire says which call a question is for: of several calls it is the one that began first, until that
/// is over.
#[tokio::test]
async fn of_several_calls_the_one_that_began_first_is_asked() {
    let (mut server, client) = ScriptedServer::of_either_era();
    let (asked, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let client = client
        .on_roots(move |context: QuestionContext| {
            asked.send(context.name).unwrap();
            async { Ok::<_, String>(vec![Root::new("file:///src")]) }
        })
        .build();
    let call = |name| {
        let client = client.clone();
        tokio::spawn(async move { client.call_tool(name, json!({})).await })
    };
    let first = call("first");
    begin_session(&mut server).await;
    let first_id = server.hear().await["id"].clone();
    let second = call("second");
    let second_id = server.hear().await["id"].clone();
    let third = call("third");
    let third_id = server.hear().await["id"].clone();
    let ask = |id: i64| json!({ "jsonrpc": "2.0", "id": id, "method": "roots/list" });
    for (id, response, call, asked) in
        [(1, first_id, first, "first"), (2, second_id, second, "second"), (3, third_id, third, "third")]
    {
        server.say(ask(id)).await;
        assert_eq!(server.hear().await["id"], id, "it is answered");
        assert_eq!(heard.recv().await.unwrap().as_deref(), Some(asked));
        server.respond(&response, "done").await;
        call.await.unwrap().unwrap();
    }
    assert!(heard.try_recv().is_err(), "each is asked once");
}

#[tokio::test(start_paused = true)]
async fn er_4_an_answer_to_the_probe_that_comes_late_is_heeded() {
    let (mut server, client) = ScriptedServer::of_either_era();
    let client = client.build();
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("t", json!({})).await }
    });
    let probe = server.hear().await;
    // The server says nothing for so long that the client tries a session.
    assert_eq!(server.hear().await["method"], "initialize");
    let offer = json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} });
    server.say(json!({ "jsonrpc": "2.0", "id": probe["id"], "result": offer })).await;
    let asked = server.hear().await;
    assert_eq!(asked["method"], "tools/call");
    assert!(asked["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string());
    server.respond(&asked["id"], "slow").await;
    assert_eq!(call.await.unwrap().unwrap().text(), "slow");
    assert_eq!(client.era(), Some(Era::Modern));
    drop(client);
    assert_eq!(server.try_hear().await, None, "`initialize` must not be cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_at_all_is_told_of_in_time() {
    let (mut server, client) = ScriptedServer::of_either_era();
    let client = client.build();
    let call = tokio::spawn(async move { client.call_tool("t", json!({})).await });
    server.hear().await;
    server.hear().await;
    let error = call.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("did not answer in time"), "{error}");
}

#[tokio::test]
async fn a_call_in_a_session_that_is_dropped_is_cancelled_and_its_questions_with_it() {
    let (mut server, client) = ScriptedServer::of_either_era();
    let never = |_: FormRequest| std::future::pending::<mrtr_schema::elicitation::ElicitResult>();
    let client = client.on_elicit(never).build();
    let mut events = Box::pin(client.events());
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("t", json!({})).await }
    });
    begin_session(&mut server).await;
    let asked = server.hear().await;
    let form = json!({ "type": "object", "properties": {} });
    server
        .say(json!({ "jsonrpc": "2.0", "id": 1, "method": "elicitation/create",
        "params": { "message": "?", "requestedSchema": form } }))
        .await;
    while !matches!(events.next().await.unwrap().kind, EventKind::Asked(_)) {}
    call.abort();
    let cancelled = server.hear().await;
    assert_eq!(
        (&cancelled["method"], &cancelled["params"]["requestId"]),
        (&json!("notifications/cancelled"), &asked["id"])
    );
}

#[tokio::test]
async fn a_question_that_the_server_withdraws_is_not_answered() {
    let (mut server, client) = ScriptedServer::of_either_era();
    let never = |_: FormRequest| std::future::pending::<mrtr_schema::elicitation::ElicitResult>();
    let limits = Limits { gathering: Some(PATIENCE), ..Limits::default() };
    let client = client.on_elicit(never).limits(limits).build();
    let call = tokio::spawn(async move { client.call_tool("t", json!({})).await });
    begin_session(&mut server).await;
    let asked = server.hear().await;
    let form = json!({ "type": "object", "properties": {} });
    server
        .say(json!({ "jsonrpc": "2.0", "id": 1, "method": "elicitation/create",
        "params": { "message": "?", "requestedSchema": form } }))
        .await;
    server.say(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } })).await;
    server.say(response(&asked["id"], "without you")).await;
    assert_eq!(call.await.unwrap().unwrap().text(), "without you");
    assert_eq!(server.try_hear().await, None, "nothing was answered");
}

/// The client starts a server again that ends if it hears anything before `initialize`, and does not probe it again.
#[cfg(unix)]
#[tokio::test]
async fn er_4_a_process_that_ends_at_the_probe_is_started_again_for_a_session() {
    let script = r#"
        read -r line
        case "$line" in *server/discover*) exit 1;; esac
        id=$(printf '%s' "$line" | sed 's/.*"id":"\([^"]*\)".*/\1/')
        printf '{"jsonrpc":"2.0","id":"%s","result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}\n' "$id"
        read -r line
        read -r line
        id=$(printf '%s' "$line" | sed 's/.*"id":"\([^"]*\)".*/\1/')
        printf '{"jsonrpc":"2.0","id":"%s","result":{"content":[{"type":"text","text":"done"}]}}\n' "$id"
    "#;
    let mut command = tokio::process::Command::new("sh");
    command.args(["-c", script]);
    let client = Client::builder(StdioTransport::spawn(command).unwrap()).build();
    for _ in 0..2 {
        // The second time, the process has ended, and with it the session.
        let called = async {
            loop {
                match client.call_tool("t", json!({})).await {
                    Ok(result) => return result,
                    // It ends after its answer, and the next call may meet its end.
                    Err(CallError {
                        kind: CallErrorKind::Transport { .. } | CallErrorKind::InDoubt { .. }, ..
                    }) => {}
                    Err(other) => panic!("{other}"),
                }
            }
        };
        let result = tokio::time::timeout(PATIENCE, called).await.expect("it is called");
        assert_eq!((result.text(), client.era()), ("done".to_owned(), Some(Era::Legacy)));
    }
}
