//! A round-robin proxy: each request goes to the next instance, and past those that are gone.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use mrtr::prelude::*;
use tokio::net::TcpListener;

#[derive(Clone)]
pub(crate) struct Proxy {
    url: String,
    http: reqwest::Client,
    instances: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    pub(crate) async fn start(instances: Vec<String>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let proxy = Self {
            url: format!("http://{}/mcp", listener.local_addr()?),
            // A connection that was kept may lead to an instance that is gone, and one cannot tell whether a request on it
            // arrived.
            http: reqwest::Client::builder().pool_max_idle_per_host(0).build()?,
            instances: Arc::new(Mutex::new(instances)),
        };
        let app = Router::new().fallback(forward).with_state(proxy.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok(proxy)
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// These are the instances from now on.
    pub(crate) fn serve_by(&self, instances: Vec<String>) {
        *self.instances.lock().unwrap_or_else(PoisonError::into_inner) = instances;
    }

    /// All of them, beginning with the one whose turn it is.
    fn in_turn(&self) -> Vec<String> {
        let mut instances = self.instances.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = instances.clone();
        instances.rotate_left(1);
        turn
    }
}

async fn forward(State(proxy): State<Proxy>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, LONGEST_BODY).await else { return StatusCode::PAYLOAD_TOO_LARGE.into_response() };
    parts.headers.remove(header::HOST);
    for url in proxy.in_turn() {
        let request = proxy.http.request(parts.method.clone(), url).headers(parts.headers.clone());
        match request.body(body.clone()).send().await {
            Ok(reply) => {
                let (status, headers) = (reply.status(), reply.headers().clone());
                return (status, headers, Body::from_stream(reply.bytes_stream())).into_response();
            }
            // It is gone, and has heard nothing of the request.
            Err(error) if error.is_connect() => {}
            Err(_) => break,
        }
    }
    StatusCode::BAD_GATEWAY.into_response()
}

const LONGEST_BODY: usize = 1 << 20;
