//! Bearer tokens: shown with each request, and refreshed once when they are refused.

use std::sync::Mutex;

use mrtr_client::{Client, TransportError};
use mrtr_http::{HttpTransport, TokenProvider};
use serde_json::json;

use crate::support::scripted::{Answer, Asked, Scripted};

/// A provider that gives these tokens, one after the other, and remembers which were refused.
#[derive(Debug, Default)]
struct Tokens {
    left: Mutex<Vec<Option<&'static str>>>,
    refused: std::sync::Arc<Mutex<Vec<String>>>,
}

#[async_trait::async_trait]
impl TokenProvider for Tokens {
    async fn token(&self, refused: Option<&str>) -> Result<Option<String>, TransportError> {
        self.refused.lock().unwrap().extend(refused.map(str::to_owned));
        Ok(self.left.lock().unwrap().remove(0).map(str::to_owned))
    }
}

fn client(scripted: &Scripted, tokens: &[Option<&'static str>]) -> (Client, std::sync::Arc<Mutex<Vec<String>>>) {
    let tokens = Tokens { left: Mutex::new(tokens.to_vec()), ..Tokens::default() };
    let refused = tokens.refused.clone();
    let transport = HttpTransport::new(&scripted.url()).unwrap().tokens(tokens);
    assert!(!format!("{transport:?}").contains("old"));
    (Client::builder(transport).build(), refused)
}

fn only_new(_: usize, asked: &Asked) -> Answer {
    if asked.header("authorization") != Some("Bearer new") {
        return Answer::with(401, "WWW-Authenticate: Bearer\r\n", "");
    }
    Answer::json(&asked.reply(json!({ "result": { "resultType": "complete", "content": [] } })))
}

#[tokio::test]
async fn a_token_that_is_refused_is_refreshed_once() {
    let scripted = Scripted::start(only_new).await;
    let (client, refused) = client(&scripted, &[Some("old"), Some("new"), Some("new")]);
    client.call_tool("tool", json!({})).await.unwrap();
    client.call_tool("tool", json!({})).await.unwrap();
    assert_eq!(*refused.lock().unwrap(), ["old"]);
    assert_eq!(scripted.asked().len(), 3);
}

#[tokio::test]
async fn a_second_refusal_is_final() {
    let scripted = Scripted::start(only_new).await;
    let (client, _) = client(&scripted, &[Some("old"), Some("older"), Some("never asked for")]);
    let error = client.call_tool("tool", json!({})).await.unwrap_err();
    assert!(format!("{error:?}").contains("401"), "{error:?}");
    assert_eq!(scripted.asked().len(), 2);
}

#[tokio::test]
async fn a_fixed_token_is_shown_and_its_refusal_is_final() {
    let scripted = Scripted::start(only_new).await;
    let fixed = |token: &str| Client::builder(HttpTransport::new(&scripted.url()).unwrap().bearer(token)).build();
    fixed("new").call_tool("tool", json!({})).await.unwrap();
    let error = fixed("old").call_tool("tool", json!({})).await.unwrap_err();
    assert!(error.to_string().contains("refuses the credentials of this client"), "{error}");
    let shown: Vec<_> = scripted.asked().iter().map(|asked| asked.header("authorization").map(str::to_owned)).collect();
    assert_eq!(shown, [Some("Bearer new".to_owned()), Some("Bearer old".to_owned())], "and no anonymous request");
}

#[tokio::test]
async fn without_a_token_none_is_shown_and_no_other_asked_for() {
    let scripted = Scripted::start(only_new).await;
    let (client, _) = client(&scripted, &[None]);
    assert!(client.call_tool("tool", json!({})).await.is_err());
    assert_eq!(scripted.asked()[0].header("authorization"), None);
    assert_eq!(scripted.asked().len(), 1);
}

#[tokio::test]
async fn a_token_that_no_header_holds_is_not_left_out_in_silence() {
    let scripted = Scripted::start(only_new).await;
    let (client, _) = client(&scripted, &[Some("new\r\nX-Injected: yes")]);
    assert!(client.call_tool("tool", json!({})).await.is_err());
    assert_eq!(scripted.asked().len(), 0);
}

/// A provider of one token after the other, as another user logs in.
#[derive(Debug, Clone, Default)]
struct Session(std::sync::Arc<Mutex<&'static str>>);

#[async_trait::async_trait]
impl TokenProvider for Session {
    async fn token(&self, _: Option<&str>) -> Result<Option<String>, TransportError> {
        Ok(Some((*self.0.lock().unwrap()).to_owned()))
    }
}

#[tokio::test]
async fn what_was_kept_for_one_token_is_not_shown_to_another() {
    for (scope, requests) in [(json!("private"), 4), (json!(null), 4), (json!("public"), 1)] {
        let scripted = Scripted::start(move |_, asked| {
            let who = asked.header("authorization").unwrap().to_owned();
            let mut result = json!({ "resultType": "complete", "ttlMs": 60_000,
                "contents": [{ "uri": "notes://mine", "text": who }] });
            if scope.is_string() {
                result["cacheScope"] = scope.clone();
            }
            Answer::json(&asked.reply(json!({ "result": result })))
        })
        .await;
        let session = Session::default();
        let transport = HttpTransport::new(&scripted.url()).unwrap().tokens(session.clone());
        let client = Client::builder(transport).build();
        let mut read = Vec::new();
        for token in ["ann", "ann", "bob", "ann", "bob", "bob"] {
            *session.0.lock().unwrap() = token;
            let text = serde_json::to_value(client.read_resource("notes://mine").await.unwrap()).unwrap();
            read.push((token, text["contents"][0]["text"] == format!("Bearer {token}")));
        }
        assert_eq!(scripted.asked().len(), requests, "{read:?}");
        assert!(requests == 1 || read.iter().all(|(_, is_own)| *is_own), "{read:?}");
    }
}

#[tokio::test]
async fn what_came_for_a_refreshed_token_is_kept_for_that_one() {
    let scripted = Scripted::start(|_, asked| {
        if asked.header("authorization") != Some("Bearer new") {
            return Answer::with(401, "", "");
        }
        let result = json!({ "resultType": "complete", "contents": [], "ttlMs": 60_000, "cacheScope": "private" });
        Answer::json(&asked.reply(json!({ "result": result })))
    })
    .await;
    let (client, _) = client(&scripted, &[Some("old"), Some("new"), Some("new"), Some("other"), Some("new")]);
    client.read_resource("notes://mine").await.unwrap();
    client.read_resource("notes://mine").await.unwrap();
    assert_eq!(scripted.asked().len(), 2, "refused, then read; the second time it was kept");
    client.read_resource("notes://mine").await.unwrap();
    assert_eq!(scripted.asked().len(), 3, "the token had changed");
}

#[test]
fn a_password_in_a_url_is_not_shown() {
    let transport = HttpTransport::new("http://ann:secret@localhost:8000/mcp").unwrap();
    assert_eq!(mrtr_client::Transport::server(&transport), "http://localhost:8000/mcp");
    assert!(!format!("{transport:?}").contains("secret"));
    for url in ["localhost", "ftp://localhost/", "/mcp", ""] {
        assert!(HttpTransport::new(url).is_err(), "{url}");
    }
}
