//! Scopes: a caller that lacks some learns all of them at once.

use mrtr_auth::{Issuer, TokenCheck};
use serde_json::{Value, json};

use crate::issuer::Signer;
use crate::{URL, good, serve, with_token};

#[tokio::test]
async fn rs_13_14_15_a_missing_scope_is_a_403_that_names_all_that_are_missing() {
    let signer = Signer::new("k1");
    let issuer = Issuer::new("https://id.example.com").keys(&signer.set()).expect("keys");
    let address = serve(TokenCheck::issuer(issuer), URL);
    let with_scope = |scope: Value| {
        let mut claims = good("https://id.example.com");
        claims["scope"] = scope;
        signer.token(&claims)
    };
    let refused = with_token(address, "write", &with_scope(json!("other"))).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    assert_eq!(
        refused.challenge.as_deref(),
        Some(
            "Bearer error=\"insufficient_scope\", scope=\"files:read files:write\", \
             resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\""
        )
    );
    let body: Value = serde_json::from_str(&refused.body).expect("a JSON-RPC error");
    assert_eq!(
        (&body["id"], &body["error"]["data"]["requiredScopes"]),
        (&json!(1), &json!(["files:read", "files:write"]))
    );
    assert_eq!(with_token(address, "write", &with_scope(json!("other"))).await, refused, "the same each time");
    assert_eq!(with_token(address, "write", &with_scope(json!("files:write files:read"))).await.status, 200);
}

#[tokio::test]
async fn scopes_are_read_wherever_issuers_write_them() {
    let signer = Signer::new("k1");
    let issuer = Issuer::new("https://id.example.com").keys(&signer.set()).expect("keys");
    let address = serve(TokenCheck::issuer(issuer), URL);
    for (claim, value) in [
        ("scope", json!("files:read files:write")),
        ("scp", json!(["files:read", "files:write"])),
        ("scp", json!("files:read files:write")),
        ("scopes", json!(["files:read", "files:write"])),
    ] {
        let mut claims = good("https://id.example.com");
        claims["scope"] = json!("");
        claims[claim] = value;
        assert_eq!(with_token(address, "write", &signer.token(&claims)).await.status, 200, "{claim}");
    }
}
