//! The end of the demo server, in order, and the probes that tell of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use mrtr::server::Server;
use tokio::net::TcpListener;

use crate::failure::Failure;

/// The times of the end.
#[derive(Clone, Copy)]
pub(super) struct Times {
    /// The time for which the server still takes requests, while the readiness probe fails.
    notice: Duration,
    /// The time from the signal until what still runs is dropped.
    timeout: Duration,
}

impl Times {
    /// Takes both in seconds.
    pub(super) fn new(notice: u64, timeout: u64) -> Result<Self, Failure> {
        if notice > 0 && notice >= timeout {
            return Err(Failure::usage(format!(
                "a --shutdown-notice of {notice} s leaves nothing of the --shutdown-timeout of {timeout} s, which counts \
                 from its beginning"
            ))
            .next(format!("make the timeout longer: --shutdown-timeout {}", notice.saturating_add(5))));
        }
        Ok(Self { notice: Duration::from_secs(notice), timeout: Duration::from_secs(timeout) })
    }
}

/// Serves until the process is told to end, and then ends in order: the readiness probe fails, open requests have some
/// time, those that would wait for longer are answered first, and tasks are handed over last.
pub(super) async fn until_told_to_end(
    told_to_end: impl Future<Output = ()>,
    readiness: Readiness,
    times: Times,
    listener: TcpListener,
    site: Router,
    server: &Server,
) -> Result<()> {
    let (told, is_told) = tokio::sync::oneshot::channel::<()>();
    let serving = axum::serve(listener, site).with_graceful_shutdown(async { drop(is_told.await) });
    let serving = tokio::spawn(serving.into_future());
    told_to_end.await;
    let begun = Instant::now();
    readiness.0.store(false, Ordering::Relaxed);
    if !times.notice.is_zero() {
        let notice = times.notice.as_secs();
        anstream::eprintln!(
            "Ending: requests are taken for {notice} s more, and /readyz fails. Ctrl-C again ends it at once."
        );
        tokio::time::sleep(times.notice).await;
    }
    let left = times.timeout.saturating_sub(begun.elapsed());
    anstream::eprintln!("Ending: open requests have {} s. Ctrl-C again ends it at once.", left.as_secs_f32().ceil());
    server.begin_shutdown();
    drop(told);
    let ended = match tokio::time::timeout(left, serving).await {
        Ok(ended) => ended?.context("the server failed"),
        // A client has left its stream open.
        Err(_) => Ok(()),
    };
    // A step that has begun is worth some time, whatever the requests have taken of it.
    let left = times.timeout.saturating_sub(begun.elapsed()).max(LEAST_FOR_TASKS);
    if tokio::time::timeout(left, server.shut_down()).await.is_err() {
        anstream::eprintln!("Ended, although a task still ran: another process continues it once its lease is over.");
    } else {
        anstream::eprintln!("Ended: no request is open, and no task runs.");
    }
    ended
}

/// False once the process is told to end.
#[derive(Clone)]
pub(super) struct Readiness(Arc<AtomicBool>);

impl Readiness {
    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    /// The routes for probes, as `mrtr_http::Serve` has them.
    pub(super) fn probes(self) -> Router {
        let is_ready = async move || {
            if self.0.load(Ordering::Relaxed) {
                (StatusCode::OK, "ready\n")
            } else {
                (StatusCode::SERVICE_UNAVAILABLE, "shutting down\n")
            }
        };
        Router::new().route("/healthz", get(async || "alive\n")).route("/readyz", get(is_ready))
    }
}

/// The time that tasks have at least, when requests have taken all of it.
const LEAST_FOR_TASKS: Duration = Duration::from_secs(1);
