//! The door over a real socket: tokens of a real issuer, good and hostile, and what their callers may do.

mod hostile;
mod issuer;
mod keys;
mod opaque;
mod scopes;

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use mrtr_auth::TokenCheck;
use mrtr_http::{Authenticator, Serve};
use mrtr_server::{Failure, Flow, Server, Tool};
use serde_json::{Value, json};

use issuer::Signer;

/// The URL under which clients know the server of these tests.
pub(crate) const URL: &str = "https://mcp.example.com/mcp";

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs()
}

/// Claims that are good for the server, of this issuer.
pub(crate) fn good(issuer: &str) -> Value {
    json!({ "iss": issuer, "sub": "ann", "aud": URL, "exp": now() + 300, "iat": now(), "scope": "files:read" })
}

async fn who(flow: Flow) -> Result<String, Failure> {
    Ok(flow.principal().map_or("nobody", mrtr_server::Caller::subject).to_owned())
}

pub(crate) fn server() -> Server {
    let write = Tool::new("write", who).scopes(["files:read", "files:write"]);
    Server::builder("files", "1.0.0").tool(Tool::new("who", who)).tool(write).build().expect("it can be built")
}

/// Serves at this public URL, and returns the address on this machine.
pub(crate) fn serve(check: impl Authenticator, public_url: &str) -> SocketAddr {
    let bound = Serve::new(server()).public_url(public_url).tokens(check).bind("127.0.0.1:0").expect("it can be bound");
    let address = bound.address().expect("it is bound");
    tokio::spawn(bound.run(std::future::pending()));
    address
}

/// The answer to a request: its status, the headers that say why, and its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) challenge: Option<String>,
    pub(crate) body: String,
}

/// Calls a tool with these headers, as a client that knows the server by its public URL.
pub(crate) async fn call(address: SocketAddr, tool: &str, headers: &[(&str, &str)]) -> Answered {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": {}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        } },
    });
    let mut request = reqwest::Client::new()
        .post(format!("http://{address}/mcp"))
        .header("host", "mcp.example.com")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", tool)
        .body(body.to_string());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.expect("the server answers");
    let challenge = response.headers().get("www-authenticate").map(|value| value.to_str().expect("text").to_owned());
    let status = response.status().as_u16();
    Answered { status, challenge, body: response.text().await.expect("it is text") }
}

/// Calls a tool with a bearer token.
pub(crate) async fn with_token(address: SocketAddr, tool: &str, token: &str) -> Answered {
    call(address, tool, &[("authorization", &format!("Bearer {token}"))]).await
}

#[tokio::test]
async fn a_good_token_says_who_calls() {
    let signer = Signer::new("k1");
    let issuer = mrtr_auth::Issuer::new("https://id.example.com").keys(&signer.set()).expect("they are keys");
    let address = serve(TokenCheck::issuer(issuer), URL);
    let answered = with_token(address, "who", &signer.token(&good("https://id.example.com"))).await;
    assert_eq!(answered.status, 200, "{answered:?}");
    assert!(answered.body.contains("\"ann\""), "{answered:?}");
}

#[tokio::test]
async fn rs_1_2_3_4_a_stranger_finds_the_issuer() {
    let signer = Signer::new("k1");
    let issuer = mrtr_auth::Issuer::new("https://id.example.com").keys(&signer.set()).expect("they are keys");
    let address = serve(TokenCheck::issuer(issuer), URL);
    let stranger = call(address, "write", &[]).await;
    assert_eq!(stranger.status, 401);
    assert_eq!(
        stranger.challenge.as_deref(),
        Some(
            "Bearer scope=\"files:read files:write\", \
             resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\""
        )
    );
    for path in ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"] {
        let response = reqwest::get(format!("http://{address}{path}")).await.expect("the server answers");
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()["content-type"], "application/json");
        let document: Value = serde_json::from_str(&response.text().await.expect("text")).expect("it is JSON");
        assert_eq!(document["resource"], URL);
        assert_eq!(document["authorization_servers"], json!(["https://id.example.com"]));
    }
}

#[tokio::test]
async fn rs_12_a_token_in_the_query_counts_for_nothing() {
    let signer = Signer::new("k1");
    let issuer = mrtr_auth::Issuer::new("https://id.example.com").keys(&signer.set()).expect("they are keys");
    let address = serve(TokenCheck::issuer(issuer), URL);
    let token = signer.token(&good("https://id.example.com"));
    let response = reqwest::Client::new()
        .post(format!("http://{address}/mcp?access_token={token}"))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body("{}")
        .send()
        .await
        .expect("the server answers");
    assert_eq!(response.status(), 401);
}

#[tokio::test]
async fn rs_11_credentials_that_cannot_be_read_are_a_bad_request() {
    let signer = Signer::new("k1");
    let issuer = mrtr_auth::Issuer::new("https://id.example.com").keys(&signer.set()).expect("they are keys");
    let address = serve(TokenCheck::issuer(issuer), URL);
    for odd in ["foo", "Bearer ", "Bearer", "Basic YTpi", "Bearer a b"] {
        let answered = call(address, "who", &[("authorization", odd)]).await;
        assert_eq!(answered.status, 400, "{odd}: {answered:?}");
    }
    let twice = call(address, "who", &[("authorization", "Bearer a"), ("authorization", "Bearer b")]).await;
    assert_eq!(twice.status, 400);
}

#[test]
fn a_check_of_tokens_without_a_public_url_does_not_bind() {
    let refused = Serve::new(server()).tokens(TokenCheck::issuer("https://id.example.com")).bind("127.0.0.1:0");
    assert!(refused.expect_err("no token can be for it").to_string().contains(".public_url("));
}
