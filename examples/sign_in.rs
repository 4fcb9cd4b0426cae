//! A tool whose caller must sign in on a page: bearer tokens identify the caller, and the page accepts only that person.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin sign_in
//! ```
//!
//! Server, page and client are one program. The client belongs to Ada and shows a URL: open it in a browser. The page
//! accepts Ada's password, `lovelace`, and refuses Bob, whose password is `ross`: a link that reached the wrong person
//! connects nothing. Press Enter after the visit, and the call completes. If you press it earlier, the tool asks again.
//!
//! ```text
//! http://127.0.0.1:…/mcp wants you to visit http://127.0.0.1:…/connect/…
//! Please connect your calendar. Press Enter when you have been there.
//! The calendar of ada is connected
//! ```

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::{Form, Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Html;
use axum::{Router, routing::get};
use mrtr::http::{Authenticator, Challenge, Identity, RequestHead, router_at};
use mrtr::prelude::*;
use mrtr::server::Caller;

async fn sync(flow: Flow) -> Result<String> {
    let caller = flow.principal().ok_or(ToolError::new("Say who you are"))?.subject();
    let calendars = flow.state::<Calendars>();
    // The same in every round of this call, and not to be guessed.
    let id = flow.interaction_id("connect");
    calendars.lock().entry(id.clone()).or_insert(Visit { of: caller.to_owned(), done: false });
    let url = format!("{}/connect/{id}", calendars.site);
    // An accept is consent to go there; whether the visit was made, the server sees for itself.
    let done = async || calendars.lock().get(&id).is_some_and(|visit| visit.done);
    flow.elicit_url("connect", "Please connect your calendar.", url).until(done).await?;
    Ok(format!("The calendar of {caller} is connected"))
}

/// Who is to visit the page of which interaction, and whether they have been there.
#[derive(Clone)]
struct Calendars {
    site: String,
    visits: Arc<Mutex<HashMap<String, Visit>>>,
}

struct Visit {
    of: String,
    done: bool,
}

impl Calendars {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Visit>> {
        self.visits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says who calls: a real one checks signed tokens.
#[derive(Debug)]
struct Tokens;

#[async_trait::async_trait]
impl Authenticator for Tokens {
    async fn authenticate(&self, head: &RequestHead<'_>) -> Result<Identity, Challenge> {
        match head.headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes) {
            Some(b"Bearer token-of-ada") => Ok(Identity::of(Caller::new("https://id.example.com", "ada"))),
            Some(b"Bearer token-of-bob") => Ok(Identity::of(Caller::new("https://id.example.com", "bob"))),
            _ => Err(Challenge::bearer()),
        }
    }
}

#[rustfmt::skip] #[data] struct Person { name: String, password: String }

async fn page() -> Html<&'static str> {
    Html(
        r#"<form method="post"><input name="name"><input name="password" type="password"><button>Sign in</button></form>"#,
    )
}

async fn connect(
    State(calendars): State<Calendars>,
    Path(id): Path<String>,
    Form(Person { name, password }): Form<Person>,
) -> (StatusCode, &'static str) {
    if !matches!((&*name, &*password), ("ada", "lovelace") | ("bob", "ross")) {
        return (StatusCode::UNAUTHORIZED, "That is not your password");
    }
    match calendars.lock().get_mut(&id) {
        Some(visit) if visit.of == name => {
            visit.done = true;
            (StatusCode::OK, "Your calendar is connected. You may close this page.")
        }
        _ => (StatusCode::FORBIDDEN, "You were not asked to connect your calendar"),
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let calendars = Calendars { site: format!("http://{}", listener.local_addr()?), visits: Arc::default() };
    let url = format!("{}/mcp", calendars.site);
    let server =
        Server::builder("calendars", "1.0.0").state(calendars.clone()).tool(Tool::new("sync", sync)).build()?;
    let site = Router::new().route("/connect/{id}", get(page).post(connect)).with_state(calendars);
    let site = site.merge(router_at("/mcp", Endpoint::new(server, Tokens)));
    tokio::spawn(axum::serve(listener, site).into_future());

    let visit = async |request: UrlRequest| {
        println!("{} wants you to visit {}", request.context().server, request.url());
        println!("{} Press Enter when you have been there.", request.message());
        let read = tokio::task::spawn_blocking(|| std::io::stdin().lines().next()).await;
        if matches!(read, Ok(Some(Ok(_)))) { request.consent() } else { request.cancel() }
    };
    let client = Client::builder(HttpTransport::new(&url)?.bearer("token-of-ada")).on_url(visit).build();
    println!("{}", client.call_tool("sync", json!({})).await?.text());
    Ok(())
}
