//! An MCP endpoint in an existing axum application, which has its own state, routes, CORS, health and readiness. The
//! endpoint is under a base path, and the application shuts down in order.
//!
//! `MRTR_STATE_KEYS="shop=k1:$(openssl rand -base64 32)" cargo run -p mrtr-examples --bin axum_app` serves the tool at
//! `http://127.0.0.1:8000/assistant/mcp`; `curl http://127.0.0.1:8000/readyz` asks whether it takes requests, and Ctrl-C
//! ends it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use axum::extract::State;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::routing::get;
use axum::{Json, Router};
use mrtr_http::Endpoint;
use mrtr_server::extend::{Clock, SystemClock};
use mrtr_server::{Flow, Sealer, Server, Tool};
use mrtr_state::MemorySingleUse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, oneshot};
use tokio::time::{sleep, timeout};
use tower_http::cors::{AllowHeaders, CorsLayer};

/// The application's own state. Its routes get it from axum, its tools from their flow.
#[derive(Clone, Default)]
struct App {
    orders: Arc<Mutex<Vec<Order>>>,
    stopping: Arc<AtomicBool>,
    /// Told when a probe has seen that the application is not ready.
    noticed: Arc<Notify>,
}

#[derive(Clone, Serialize)]
struct Order {
    what: String,
    placed: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Wish {
    /// What to order
    what: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirmation {
    confirmed: bool,
}

async fn order(flow: Flow, wish: Wish) -> Result<String> {
    let Confirmation { confirmed } = flow.elicit("confirm", format!("Order {}?", wish.what)).await?;
    if !confirmed {
        return Ok("Nothing was ordered".into());
    }
    let number = flow.step("place", flow.state::<App>().place(wish.what)).await?;
    Ok(format!("Order {number} is placed"))
}

#[tokio::main]
async fn main() -> Result<()> {
    tracing_subscriber::fmt().init();
    let app = App::default();
    let store = MemorySingleUse::new(SystemClock::default().now());
    let server = Server::builder("shop", env!("CARGO_PKG_VERSION"))
        .sealer(Sealer::from_env("MRTR_STATE_KEYS")?)
        .state(app.clone())
        .tool(Tool::new("order", order).description("Orders something").single_use(store))
        .build()?;
    let address = std::env::var("SHOP_ADDRESS").unwrap_or("127.0.0.1:8000".into());
    let listener =
        tokio::net::TcpListener::bind(&address).await.with_context(|| format!("cannot listen on {address}"))?;
    tracing::info!(tools = server.inventory().tools, "serving http://{address}/assistant/mcp");
    serve(listener, app, server).await
}

fn routes(app: App, server: Server) -> Router {
    // The endpoint refuses pages of other origins whatever CORS says, so both are told of the same page.
    let endpoint = Endpoint::anonymous(server).allow_origin(PAGE);
    let cors = CorsLayer::new()
        .allow_origin(HeaderValue::from_static(PAGE))
        .allow_methods([Method::POST])
        .allow_headers(AllowHeaders::mirror_request());
    Router::new()
        .route("/orders", get(orders))
        .route("/healthz", get(async || "alive"))
        .route("/readyz", get(readiness))
        .with_state(app)
        .nest("/assistant", mrtr_http::router_at("/mcp", endpoint).layer(cors))
}

async fn serve(listener: tokio::net::TcpListener, app: App, server: Server) -> Result<()> {
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = axum::serve(listener, routes(app.clone(), server.clone()));
    let serving = serving.with_graceful_shutdown(async { drop(stopped.await) });
    let mut serving = tokio::spawn(serving.into_future());
    tokio::select! {
        ended = &mut serving => return Ok(ended??),
        signal = stop_signal() => signal?,
    }
    // 1. Not ready: a load balancer takes requests elsewhere. Those that still come are served.
    app.stopping.store(true, Ordering::SeqCst);
    tracing::info!("not ready");
    let _ = timeout(NOTICE, app.noticed.notified()).await;
    // 2. No new connections. Rounds that run are answered; what would wait for longer, such as subscriptions, is ended.
    tracing::info!("draining");
    let _ = stop.send(());
    let drained = async {
        serving.await??;
        // 3. Tasks are handed over, and rounds of single-use tools whose client is gone record what they began.
        server.shut_down().await;
        anyhow::Ok(())
    };
    let nothing_waits = async {
        loop {
            server.begin_shutdown();
            sleep(POLL).await;
        }
    };
    // 4. The end, whatever still runs.
    let drained = tokio::select! {
        drained = drained => drained,
        () = nothing_waits => Ok(()),
        () = sleep(DRAIN) => anyhow::bail!("what still ran after {DRAIN:?} was dropped"),
    };
    tracing::info!("drained");
    drained
}

async fn orders(State(app): State<App>) -> Json<Vec<Order>> {
    Json(app.orders.lock().unwrap_or_else(PoisonError::into_inner).clone())
}

async fn readiness(State(app): State<App>) -> (StatusCode, &'static str) {
    if app.stopping.load(Ordering::SeqCst) {
        app.noticed.notify_one();
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping");
    }
    (StatusCode::OK, "ready")
}

/// Ctrl-C, or what a platform sends to end a process.
async fn stop_signal() -> Result<()> {
    #[cfg(unix)]
    {
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            signal = tokio::signal::ctrl_c() => signal?,
            _ = terminate.recv() => {}
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await?;
    Ok(())
}

impl App {
    /// Stands in for a warehouse, which takes its time.
    async fn place(&self, what: String) -> Result<usize> {
        let number = {
            let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
            orders.push(Order { what, placed: false });
            orders.len()
        };
        let time = std::env::var("WAREHOUSE_MS").ok().and_then(|time| time.parse().ok()).unwrap_or(100);
        sleep(Duration::from_millis(time)).await;
        if let Some(order) = self.orders.lock().unwrap_or_else(PoisonError::into_inner).get_mut(number - 1) {
            order.placed = true;
        }
        tracing::info!("order {number} is placed");
        Ok(number)
    }
}

/// The page that may call from a browser.
const PAGE: &str = "https://shop.example.com";

/// The longest a load balancer takes to notice that the application is not ready. One that asks is not waited for.
const NOTICE: Duration = Duration::from_secs(10);

/// The longest that rounds may take to end. Platforms kill what takes longer than they wait, often 30 seconds.
const DRAIN: Duration = Duration::from_secs(15);

const POLL: Duration = Duration::from_millis(50);
