//! Page Servers, section "Who calls": an authenticator, and what a caller may do.

use mrtr::async_trait;
use mrtr::http::{Authenticator, Challenge, Identity, RequestHead};
use mrtr::prelude::*;
use mrtr::server::Caller;

/// Finds the caller by the token of the request. A real one checks signed tokens.
#[derive(Debug)]
struct Tokens;

#[async_trait]
impl Authenticator for Tokens {
    async fn authenticate(&self, head: &RequestHead<'_>) -> Result<Identity, Challenge> {
        let of = |subject| Identity::of(Caller::new("https://id.example.com", subject));
        match head.bearer() {
            Some("token-of-ada") => Ok(of("ada")),
            Some("token-of-bob") => Ok(of("bob").for_tenant("acme")),
            _ => Err(Challenge::bearer()), // 401; with `.forbidden()`, 403
        }
    }
}

/// The subjects of those who may close the books.
struct Accountants(Vec<&'static str>);

async fn close_books(flow: Flow) -> Result<String> {
    let Accountants(accountants) = flow.state();
    let caller = flow.principal().ok_or(ToolError::new("Sign in first"))?.subject();
    if !accountants.contains(&caller) {
        return Err(ToolError::new(format!("{caller} is not an accountant")).into());
    }
    Ok(format!("{caller} has closed the books"))
}

/// Stops the server that it stands for.
type Stop = tokio::sync::oneshot::Sender<()>;

async fn started() -> Result<(String, Stop)> {
    let server = Server::builder("books", "1.0.0")
        .state(Accountants(vec!["ada"]))
        .tool(Tool::new("close_books", close_books))
        .build()?;
    let bound = Serve::new(Endpoint::new(server, Tokens)).bind("127.0.0.1:0")?;
    let url = format!("http://{}/mcp", bound.address()?);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    tokio::spawn(bound.run(async { drop(stopped.await) }));
    Ok((url, stop))
}

#[tokio::test]
async fn a_token_says_who_calls_and_the_state_what_they_may_do() -> Result<()> {
    let (url, _stop) = started().await?;
    let close = async |token| {
        let client = Client::builder(HttpTransport::new(&url)?.bearer(token)).build();
        Ok::<_, Failure>(client.call_tool("close_books", json!({})).await)
    };
    assert_eq!(close("token-of-ada").await??.text(), "ada has closed the books");
    assert_eq!(close("token-of-bob").await??.text(), "bob is not an accountant");
    let stranger = close("token-of-nobody").await?.err().ok_or("a stranger may not")?;
    assert!(stranger.to_string().contains("401"), "{stranger}");
    Ok(())
}
