//! A server that knows who calls, and that moves money.

use axum::http::{HeaderValue, header};
use mrtr::http::{Authenticator, Challenge, Identity, RequestHead, router_at};
use mrtr::prelude::*;
use mrtr::server::Caller;
use mrtr::{Tool, async_trait};

/// The server, until it is dropped.
pub(crate) struct Bank {
    pub(crate) url: String,
    _runtime: tokio::runtime::Runtime,
}

impl Bank {
    /// Starts it. Its tool `transfer` asks for an `amount`.
    pub(crate) fn start() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let server = Server::builder("bank", "1.0.0").tool(Tool::new("transfer", transfer)).build().unwrap();
        let app = router_at("/mcp", Endpoint::new(server, Tokens));
        runtime.spawn(async { axum::serve(listener, app).await.unwrap() });
        Self { url, _runtime: runtime }
    }
}

#[data]
struct Amount {
    #[schemars(range(min = 1, max = 500))]
    euros: u32,
}

async fn transfer(flow: Flow) -> Result<String> {
    let Amount { euros } = flow.elicit("amount", "How much?").await?;
    let caller = flow.principal().ok_or(ToolError::new("Say who you are"))?;
    Ok(format!("{} sent {euros} euros", caller.subject()))
}

/// The token of a person is their name.
#[derive(Debug)]
struct Tokens;

#[async_trait]
impl Authenticator for Tokens {
    async fn authenticate(&self, head: &RequestHead<'_>) -> Result<Identity, Challenge> {
        match head.headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes) {
            Some(b"Bearer ada") => Ok(Identity::of(Caller::new("https://id.example.com", "ada"))),
            Some(b"Bearer bob") => Ok(Identity::of(Caller::new("https://id.example.com", "bob"))),
            _ => Err(Challenge::bearer()),
        }
    }
}
