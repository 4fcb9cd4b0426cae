//! Calls that are put down and picked up: saved, answered in parts, resumed by another process.

use std::path::{Path, PathBuf};
use std::process::Command;

use mrtr_client::testing::Script;
use mrtr_client::{AnswerError, CallErrorKind, Client, PendingCall, RoundOutcome, Stop};
use mrtr_schema::elicitation::ElicitResult;
use mrtr_schema::{JsonObject, Revision};
use mrtr_server::{Failure, Flow, Server, Tool};
use mrtr_state::{Key, KeyRing, Sealer};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::common::{InMemory, Login, asks_form, asks_roots, calls, complete, rooted, sent};

async fn link(flow: Flow) -> Result<String, Failure> {
    let github = flow.elicit::<Login>("github", "Who are you on GitHub?");
    let google = flow.elicit::<Login>("google", "Who are you at Google?");
    let (github, google) = flow.join((github, google)).await?;
    Ok(format!("{} is {}", github.name, google.name))
}

/// A server whose states open in every process that has its key.
fn linker() -> InMemory {
    let sealer = Sealer::new(KeyRing::new(Key::new("test", [7; 32]).unwrap()), "pending-tests").unwrap();
    InMemory::new(Server::builder("linker", "1.0.0").sealer(sealer).tool(Tool::new("link", link)).build().unwrap())
}

fn silent(transport: InMemory) -> Client {
    Client::builder(transport).on_elicit(|_| async { Err::<ElicitResult, _>("nobody is here") }).build()
}

#[tokio::test]
async fn some_keys_are_answered_now_and_others_later() {
    let client = silent(linker());
    let RoundOutcome::Asked(mut pending) = client.call_tool_once("link", json!({})).await.unwrap() else {
        panic!("it asks")
    };
    assert_eq!(pending.server(), Some("in memory"));
    assert_eq!(pending.message("github").as_deref(), Some("Who are you on GitHub?"));
    pending.accept("github", &json!({ "name": "octocat" })).unwrap();

    let saved = serde_json::to_string(&pending).unwrap();
    let pending: PendingCall = serde_json::from_str(&saved).unwrap();
    assert_eq!(pending.unanswered().collect::<Vec<_>>(), ["google"]);
    let RoundOutcome::Asked(mut pending) = client.advance(pending).await.unwrap() else { panic!("one is still open") };
    pending.accept("google", &json!({ "name": "octo" })).unwrap();
    let RoundOutcome::Complete(result) = client.advance(pending).await.unwrap() else { panic!("all is answered") };
    assert!(result.as_str().contains("octocat is octo"));
}

#[tokio::test]
async fn a_handler_is_asked_only_for_what_is_open() {
    let client = silent(linker());
    let mut pending = client.call_tool("link", json!({})).await.unwrap_err().into_pending().unwrap();
    pending.accept("github", &json!({ "name": "octocat" })).unwrap();
    let client = Client::builder(linker())
        .on_elicit(|form| async move {
            assert_eq!(form.context().key, "google");
            form.accept(&json!({ "name": "octo" }))
        })
        .build();
    assert!(client.resume(pending).await.unwrap().text().contains("octocat is octo"));
}

