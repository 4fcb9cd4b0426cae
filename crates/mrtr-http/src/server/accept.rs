//! Connections on a listening socket: taken, served, and brought to their end.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use super::mounts::Mounts;
use super::respond::UnreadBody;
use super::serve::{Serve, Timeouts};
use super::timeout_stream::TimeoutStream;

/// Takes connections until told to stop, and then lets what runs come to its end.
pub(super) async fn accept(
    listener: std::net::TcpListener,
    mounts: Arc<Mounts>,
    permits: Arc<Semaphore>,
    timeouts: Timeouts,
    mut stopped: watch::Receiver<bool>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let graceful = GracefulShutdown::new();
    // They end with this function, if it is dropped or out of timeouts.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    // It is taken before there is a place for it. If a permit were taken first, each thread would keep
                    // one free for connections that may all come to another.
                    let permit = tokio::select! {
                        permit = Arc::clone(&permits).acquire_owned() => permit.expect("nobody closes it"),
                        () = stop_requested(&mut stopped) => break,
                    };
                    connections.spawn(serve(stream, Arc::clone(&mounts), timeouts, graceful.watcher(), permit));
                }
                Err(error) if is_about_one_connection(&error) => {}
                Err(error) => {
                    // Out of file descriptors, most likely: it passes when connections end.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(BREATH).await;
                }
            },
            Some(_) = connections.join_next() => {}
            () = stop_requested(&mut stopped) => break,
        }
    }
    drop(listener);
    let ended = tokio::time::timeout(timeouts.shutdown, end(graceful, &mounts)).await;
    if ended.is_err() {
        tracing::warn!(connections = connections.len(), "what still runs is dropped");
    }
    Ok(())
}

/// How long to wait before trying again what did not work.
const BREATH: Duration = Duration::from_millis(50);

fn is_about_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Whoever is to say so may also be gone.
async fn stop_requested(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await.map(drop);
}

/// Lets running requests finish, and subscriptions end.
async fn end(graceful: GracefulShutdown, mounts: &Mounts) {
    let mut finished = pin!(async {
        graceful.shutdown().await;
        while mounts.detached() > 0 {
            tokio::time::sleep(BREATH).await;
        }
    });
    loop {
        // Again and again: one may begin just now, from a request that was on its way.
        mounts.end_subscriptions();
        tokio::select! {
            () = &mut finished => return,
            () = tokio::time::sleep(BREATH) => {}
        }
    }
}

/// Serves one connection, which has its permit until then.
async fn serve(
    stream: TcpStream,
    mounts: Arc<Mounts>,
    timeouts: Timeouts,
    watcher: Watcher,
    _place: OwnedSemaphorePermit,
) {
    let _ = stream.set_nodelay(true);
    let unread = Arc::new(AtomicBool::new(false));
    let begun = Arc::new(AtomicBool::new(false));
    let io = TokioIo::new(TimeoutStream::new(stream, timeouts.write, Arc::clone(&unread)));
    let service = {
        let begun = Arc::clone(&begun);
        service_fn(move |request| {
            begun.store(true, Ordering::Relaxed);
            let (mounts, unread) = (Arc::clone(&mounts), Arc::clone(&unread));
            async move {
                let response = mounts.respond(request).await;
                unread.store(response.extensions().get::<UnreadBody>().is_some(), Ordering::Relaxed);
                Ok::<_, Infallible>(response)
            }
        })
    };
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(timeouts.header).max_buf_size(Serve::HEAD_LIMIT);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(timeouts.header).max_header_list_size(HEAD_BYTES_H2);
    builder.http2().initial_connection_window_size(Serve::HTTP2_WINDOW).initial_stream_window_size(Serve::HTTP2_WINDOW);
    let connection = builder.serve_connection(io, service).into_owned();
    // Until it is known which HTTP a client speaks, nobody but us looks at the clock.
    let too_late = async {
        tokio::time::sleep(timeouts.header).await;
        if begun.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        served = watcher.watch(connection) => {
            if let Err(error) = served {
                tracing::debug!(error = &*error, "a connection ended with an error");
            }
        }
        () = too_late => tracing::debug!("a connection was closed: no request came in time"),
    }
}

const HEAD_BYTES_H2: u32 = 64 << 10;
const _: () = assert!(HEAD_BYTES_H2 as usize == Serve::HEAD_LIMIT);
