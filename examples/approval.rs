//! A deployment that another person must approve. A client that knows approvals shows it; any other client gets a page.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin approval
//! ```
//!
//! `com.example/approval` is this application's own input, which the protocol does not know. A client that declares it
//! shows what is pending in its own way; any other client gets a URL instead. Neither decides: Ada decides, on a page
//! that asks for her password. Requests of the program play her browser.
//!
//! ```text
//! a client that knows approvals shows: version 2 waits for Ada
//! without Ada's password the page says 403 Forbidden
//! with Ada's password the page says 200 OK
//! Version 2 is deployed
//! a client that knows URLs only shows: Ada must approve version 2
//! with Ada's password the page says 200 OK
//! Version 2 is deployed
//! ```

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::{Form, Path, State};
use axum::http::StatusCode;
use axum::response::Html;
use axum::{Router, routing::get};
use mrtr::prelude::*;
use mrtr::schema::{Method, NamespacedInput};

struct Approval;
#[rustfmt::skip] #[data] struct Wanted { what: String, approver: String, page: String }
#[rustfmt::skip] #[data] #[derive(Clone)] struct Decision { approved: bool }

impl NamespacedInput for Approval {
    const METHOD: Method = Method::from_static("com.example/approval");
    type Params = Wanted;
    type Response = Decision;
}

async fn deploy(flow: Flow) -> Result<String> {
    let (approvals, id) = (flow.state::<Approvals>(), flow.interaction_id("sign_off"));
    let page = format!("{}/approvals/{id}", approvals.site);
    let wanted = Wanted { what: "version 2".into(), approver: "Ada".into(), page };
    let decided = async || approvals.lock().get(&id).cloned();
    let Decision { approved } = flow.ask::<Approval>("sign_off", wanted).until(decided).await?;
    Ok(if approved { "Version 2 is deployed" } else { "Version 2 is not deployed" }.into())
}

/// What was decided, by interaction.
#[derive(Clone)]
struct Approvals {
    site: String,
    decisions: Arc<Mutex<HashMap<String, Decision>>>,
}

impl Approvals {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Decision>> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[rustfmt::skip] #[data] struct Decided { password: String, approved: bool }

async fn page() -> Html<&'static str> {
    Html(
        r#"<form method="post"><input name="password" type="password"><button name="approved" value="true">Approve</button>
        <button name="approved" value="false">Refuse</button></form>"#,
    )
}

async fn decide(
    State(approvals): State<Approvals>,
    Path(id): Path<String>,
    Form(Decided { password, approved }): Form<Decided>,
) -> StatusCode {
    if password != "lovelace" {
        return StatusCode::FORBIDDEN;
    }
    // The first decision stands.
    approvals.lock().entry(id).or_insert(Decision { approved });
    StatusCode::OK
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let approvals = Approvals { site: format!("http://{}", listener.local_addr()?), decisions: Arc::default() };
    let transport = HttpTransport::new(&format!("{}/mcp", approvals.site))?;
    let server = Server::builder("deployer", "1.0.0")
        .state(approvals.clone())
        .input_by_url::<Approval>(|wanted, _id| {
            (format!("{} must approve {}", wanted.approver, wanted.what), wanted.page.clone())
        })
        .tool(Tool::new("deploy", deploy))
        .build()?;
    let site = Router::new().route("/approvals/{id}", get(page).post(decide)).with_state(approvals);
    tokio::spawn(axum::serve(listener, site.merge(mrtr::http::router(server))).into_future());

    let show = async |wanted: Wanted, _| {
        println!("a client that knows approvals shows: {} waits for {}", wanted.what, wanted.approver);
        println!("without Ada's password the page says {}", visit(&wanted.page, "guess").await?);
        println!("with Ada's password the page says {}", visit(&wanted.page, "lovelace").await?);
        // What a client says is not the decision: it has shown what is pending.
        Ok::<_, reqwest::Error>(Decision { approved: false })
    };
    let knows = Client::builder(transport.clone()).on_input::<Approval, _, _, _>(show).build();
    println!("{}", knows.call_tool("deploy", json!({})).await?.text());

    let open = async |request: UrlRequest| {
        println!("a client that knows URLs only shows: {}", request.message());
        match visit(request.url(), "lovelace").await {
            Ok(status) => println!("with Ada's password the page says {status}"),
            Err(error) => println!("the page cannot be opened: {error}"),
        }
        request.consent()
    };
    let does_not = Client::builder(transport).on_url(open).build();
    println!("{}", does_not.call_tool("deploy", json!({})).await?.text());
    Ok(())
}

/// Plays a browser on the page.
async fn visit(page: &str, password: &str) -> Result<StatusCode, reqwest::Error> {
    let form = reqwest::Client::new().post(page).header("content-type", "application/x-www-form-urlencoded");
    Ok(form.body(format!("password={password}&approved=true")).send().await?.status())
}