#[test]
fn another_process_completes_a_call_whose_process_has_ended() {
    let folder = std::env::temp_dir().join(format!("mrtr-client-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("pending.json");
    play("begin", &file);
    let saved = std::fs::read_to_string(&file).unwrap();
    assert!(saved.contains(r#""format":1"#), "{saved}");
    play("resume", &file);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "octocat is octo");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Starts this program again with a part for it to play, and waits until it has ended.
fn play(part: &str, file: &Path) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "pending::a_part_is_played_by_a_child_process", "--nocapture"])
        .env(PART, part)
        .env(FILE, file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{part}: {output:?}");
}

/// Not a test of its own: the one above starts this program again with a part for it to play.
#[tokio::test]
async fn a_part_is_played_by_a_child_process() {
    let (Ok(part), Ok(file)) = (std::env::var(PART), std::env::var(FILE)) else { return };
    let file = PathBuf::from(file);
    let client = silent(linker());
    if part == "begin" {
        let error = client.call_tool("link", json!({})).await.unwrap_err();
        let mut pending = error.into_pending().unwrap();
        pending.accept("github", &json!({ "name": "octocat" })).unwrap();
        std::fs::write(file, serde_json::to_string(&pending).unwrap()).unwrap();
    } else {
        let mut pending: PendingCall = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        pending.accept("google", &json!({ "name": "octo" })).unwrap();
        let result = client.resume(pending).await.unwrap();
        std::fs::write(file, result.text()).unwrap();
    }
}

const PART: &str = "MRTR_CLIENT_TEST_PART";
const FILE: &str = "MRTR_CLIENT_TEST_FILE";

#[tokio::test]
async fn a_log_learns_keys_and_no_value() {
    let form = json!({ "type": "object", "properties": { "pin": { "type": "string" } } });
    let script = Script::new().result(asks_form("card", &form)).unreachable();
    let client =
        Client::builder(script).on_elicit(|form| async move { form.accept(&json!({ "pin": "0000" })) }).build();
    let error = client.call_tool("pay", json!({ "iban": "DE00" })).await.unwrap_err();
    let shown = format!("{error:?} {error}");
    assert!(shown.contains("card") && shown.contains("pay"), "{shown}");
    for secret in ["0000", "DE00", "sealed"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[tokio::test]
async fn a_call_goes_on_in_the_revision_that_it_was_begun_in() {
    let mut asks = asks_roots("r", Some("sealed"));
    asks["resultType"] = "input_required".into();
    let old = Client::builder(Script::new().result(asks)).revision(Revision::Sep2322).build();
    let pending = old.call_tool("t", json!({})).await.unwrap_err().into_pending().unwrap();
    assert_eq!(pending.revision(), Revision::Sep2322);

    let script = Script::new().result(json!({ "content": [] })).result(complete("done"));
    let new = rooted(script.clone());
    new.resume(pending).await.unwrap();
    assert!(sent(&script)[0]["params"].get("_meta").is_none(), "older revisions have no version in each request");
    new.call_tool("t", json!({})).await.unwrap();
    let version = &sent(&script)[1]["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
    assert_eq!(version, "2026-07-28", "the client itself speaks what it spoke");
}

#[test]
fn what_was_saved_is_checked_when_it_is_read() {
    let saved = |more: &str| {
        let text =
            format!(r#"{{"format": 1, "revision": "2026-07-28", "method": "tools/call", "params": {{}}{more}}}"#);
        serde_json::from_str::<PendingCall>(&text)
    };
    assert!(saved("").is_ok());
    for broken in [
        r#", "asked": {"a": {"method": "elicitation/create"}}"#,
        r#", "asked": []"#,
        r#", "answers": {"a": 1}"#,
        r#", "task": {"format": 1, "revision": "sep-2322", "id": "t"}"#,
        r#", "rounds": -1"#,
        r#", "format": 1"#,
        r#", "asked": {"a": {"method": "roots/list"}}, "answers": {"b": {"roots": []}}"#,
        r#", "asked": {"a": {"method": "roots/list"}}, "answers": {"a": {"action": "accept"}}"#,
        r#", "asked": {"a": {"method": "roots/list"}}, "answers": {"a": {"roots": []}, "a": {"roots": []}}"#,
        r#", "asked": {"a": {"method": "roots/list"}}, "skipped": ["a"]"#,
        r#", "asked": {"a": {"method": "roots/list"}}, "skipped": ["b"]"#,
        r#", "rounds": 1, "answers": {"b": {"roots": []}}"#,
        r#", "server": "here", "task": {"format": 1, "revision": "2026-07-28", "server": "there", "id": "t"}"#,
    ] {
        assert!(saved(broken).is_err(), "{broken}");
    }
    let form = r#"{"method": "elicitation/create", "params": {"message": "?", "requestedSchema":
        {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "maximum": 5}}}}}"#;
    let filled_in = |n: u32| {
        format!(r#", "asked": {{"a": {form}}}, "answers": {{"a": {{"action": "accept", "content": {{"n": {n}}}}}}}"#)
    };
    assert!(saved(&filled_in(5)).is_ok());
    assert!(saved(&filled_in(6)).unwrap_err().to_string().contains("does not fit"), "an answer fits its form");
    let endless = saved(r#", "rounds": 4294967295, "state_only_rounds": 4294967295, "state": "s""#).unwrap();
    mrtr_client::Call::resume(endless, mrtr_client::Limits::default(), 1).back_off(None);
}

#[test]
fn what_a_retry_adds_stands_in_no_saved_parameters() {
    let saved = |params: &str| {
        let text = format!(r#"{{"format": 1, "revision": "2026-07-28", "method": "tools/call", "params": {params}}}"#);
        serde_json::from_str::<PendingCall>(&text).map_err(|error| error.to_string())
    };
    assert!(saved(r#"{"name": "t", "_meta": {"com.example/trace": 1}}"#).is_ok());
    for (params, place) in [
        (r#"{"requestState": "stolen"}"#, "$.params.requestState"),
        (r#"{"inputResponses": {"a": {"roots": []}}}"#, "$.params.inputResponses"),
        (r#"{"_meta": 7}"#, "$.params._meta"),
        (r#"{"a": 1, "a": 2}"#, "a"),
    ] {
        let error = saved(params).unwrap_err();
        assert!(error.contains(place), "{params}: {error}");
    }
}

#[tokio::test]
async fn what_was_saved_is_no_larger_than_what_this_client_takes() {
    let saved = |more: &Value| {
        let mut saved = json!({ "format": 1, "server": "a script", "revision": "2026-07-28", "method": "tools/call",
            "params": {}, "rounds": 1 });
        saved.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value::<PendingCall>(saved).unwrap()
    };
    let asked: serde_json::Map<_, _> =
        (0..300).map(|number| (number.to_string(), json!({ "method": "roots/list" }))).collect();
    let key = "k".repeat(1000);
    for (more, stopped) in [
        (json!({ "state": "s".repeat(2 << 20) }), Stop::StateTooLong(2 << 20)),
        (json!({ "asked": asked }), Stop::TooManyQuestions(300)),
        (json!({ "asked": { &*key: { "method": "roots/list" } } }), Stop::ReplyTooLong(1028)),
    ] {
        let reply_bytes = if matches!(stopped, Stop::ReplyTooLong(_)) { 1000 } else { 16 << 20 };
        let limits = mrtr_client::Limits { reply_bytes, ..Default::default() };
        let script = Script::new().result(complete("never"));
        let client =
            Client::builder(script.clone()).limits(limits).on_roots(|_| async { Ok::<_, String>(Vec::new()) }).build();
        let error = client.resume(saved(&more)).await.unwrap_err();
        assert!(matches!(&error.kind, CallErrorKind::Stopped { stop, .. } if *stop == stopped), "{error}");
        assert_eq!(script.sent().len(), 0);
    }
}

proptest! {
    /// A loaded call has no answer that it would not have taken when it was given.
    #[test]
    fn answers_are_loaded_just_if_they_would_be_taken(
        answers in proptest::collection::btree_map(
            proptest::sample::select(vec!["roots", "form", "own", "other"]),
            proptest::sample::select(vec![
                json!({ "roots": [] }),
                json!({ "action": "accept", "content": { "n": 1 } }),
                json!({ "action": "accept", "content": { "n": "one" } }),
                json!({ "action": "decline" }),
                json!({}),
            ]),
            0..4,
        ),
    ) {
        let form = json!({ "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } });
        let mut saved = json!({ "format": 1, "revision": "2026-07-28", "method": "tools/call", "params": {}, "asked": {
            "roots": { "method": "roots/list" },
            "form": { "method": "elicitation/create", "params": { "message": "?", "requestedSchema": form } },
            "own": { "method": "com.example/x" },
        } });
        let mut fresh: PendingCall = serde_json::from_value(saved.clone()).unwrap();
        let is_taken = answers.iter().all(|(key, answer)| {
            fresh.answer(key, &JsonObject::of(answer).unwrap()).is_ok()
        });
        saved["answers"] = json!(answers);
        let loaded = serde_json::from_value::<PendingCall>(saved);
        prop_assert_eq!(loaded.is_ok(), is_taken);
        if let Ok(loaded) = loaded {
            prop_assert_eq!(serde_json::to_value(&loaded).unwrap(), serde_json::to_value(&fresh).unwrap());
        }
    }
}

#[test]
fn an_answer_must_be_to_what_was_asked_and_of_its_kind() {
    let saved = json!({ "format": 1, "revision": "2026-07-28", "method": "tools/call", "params": {},
        "asked": { "roots": { "method": "roots/list" }, "own": { "method": "com.example/x" } } });
    let mut pending: PendingCall = serde_json::from_str(&saved.to_string()).unwrap();
    assert_eq!(pending.skip("roots"), Err(AnswerError::NotOptional("roots".to_owned())));
    assert_eq!(pending.skip("other"), Err(AnswerError::NotAsked("other".to_owned())));
    pending.skip("own").unwrap();
    pending.skip("own").unwrap();
    assert_eq!(pending.unanswered().collect::<Vec<_>>(), ["roots"]);
    pending.answer("own", &JsonObject::default()).unwrap();
    assert!(matches!(pending.answer("roots", &ElicitResult::decline()), Err(AnswerError::WrongKind { .. })));
}

#[tokio::test]
async fn a_question_left_out_by_hand_is_left_out() {
    let mut asks = asks_roots("r", Some("s"));
    asks["inputRequests"]["own"] = json!({ "method": "com.example/x" });
    let script = Script::new().result(asks).result(complete("done"));
    let client = Client::builder(script.clone()).build();
    let RoundOutcome::Asked(mut pending) = client.call_tool_once("t", json!({})).await.unwrap() else {
        panic!("it asks")
    };
    pending.skip("own").unwrap();
    pending.answer("r", &mrtr_schema::roots::ListRootsResult::new([])).unwrap();
    assert!(matches!(client.advance(pending).await.unwrap(), RoundOutcome::Complete(_)));
    assert_eq!(calls(&script)[1].1["inputResponses"], json!({ "r": { "roots": [] } }));
}

#[tokio::test]
async fn a_server_s_error_leaves_the_call_as_it_was() {
    use mrtr_schema::{ErrorCode, ErrorObject};
    let script = Script::new()
        .result(asks_roots("r", Some("s")))
        .error(ErrorObject::new(ErrorCode::INTERNAL_ERROR, "for now"))
        .result(complete("done"));
    let client = rooted(script.clone());
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Server { .. }), "{error}");
    client.resume(error.into_pending().unwrap()).await.unwrap();
    assert_eq!(calls(&script)[1], calls(&script)[2]);
}

#[tokio::test]
async fn a_saved_call_whose_server_was_restarted_says_the_likely_reason() {
    let with_key = |sealer: Sealer| {
        InMemory::new(Server::builder("linker", "1.0.0").sealer(sealer).tool(Tool::new("link", link)).build().unwrap())
    };
    let pending = silent(with_key(Sealer::this_process_only())).call_tool("link", json!({})).await.unwrap_err();
    let mut pending = pending.into_pending().unwrap();
    for key in ["github", "google"] {
        pending.accept(key, &json!({ "name": "octocat" })).unwrap();
    }
    // Another key, as after a restart.
    let error = silent(with_key(Sealer::this_process_only())).resume(pending).await.unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("the server answered: The request state is not valid (-32602); most likely"), "{text}");
    for words in ["its key ended with the server's process", "`.sealer(…)`", "MRTR_STATE_KEYS", "expired", "anew"] {
        assert!(text.contains(words), "{text}, without {words:?}");
    }
    // The same code without a state has other reasons.
    let unknown = silent(linker()).call_tool("no-tool", json!({})).await.unwrap_err().to_string();
    assert!(unknown.contains("(-32602)") && !unknown.contains("most likely"), "{unknown}");
}

#[test]
fn what_a_person_answered_is_not_quoted_when_a_saved_call_is_refused() {
    let saved = json!({ "format": 1, "revision": "2026-07-28", "method": "tools/call", "params": {}, "rounds": 1,
        "asked": { "booking": { "method": "elicitation/create", "params": { "message": "?", "requestedSchema":
            { "type": "object", "properties": { "class": { "type": "string", "enum": ["First"] } } } } } },
        "answers": { "booking": { "action": "accept", "content": { "class": "hush" } } } });
    let refused = |saved: &str| serde_json::from_str::<PendingCall>(saved).unwrap_err().to_string();
    assert_eq!(refused(&saved.to_string()), "$.answers.booking: the saved answer does not fit its question");
    let later = saved.to_string().replace("2026-07-28", "2030-01-01");
    assert!(refused(&later).starts_with("unknown revision `2030-01-01` at line 1 column "), "{}", refused(&later));
    let newer = saved.to_string().replace(r#""format":1"#, r#""format":9"#);
    assert!(
        refused(&newer).starts_with("saved in format 9 (this version reads format 1) at line 1 column "),
        "{}",
        refused(&newer)
    );
}
