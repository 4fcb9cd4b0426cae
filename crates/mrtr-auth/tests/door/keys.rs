//! Keys that are fetched: once at a time, in the background, and never while a key fits.

use std::time::Duration;

use mrtr_auth::{Issuer, TokenCheck};
use serde_json::json;

use crate::issuer::{Published, Signer};
use crate::{URL, good, serve, with_token};

#[tokio::test]
async fn the_keys_are_found_by_the_issuer_alone() {
    let signer = Signer::new("k1");
    let published = Published::new(signer.set()).await;
    let address = serve(TokenCheck::issuer(published.url().as_str()), URL);
    assert_eq!(with_token(address, "who", &signer.token(&good(&published.url()))).await.status, 200);
    assert_eq!(with_token(address, "who", &signer.token(&good(&published.url()))).await.status, 200);
    assert_eq!(published.fetches(), 1);
}

#[tokio::test]
async fn many_unknown_keys_are_looked_for_once() {
    let signer = Signer::new("k1");
    let published = Published::new(signer.set()).await;
    let issuer = Issuer::new("https://id.example.com").keys_at(format!("{}/keys", published.url()));
    let address = serve(TokenCheck::issuer(issuer), URL);
    let unknown = (0..50).map(|number| {
        let header = json!({ "alg": "ES256", "typ": "at+jwt", "kid": format!("no-{number}") });
        let token = signer.signed(&header, &good("https://id.example.com"));
        async move { with_token(address, "who", &token).await.status }
    });
    let statuses = futures_util::future::join_all(unknown).await;
    assert!(statuses.iter().all(|status| *status == 401));
    assert_eq!(published.fetches(), 1);
    assert_eq!(with_token(address, "who", &signer.token(&good("https://id.example.com"))).await.status, 200);
    assert_eq!(published.fetches(), 1, "the key fits");
}

#[tokio::test]
async fn a_set_that_cannot_be_used_gives_no_key() {
    let signer = Signer::new("k1");
    let twice = json!({ "keys": [signer.jwk(), Signer::new("k1").jwk()] }).to_string();
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let long = format!("{{\"keys\":[{}]}}", " ".repeat(300_000));
    for set in [twice, deep, long, "{}".to_owned(), json!({ "keys": [] }).to_string(), "<html>".to_owned()] {
        let published = Published::new(set).await;
        let issuer = Issuer::new("https://id.example.com").keys_at(format!("{}/keys", published.url()));
        let address = serve(TokenCheck::issuer(issuer), URL);
        assert_eq!(with_token(address, "who", &signer.token(&good("https://id.example.com"))).await.status, 401);
    }
}

#[tokio::test]
async fn an_issuer_that_hangs_holds_no_request_for_long() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/keys", listener.local_addr().expect("it is bound"));
    let signer = Signer::new("k1");
    let address = serve(TokenCheck::issuer(Issuer::new("https://id.example.com").keys_at(url)), URL);
    let token = signer.token(&good("https://id.example.com"));
    let asked = tokio::time::timeout(Duration::from_secs(20), with_token(address, "who", &token)).await;
    assert_eq!(asked.expect("it gives up").status, 401);
    drop(listener);
}

#[tokio::test]
async fn another_issuers_metadata_is_not_believed() {
    let signer = Signer::new("k1");
    let published = Published::new(signer.set()).await;
    // The same place, spelt otherwise: its document names another issuer.
    let url = format!("http://localhost:{}", published.address.port());
    let address = serve(TokenCheck::issuer(url.as_str()), URL);
    assert_eq!(with_token(address, "who", &signer.token(&good(&url))).await.status, 401);
    assert_eq!(published.fetches(), 0);
}

#[tokio::test]
async fn keys_in_a_file_are_read_again_when_a_new_one_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, first) = (folder.path().join("keys.json"), Signer::new("k1"));
    std::fs::write(&file, first.set()).expect("it is written");
    let address = serve(TokenCheck::issuer(Issuer::new("https://id.example.com").keys_in(&file)), URL);
    assert_eq!(with_token(address, "who", &first.token(&good("https://id.example.com"))).await.status, 200);
}
