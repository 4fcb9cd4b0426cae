//! Opaque tokens: by introspection, and by a table of one's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::routing::post;
use mrtr_auth::{Introspection, Issuer, TokenCheck};
use mrtr_server::{Caller, Identity};
use serde_json::{Value, json};

use crate::{URL, now, serve, with_token};

/// An introspection endpoint that gives this answer. Returns its URL, and how often it was asked.
async fn endpoint(answer: Value) -> (String, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/introspect", listener.local_addr().expect("it is bound"));
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let router = Router::new().route(
        "/introspect",
        post(async move |headers: axum::http::HeaderMap, body: String| {
            counted.fetch_add(1, Ordering::Relaxed);
            assert!(body.starts_with("token=") && headers.contains_key("authorization"), "{body}");
            answer.to_string()
        }),
    );
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, asked)
}

#[tokio::test]
async fn an_active_token_is_asked_about_once_a_minute() {
    let answer = json!({ "active": true, "sub": "ann", "aud": URL, "scope": "files:read", "exp": now() + 300 });
    let (url, asked) = endpoint(answer).await;
    let asks = Introspection::new(url, "mcp", "secret").of(Issuer::new("https://id.example.com"));
    let address = serve(TokenCheck::introspection(asks), URL);
    for _ in 0..3 {
        let answered = with_token(address, "who", "opaque").await;
        assert!(answered.status == 200 && answered.body.contains("\"ann\""), "{answered:?}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    assert_eq!(with_token(address, "who", "another").await.status, 200);
    assert_eq!(asked.load(Ordering::Relaxed), 2, "each token is asked about");
}

#[tokio::test]
async fn what_is_not_active_or_not_for_us_is_refused() {
    for answer in [
        json!({ "active": false }),
        json!({}),
        json!({ "active": "true", "sub": "ann", "aud": URL }),
        json!({ "active": true, "sub": "ann" }),
        json!({ "active": true, "sub": "ann", "aud": "https://other.example.com/mcp" }),
        json!({ "active": true, "sub": "ann", "aud": URL, "exp": now() - 60 }),
        json!({ "active": true, "sub": "ann", "aud": URL, "iss": "https://evil.example.com" }),
        json!({ "active": true, "sub": "ann", "aud": URL, "cnf": { "jkt": "x" } }),
        json!({ "active": true, "aud": URL }),
        json!([]),
    ] {
        let (url, _) = endpoint(answer.clone()).await;
        let asks = Introspection::new(url, "mcp", "secret").of(Issuer::new("https://id.example.com"));
        let address = serve(TokenCheck::introspection(asks), URL);
        assert_eq!(with_token(address, "who", "opaque").await.status, 401, "{answer}");
    }
}

#[tokio::test]
async fn an_endpoint_that_is_down_lets_no_token_in() {
    let asks = Introspection::new("http://127.0.0.1:9/introspect", "mcp", "secret");
    let address = serve(TokenCheck::introspection(asks), URL);
    assert_eq!(with_token(address, "who", "opaque").await.status, 401);
}

#[tokio::test]
async fn a_table_of_ones_own_takes_one_line() {
    let check = TokenCheck::lookup(async |token: String| {
        (token == "secret").then(|| Identity::of(Caller::new("https://id.example.com", "ann")))
    });
    let address = serve(check, URL);
    assert_eq!(with_token(address, "who", "secret").await.status, 200);
    assert_eq!(with_token(address, "who", "guess").await.status, 401);
}
