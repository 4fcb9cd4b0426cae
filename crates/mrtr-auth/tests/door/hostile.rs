//! Hostile tokens: each gets the answer that every other gets.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mrtr_auth::{Issuer, TokenCheck};
use serde_json::{Value, json};

use crate::issuer::Signer;
use crate::{URL, good, now, serve, with_token};

const ISSUER: &str = "https://id.example.com";

/// Claims that are good but for these.
fn but(change: Value) -> Value {
    let mut claims = good(ISSUER);
    let members = claims.as_object_mut().expect("an object");
    for (name, value) in change.as_object().expect("an object") {
        if value == "absent" {
            members.remove(name);
        } else {
            members.insert(name.clone(), value.clone());
        }
    }
    claims
}

#[tokio::test]
async fn rs_8_9_each_hostile_token_gets_the_same_answer() {
    let (signer, stranger) = (Signer::new("k1"), Signer::new("k1"));
    let trusted = Signer::new("o1");
    let other = Issuer::new("https://other.example.com").keys(&trusted.set()).expect("keys");
    let issuer = Issuer::new(ISSUER).keys(&signer.set()).expect("keys");
    let address = serve(TokenCheck::issuer(issuer).and(other), URL);
    let token = |claims: Value| signer.token(&claims);
    let headed = |header: Value| signer.signed(&header, &good(ISSUER));
    let good_token = token(good(ISSUER));
    assert_eq!(with_token(address, "who", &good_token).await.status, 200);
    let (signed, signature) = good_token.rsplit_once('.').expect("three parts");
    let unsigned = |alg: &str| {
        let head = URL_SAFE_NO_PAD.encode(json!({ "alg": alg, "typ": "at+jwt", "kid": "k1" }).to_string());
        format!("{head}.{}.", URL_SAFE_NO_PAD.encode(good(ISSUER).to_string()))
    };
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let hostile = [
        ("no algorithm", unsigned("none")),
        ("no algorithm, spelt otherwise", unsigned("nOnE")),
        ("no algorithm, by an empty name", unsigned("")),
        ("a shared secret", headed(json!({ "alg": "HS256", "typ": "at+jwt", "kid": "k1" }))),
        ("another algorithm than the key's", headed(json!({ "alg": "RS256", "typ": "at+jwt", "kid": "k1" }))),
        ("a key of another", stranger.token(&good(ISSUER))),
        ("no kid", headed(json!({ "alg": "ES256", "typ": "at+jwt" }))),
        ("an unknown kid", headed(json!({ "alg": "ES256", "typ": "at+jwt", "kid": "k2" }))),
        ("a kid like a path", headed(json!({ "alg": "ES256", "typ": "at+jwt", "kid": "../../etc/passwd" }))),
        ("a kid like SQL", headed(json!({ "alg": "ES256", "typ": "at+jwt", "kid": "' OR 1=1 --" }))),
        ("a kid that is no text", headed(json!({ "alg": "ES256", "typ": "at+jwt", "kid": 1 }))),
        ("a long kid", headed(json!({ "alg": "ES256", "typ": "at+jwt", "kid": "k".repeat(20_000) }))),
        (
            "keys by a URL of its own",
            stranger.signed(
                &json!({ "alg": "ES256", "typ": "at+jwt", "kid": "k1", "jku": "https://evil.example/keys" }),
                &good(ISSUER),
            ),
        ),
        (
            "a key of its own",
            stranger
                .signed(&json!({ "alg": "ES256", "typ": "at+jwt", "kid": "k1", "jwk": stranger.jwk() }), &good(ISSUER)),
        ),
        (
            "critical extensions",
            headed(json!({ "alg": "ES256", "typ": "at+jwt", "kid": "k1", "crit": ["b64"], "b64": false })),
        ),
        ("an id token's type", headed(json!({ "alg": "ES256", "typ": "id_token+jwt", "kid": "k1" }))),
        ("a proof's type", headed(json!({ "alg": "ES256", "typ": "dpop+jwt", "kid": "k1" }))),
        ("an empty signature", format!("{signed}.")),
        ("a short signature", format!("{signed}.{}", &signature[..40])),
        (
            "the signature of another",
            format!("{signed}.{}", token(but(json!({ "sub": "bob" }))).rsplit_once('.').expect("parts").1),
        ),
        ("four parts", format!("{good_token}.x")),
        ("two parts", signed.to_owned()),
        ("no JWT", "secret".to_owned()),
        ("claims that are no object", format!("{}.{}.{signature}", part(r#"{"alg":"ES256","kid":"k1"}"#), part("[]"))),
        ("claims that are not JSON", format!("{}.{}.{signature}", part(r#"{"alg":"ES256","kid":"k1"}"#), part("{"))),
        ("no expiry", token(but(json!({ "exp": "absent" })))),
        ("expired", token(but(json!({ "exp": now() - 60 })))),
        ("an expiry in words", token(but(json!({ "exp": "tomorrow" })))),
        ("a negative expiry", token(but(json!({ "exp": -1 })))),
        ("an expiry beyond all times", token(but(json!({ "exp": 1e30 })))),
        ("not valid yet", token(but(json!({ "nbf": now() + 120 })))),
        ("issued in the future", token(but(json!({ "iat": now() + 120 })))),
        ("no audience", token(but(json!({ "aud": "absent" })))),
        ("another audience", token(but(json!({ "aud": "https://other.example.com/mcp" })))),
        ("audiences without us", token(but(json!({ "aud": ["https://a.example", "https://b.example"] })))),
        ("a prefix of ours", token(but(json!({ "aud": "https://mcp.example.com" })))),
        ("another path", token(but(json!({ "aud": "https://mcp.example.com/mcp2" })))),
        ("a slash at its end", token(but(json!({ "aud": "https://mcp.example.com/mcp/" })))),
        ("another case", token(but(json!({ "aud": "https://MCP.example.com/mcp" })))),
        ("an audience that is no text", token(but(json!({ "aud": { "a": URL } })))),
        ("an issuer with a slash", token(but(json!({ "iss": "https://id.example.com/" })))),
        ("an unknown issuer", token(but(json!({ "iss": "https://evil.example.com" })))),
        ("no issuer", token(but(json!({ "iss": "absent" })))),
        ("another trusted issuer's name", token(but(json!({ "iss": "https://other.example.com" })))),
        ("no subject", token(but(json!({ "sub": "absent" })))),
        ("an empty subject", token(but(json!({ "sub": "" })))),
        ("bound to a key", token(but(json!({ "cnf": { "jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" } })))),
        (
            "bound to a certificate",
            token(but(json!({ "cnf": { "x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2" } }))),
        ),
        ("a long token", token(but(json!({ "extra": "x".repeat(20_000) })))),
        ("a chain of actors without end", token(but(json!({ "act": chain(40) })))),
        ("an actor without a subject", token(but(json!({ "act": {} })))),
    ];
    let mut first = None;
    for (what, token) in hostile {
        let answered = with_token(address, "who", &token).await;
        assert_eq!(answered.status, 401, "{what}: {answered:?}");
        let first = first.get_or_insert_with(|| answered.clone());
        assert_eq!(&answered, first, "{what}");
        assert!(!answered.body.contains(&token), "{what}");
    }
}

fn chain(left: usize) -> Value {
    if left == 0 { json!({ "sub": "agent" }) } else { json!({ "sub": "agent", "act": chain(left - 1) }) }
}
