//! A saved call goes on at the command line that it was begun at, and at no other of the same program.
#![cfg(unix)]

use std::path::Path;

use mrtr_client::{CallError, CallErrorKind, Client, PendingCall, RoundOutcome};
use mrtr_schema::Revision;
use mrtr_stdio::{ChildServer, StdioTransport};
use serde_json::{Value, json};
use tokio::process::Command;

/// Asks for a PIN, and says which server it is once it has an answer.
const SERVER: &str = r#"
    while read -r line; do
        id=$(printf '%s' "$line" | sed 's/.*"id":"\([^"]*\)".*/\1/')
        case "$line" in
            *inputResponses*) result='{"resultType":"complete","content":[{"type":"text","text":"'"$1$WHERE"'"}]}';;
            *) result='{"resultType":"input_required","requestState":"sealed","inputRequests":{"pin":{"method":"elicitation/create","params":{"message":"PIN?","requestedSchema":{"type":"object","properties":{"pin":{"type":"string"}}}}}}}';;
        esac
        printf '{"jsonrpc":"2.0","id":"%s","result":%s}\n' "$id" "$result"
    done
"#;

/// The server with this argument, which may be a secret.
fn server(argument: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", SERVER, "sh", argument]);
    command
}

fn client(transport: StdioTransport) -> Client {
    Client::builder(transport).revision(Revision::V2026_07_28).build()
}

/// A call that was begun at this server and answered, as it was saved.
async fn saved(at: &Client) -> String {
    let RoundOutcome::Asked(mut pending) = at.call_tool_once("pay", json!({})).await.unwrap() else {
        panic!("it asks")
    };
    pending.accept("pin", &json!({ "pin": "0000" })).unwrap();
    serde_json::to_string(&pending).unwrap()
}

async fn resumed(saved: &str, at: &Client) -> Result<String, CallError> {
    at.resume(serde_json::from_str::<PendingCall>(saved).unwrap()).await.map(|result| result.text())
}

#[track_caller]
fn assert_refused(resumed: Result<String, CallError>) {
    match resumed {
        Err(error @ CallError { kind: CallErrorKind::OtherServer { .. }, .. }) => {
            let text = error.to_string();
            assert!(text.contains("`trust_other_server(client.server())` lets it continue there"), "{text}");
        }
        other => panic!("it goes on at another server: {other:?}"),
    }
}

#[tokio::test]
async fn a_saved_call_goes_on_at_its_own_command_line_and_not_at_another_of_the_program() {
    let begun = client(StdioTransport::spawn(server("--token=secret-1")).unwrap());
    let saved = saved(&begun).await;
    assert!(!saved.contains("secret-1") && !saved.contains("--token"), "a command line may hold secrets: {saved}");

    let other = client(StdioTransport::spawn(server("--token=secret-2")).unwrap());
    assert_refused(resumed(&saved, &other).await);
    let same = client(StdioTransport::spawn(server("--token=secret-1")).unwrap());
    assert_eq!(resumed(&saved, &same).await.unwrap(), "--token=secret-1");
    // Unless the caller says that it may.
    let pending = serde_json::from_str::<PendingCall>(&saved).unwrap().trust_other_server(other.server());
    assert_eq!(other.resume(pending).await.unwrap().text(), "--token=secret-2");
}

#[tokio::test]
async fn arguments_are_told_apart_however_they_are_split_and_so_are_folders_and_variables() {
    let folder = Path::new("/").canonicalize().unwrap();
    let commands: [&dyn Fn(&mut Command) -> &mut Command; 9] = [
        &|command| command,
        &|command| command.args(["a", "b"]),
        &|command| command.arg("a b"),
        &|command| command.arg("aab"),
        &|command| command.arg("/"),
        &|command| command.current_dir(&folder),
        &|command| command.env("WHERE", "here"),
        &|command| command.env("WHERE", "there"),
        &|command| command.env_remove("WHERE"),
    ];
    let mut identities = Vec::new();
    for prepare in commands {
        let [first, again] = [(); 2].map(|()| {
            let mut command = server("");
            prepare(&mut command);
            client(StdioTransport::spawn(command).unwrap()).server().to_owned()
        });
        assert_eq!(first, again, "the same command line is the same server, in every process");
        assert!(!identities.contains(&first), "{first}");
        identities.push(first);
    }
}

#[tokio::test]
async fn a_name_that_the_caller_gives_is_the_server_s_whatever_its_command_line() {
    let named = |argument| ChildServer::new(server(argument)).name("bank").spawn().unwrap();
    let saved = saved(&client(named("old-token"))).await;
    assert_eq!(serde_json::from_str::<PendingCall>(&saved).unwrap().server(), Some("bank"));
    assert_eq!(resumed(&saved, &client(named("new-token"))).await.unwrap(), "new-token");
    let other = client(ChildServer::new(server("old-token")).name("shop").spawn().unwrap());
    assert_refused(resumed(&saved, &other).await);
}

#[tokio::test]
async fn a_call_that_was_saved_with_the_program_s_name_alone_is_refused_until_it_is_trusted() {
    let here = client(StdioTransport::spawn(server("here")).unwrap());
    let mut older: Value = serde_json::from_str(&saved(&here).await).unwrap();
    older["server"] = json!("sh");
    assert_refused(resumed(&older.to_string(), &here).await);
    let pending: PendingCall = serde_json::from_value(older).unwrap();
    assert_eq!(here.resume(pending.trust_other_server(here.server())).await.unwrap().text(), "here");
}

#[tokio::test]
async fn a_person_is_told_the_program_s_name_and_no_digest() {
    let asking = std::sync::Arc::new(std::sync::Mutex::new(None));
    let heard = std::sync::Arc::clone(&asking);
    let client = Client::builder(StdioTransport::spawn(server("")).unwrap()).revision(Revision::V2026_07_28);
    let client = client
        .on_elicit(move |form: mrtr_client::FormRequest| {
            *heard.lock().unwrap() = Some(form.context().server.to_string());
            async move { form.accept(&json!({ "pin": "1" })) }
        })
        .build();
    client.call_tool("pay", json!({})).await.unwrap();
    assert_eq!(asking.lock().unwrap().as_deref(), Some("sh"));
}
