//! The caller of a request: asked for every time, bound to the state, and anonymous only where the operator said so.
use mrtr_http::{Authenticator, Challenge, Endpoint, Identity, RequestHead, Serve};
use mrtr_server::{Caller, Failure, Flow, Server, Tool};
use serde_json::{Value, json};

use crate::support::Site;
use crate::support::message::{Post, call, retry};
use crate::tools::Address;

/// Bearer `subject` or `subject@tenant`.
#[derive(Debug)]
pub(crate) struct ByName;

#[async_trait::async_trait]
impl Authenticator for ByName {
    async fn authenticate(&self, head: &RequestHead<'_>) -> Result<Identity, Challenge> {
        let token = head.headers.get("authorization").and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        match token.and_then(|token| token.split_once('@')) {
            Some(("mallory", _)) => Err(Challenge::bearer().error("insufficient_scope").forbidden()),
            Some((subject, tenant)) => {
                Ok(Identity::of(Caller::new("https://id.example.com", subject)).for_tenant(tenant))
            }
            None => Err(Challenge::scheme("Bearer\r\nSet-Cookie: no")),
        }
    }
}

async fn who(flow: Flow) -> Result<String, Failure> {
    let _: Address = flow.elicit("address", "Where to?").await?;
    Ok(flow.principal().map_or("nobody", |caller| caller.subject()).to_owned())
}

fn site() -> Site {
    let server = Server::builder("test", "1.0.0").tool(Tool::new("who", who)).build().unwrap();
    Site::start(Serve::new(Endpoint::new(server, ByName)))
}

fn as_caller(message: &Value, token: &str) -> Post {
    Post::of(message).with("Authorization", &format!("Bearer {token}"))
}

#[tokio::test]
async fn a_state_is_good_for_the_caller_and_tenant_it_was_made_for() {
    let site = site();
    let message = call("who", json!({}));
    let asked = site.answer(&as_caller(&message, "ann@acme")).await.json();
    let again = retry(message, &asked, "address", &json!({ "street": "Here" }));
    for other in ["bob@acme", "ann@other"] {
        let response = site.answer(&as_caller(&again, other)).await;
        assert_eq!((response.status, response.code()), (200, Some(-32602)), "{other}");
    }
    let response = site.answer(&as_caller(&again, "ann@acme")).await;
    assert_eq!(response.json()["result"]["content"][0]["text"], "ann");
}

#[tokio::test]
async fn a_challenge_is_always_a_header_that_can_be_read() {
    let site = site();
    let refused = site.answer(&Post::of(&call("who", json!({})))).await;
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(refused.header("set-cookie"), None);
}

#[tokio::test]
async fn somebody_who_is_known_may_still_be_refused() {
    let site = site();
    let refused = site.answer(&as_caller(&call("who", json!({})), "mallory@acme")).await;
    let challenge = refused.header("www-authenticate");
    assert_eq!((refused.status, challenge), (403, Some("Bearer error=\"insufficient_scope\"")));
}

#[tokio::test]
async fn anonymous_is_nobody() {
    let server = Server::builder("test", "1.0.0").tool(Tool::new("who", who)).build().unwrap();
    let site = Site::of(server);
    let message = call("who", json!({}));
    let asked = site.answer(&as_caller(&message, "ann@acme")).await.json();
    let again = retry(message, &asked, "address", &json!({ "street": "Here" }));
    assert_eq!(site.answer(&Post::of(&again)).await.json()["result"]["content"][0]["text"], "nobody");
}

/// Two credentials are refused: whichever of them a proxy looked at, the authenticator may look at the other one.
#[tokio::test]
async fn two_credentials_are_none() {
    for site in [site(), Site::of(Server::builder("test", "1.0.0").tool(Tool::new("who", who)).build().unwrap())] {
        let message = call("who", json!({}));
        for other in ["Bearer ann@acme", "Bearer mallory@acme", "Basic eDp5", ""] {
            let post = as_caller(&message, "ann@acme").also("authorization", other);
            let refused = site.answer(&post).await;
            assert_eq!((refused.status, refused.header("www-authenticate")), (400, None), "{other}");
        }
        assert_eq!(site.answer(&as_caller(&message, "ann@acme")).await.status, 200);
    }
}
