//! Mounted in an application of axum's, beside its own routes and under its own layers.

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response as AxumResponse;
use axum::routing::get;
use mrtr_http::{Endpoint, router, router_at, router_for};
use mrtr_schema::Revision;
use serde_json::json;
use std::net::SocketAddr;
use tokio::net::TcpListener;

use crate::support::message::{Post, call, watched};
use crate::support::wire::{Response, Wire};
use crate::tools::{self, Gate};

async fn start(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async { axum::serve(listener, app).await });
    address
}

async fn answer(address: SocketAddr, post: &Post) -> Response {
    let mut wire = Wire::connect(address).await;
    wire.send(post.text()).await;
    wire.response().await
}

async fn stamped(request: Request, next: Next) -> AxumResponse {
    let mut response = next.run(request).await;
    response.headers_mut().insert("x-stamped", "yes".parse().unwrap());
    response
}

#[tokio::test]
async fn ht_1_it_stands_beside_other_routes_and_under_layers() {
    let server = tools::server();
    let app = Router::new()
        .route("/health", get(async || "fine"))
        .merge(router(server.clone()))
        .merge(router_for(server.clone(), Revision::Sep2322))
        .nest("/nested", router_at("/tools", Endpoint::anonymous(server)))
        .layer(from_fn(stamped));
    let address = start(app).await;
    let health = answer(address, &Post { method: "GET", ..Post::plain("") }.to("/health")).await;
    assert_eq!(health.body, b"fine");
    let hello = Post::of(&call("hello", json!({})));
    for path in ["/mcp", "/nested/tools"] {
        let response = answer(address, &hello.clone().to(path)).await;
        assert_eq!((response.status, response.header("x-stamped")), (200, Some("yes")), "{path}");
        assert_eq!(response.json()["result"]["content"][0]["text"], "Hello");
        let refused = answer(address, &Post { method: "GET", ..hello.clone() }.to(path)).await;
        assert_eq!((refused.status, refused.header("allow")), (405, Some("POST")));
        assert_eq!(answer(address, &hello.clone().to(path).with("Host", "evil.example")).await.status, 403);
    }
    let older = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "hello" } });
    assert_eq!(answer(address, &Post::plain(older.to_string()).to("/sep-2322")).await.status, 200);
    assert_eq!(answer(address, &hello.to("/draft-2026-02")).await.status, 404);
}

#[tokio::test]
async fn ht_5_streams_work_there_too() {
    let gate = Gate::default();
    let address = start(router(tools::builder(&gate).build().unwrap())).await;
    let mut wire = Wire::connect(address).await;
    wire.send(Post::of(&watched(call("talk", json!({})))).text()).await;
    wire.head().await;
    wire.event().await.unwrap();
    drop(wire);
    gate.dropped().await;
    assert_eq!(gate.passed(), 0);
}
