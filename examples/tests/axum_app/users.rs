//! The endpoint behind a middleware of the application's that finds out who calls.

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use mrtr::async_trait;
use mrtr::server::Caller;
use mrtr_http::{Authenticator, Challenge, Identity, RequestHead};

#[derive(Debug)]
struct Users;

#[async_trait]
impl Authenticator for Users {
    async fn authenticate(&self, head: &RequestHead<'_>) -> Result<Identity, Challenge> {
        let User(name) = head.extensions.get::<User>().ok_or(Challenge::bearer())?;
        Ok(Identity::of(Caller::new("https://id.example.com", name)))
    }
}

/// The user, as the middleware leaves it in the request.
#[derive(Clone)]
struct User(String);

/// Checks tokens: a real one checks signatures.
async fn check_token(mut request: Request, next: Next) -> Result<Response, StatusCode> {
    let user = match request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes) {
        Some(b"Bearer token-of-ada") => Some("ada"),
        Some(b"Bearer token-of-bob") => Some("bob"),
        Some(_) => return Err(StatusCode::UNAUTHORIZED),
        None => None,
    };
    if let Some(name) = user {
        request.extensions_mut().insert(User(name.to_owned()));
    }
    Ok(next.run(request).await)
}

fn app(server: mrtr_server::Server) -> Router {
    use mrtr_http::Endpoint;

    let endpoint = Endpoint::new(server, Users);
    Router::new().nest("/assistant", mrtr_http::router_at("/mcp", endpoint).layer(middleware::from_fn(check_token)))
}

#[tokio::test]
async fn the_endpoint_knows_the_user_that_a_middleware_has_found() {
    use mrtr::prelude::*;
    use mrtr_http::HttpTransport;

    async fn whoami(flow: Flow) -> Result<String> {
        Ok(flow.principal().map_or("a stranger", Caller::subject).to_owned())
    }
    let server = Server::builder("shop", "1.0.0").tool(Tool::new("whoami", whoami)).build().expect("it is well made");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
    let url = format!("http://{}/assistant/mcp", listener.local_addr().expect("it is bound"));
    tokio::spawn(axum::serve(listener, app(server)).into_future());
    for user in ["ada", "bob"] {
        let transport = HttpTransport::new(&url).expect("it is a URL").bearer(format!("token-of-{user}"));
        let result = Client::builder(transport).build().call_tool("whoami", json!({})).await;
        assert_eq!(result.expect("it is answered").text(), user);
    }
    let post = reqwest::Client::new().post(&url).header("content-type", "application/json").body("{}");
    let status = post.send().await.expect("it is sent").status();
    assert_eq!(status.as_u16(), 401, "without a token there is no user");
}
