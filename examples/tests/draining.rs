//! The server as it is deployed: it drains on SIGTERM, and platforms give it the time that it takes.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic is the report")]

use std::path::Path;
use std::time::Duration;

use mrtr::client::EventKind;
use mrtr::prelude::*;
use mrtr_fixtures::Program;

const KEYS: &str = "shop=k1:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";

fn start(keys: &Path) -> Program {
    std::fs::write(keys, KEYS).unwrap();
    Program::start(env!("CARGO_BIN_EXE_draining"), |command, address| {
        command.env("SHOP_ADDRESS", address.to_string()).env("SHOP_KEYS", keys);
        command.env("SHOP_NOTICE_MS", "1000").env("WAREHOUSE_MS", "3000");
    })
}

#[tokio::test]
async fn a_call_that_runs_is_answered_after_the_signal() {
    let folder = tempfile::tempdir().unwrap();
    let shop = start(&folder.path().join("keys"));
    let probe = async |path| reqwest::get(shop.url(path)).await.unwrap().status().as_u16();
    assert_eq!((probe("/healthz").await, probe("/readyz").await), (200, 200));

    let client = Client::builder(HttpTransport::new(&shop.url("/mcp")).unwrap()).build();
    let mut events = client.events();
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("export", json!({})).await }
    });
    // It runs, says this.
    while !matches!(events.next().await.unwrap().kind, EventKind::Progress(_)) {}
    shop.terminate();
    while probe("/readyz").await != 503 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(probe("/healthz").await, 200, "the platform is not to kill it");
    assert_eq!(call.await.unwrap().unwrap().text(), "12 orders are exported");
    let (status, printed) = shop.wait();
    assert!(status.success(), "{status}: {printed}");
}

/// From the signal to SIGKILL, a platform waits longer than the server does.
#[test]
fn platforms_wait_longer_than_the_server() {
    let limit = Serve::DEFAULT_SHUTDOWN_TIMEOUT.as_secs();
    let kubernetes = number_after(include_str!("../deployment/kubernetes.yaml"), "terminationGracePeriodSeconds: ");
    let systemd = number_after(include_str!("../deployment/shop.service"), "TimeoutStopSec=");
    assert!(kubernetes > limit && systemd > limit, "{kubernetes}, {systemd}, {limit}");
}

fn number_after(text: &str, name: &str) -> u64 {
    let (_, rest) = text.split_once(name).unwrap();
    rest.lines().next().unwrap().parse().unwrap()
}
