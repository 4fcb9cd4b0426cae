//! Connections on a listening socket: accepted, served once there is a place for them, and drained at the end.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use mrtr_server::transport::{CallerKey, FairPool, Holding};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::connection::{Timeouts, serve_connection};
use super::router::Mounts;

/// The state that the accept loops of all threads share.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub(super) mounts: Arc<Mounts>,
    /// Places for connections, over all threads.
    pub(super) places: FairPool,
    /// The signal that a place is free again.
    pub(super) freed: Arc<watch::Sender<()>>,
    pub(super) timeouts: Timeouts,
    /// The time at which what still runs is dropped, once the server is to stop.
    pub(super) stopped: watch::Receiver<Option<Instant>>,
}

/// A connection that has its place.
pub(super) struct Accepted {
    pub(super) stream: TcpStream,
    pub(super) address: IpAddr,
    pub(super) place: Holding,
}

/// Accepts connections until the server is to stop, and then lets running requests finish.
pub(super) async fn accept(listener: std::net::TcpListener, mut shared: Shared) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let graceful = GracefulShutdown::new();
    // The set aborts its tasks when it is dropped. So connections end with this function, if it is dropped itself or if
    // they do not drain in time.
    let mut connections = JoinSet::new();
    let mut waiting = WaitingConnections::default();
    let mut freed = shared.freed.subscribe();
    let deadline = loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                // The connection is accepted before there is a place for it. If a place came first, each thread would
                // keep one for connections that may all come to another thread's socket. Also, the address of a
                // connection decides if there is a place.
                Ok((stream, address)) => waiting.push(stream, address.ip()),
                Err(error) if is_about_one_connection(&error) => {}
                Err(error) => {
                    // Out of file descriptors, most likely: it passes when connections end. To try again at once would
                    // take a whole core until then.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_BACKOFF).await;
                }
            },
            _ = freed.changed(), if !waiting.is_empty() => {}
            // Another connection may have become idle, and make way.
            () = tokio::time::sleep(IDLE_POLL), if !waiting.is_empty() => {}
            // A set keeps what its tasks gave until it is asked for it.
            Some(_) = connections.join_next() => {}
            deadline = stop_requested(&mut shared.stopped) => break deadline.unwrap_or_else(|| after(shared.timeouts.shutdown)),
        }
        // From here on, this thread sees each place that is given back.
        freed.mark_unchanged();
        for accepted in waiting.admit(&shared.places) {
            let (mounts, watcher) = (Arc::clone(&shared.mounts), graceful.watcher());
            let serving = serve_connection(accepted, mounts, shared.timeouts, watcher);
            let freed = Arc::clone(&shared.freed);
            connections.spawn(async move {
                serving.await;
                freed.send_replace(());
            });
        }
    };
    // From here on, the system refuses new connections: a load balancer takes them elsewhere.
    drop((listener, waiting));
    if tokio::time::timeout_at(deadline, drain(graceful, &shared.mounts)).await.is_err() {
        tracing::warn!(
            connections = connections.len(),
            "`shutdown_timeout` is over: what still runs on these connections is dropped"
        );
    }
    Ok(())
}

/// Waits until the server is to stop, and returns the time at which what still runs is dropped; `None` if the sender is
/// gone, and the server with it.
async fn stop_requested(stopped: &mut watch::Receiver<Option<Instant>>) -> Option<Instant> {
    stopped.wait_for(Option::is_some).await.ok().and_then(|deadline| *deadline)
}

/// Returns the time after this long from now; of a limit that no clock can tell, a time that is far off.
pub(super) fn after(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or_else(|| now + FAR_OFF)
}

/// Lets running requests finish. Subscriptions, and requests that wait for the result of a task, would not end by
/// themselves, so this tells their servers first.
async fn drain(graceful: GracefulShutdown, mounts: &Mounts) {
    let mut finished = pin!(graceful.shutdown());
    loop {
        // Again and again: a subscription may begin just now, from a request that was on its way.
        mounts.begin_shutdown();
        tokio::select! {
            () = &mut finished => return,
            () = tokio::time::sleep(DRAIN_POLL) => {}
        }
    }
}

fn is_about_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Connections that wait until there is a place for them, in the order in which they came. One whose address has its
/// share already does not hold up the others.
#[derive(Debug, Default)]
struct WaitingConnections(Vec<(TcpStream, IpAddr)>);

impl WaitingConnections {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a waiting connection. If there are too many, this closes the newest one of the address that has the most.
    pub(super) fn push(&mut self, stream: TcpStream, address: IpAddr) {
        self.0.push((stream, address));
        if self.0.len() > MOST {
            let mut counts = HashMap::new();
            for (_, address) in &self.0 {
                *counts.entry(CallerKey::address(*address)).or_insert(0) += 1;
            }
            let most = counts.into_iter().max_by_key(|(_, count)| *count).map(|(key, _)| key);
            let last = self.0.iter().rposition(|(_, address)| Some(CallerKey::address(*address)) == most);
            self.0.remove(last.unwrap_or(MOST));
        }
    }

    /// Takes out the connections that there is a place for now.
    fn admit(&mut self, places: &FairPool) -> Vec<Accepted> {
        let mut admitted = Vec::new();
        for (stream, address) in std::mem::take(&mut self.0) {
            match take(places, address) {
                Some(place) => admitted.push(Accepted { stream, address, place }),
                None => self.0.push((stream, address)),
            }
        }
        admitted
    }
}

/// Takes a place for a connection from this address. An idle connection of the same address makes way.
fn take(places: &FairPool, address: IpAddr) -> Option<Holding> {
    let account = places.account(&CallerKey::address(address));
    loop {
        match account.take(1) {
            Ok(place) => return Some(place),
            Err(_) if account.end_oldest_offer() => {}
            Err(_) => return None,
        }
    }
}

/// Thirty years.
const FAR_OFF: Duration = Duration::from_hours(30 * 365 * 24);

/// The pause before the server accepts another connection, after it could not accept one.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(50);

/// The time between two looks for a connection that makes way for one that waits.
const IDLE_POLL: Duration = Duration::from_millis(100);

/// The time between two times that servers are told to end subscriptions.
const DRAIN_POLL: Duration = Duration::from_millis(50);

/// The most connections that wait on a thread. Beyond it, the server closes those of the address that has most.
const MOST: usize = 64;
