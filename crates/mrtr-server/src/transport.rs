//! Items for transports: the context that they give a server with a request, the parts of a reply, and the signals that
//! end them.

#[cfg(feature = "signal")]
use std::io;

pub use crate::definition::tool::HeaderClaim;
pub use crate::protocol::context::{Arrival, Headers};
pub use crate::protocol::offers::Inventory;
pub use crate::protocol::offers::Offers;
pub use crate::protocol::reply::{ReplyStream, Stage};
pub use crate::server::Received;
pub use crate::session::{LegacyMessage, LegacyReply, ListenError, SessionEvent, SessionId, SessionStream, Sessions};
pub use crate::support::fair::{Account, CallerKey, FairPool, Full, Holding};
pub use crate::support::permit::Permit;

/// Listens, from now on, for the signals that tell this process to end: SIGTERM and Ctrl-C. Returns a future that is
/// over when the first of them comes.
///
/// A second signal ends the process at once, with the exit status 128 + the signal's number, as a shell reports it: 130
/// for Ctrl-C, 143 for SIGTERM. Neither signal has its default action from now on, even if the future is dropped. As
/// process 1 of a container, where SIGTERM has no default action, this works like anywhere else.
///
/// ```
/// use mrtr_server::transport::end_signal;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// let told_to_end = end_signal()?;
/// println!("serving");
/// # if false {
/// told_to_end.await;
/// # }
/// # Ok(()) }
/// ```
///
/// # Panics
/// Panics outside a tokio runtime that has its IO enabled.
#[cfg(feature = "signal")]
pub fn end_signal() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut signals = Signals::listen()?;
    Ok(async move {
        let (name, _) = signals.next().await;
        tracing::info!(signal = name, "told to end; a second signal ends the process at once");
        tokio::spawn(async move {
            let (name, number) = signals.next().await;
            tracing::warn!(signal = name, "told to end again: the process ends at once");
            std::process::exit(128 + number);
        });
    })
}

/// The listeners of the two signals.
#[cfg(feature = "signal")]
struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(feature = "signal")]
impl Signals {
    #[cfg(unix)]
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for one of them, and returns its name and number.
    #[cfg(unix)]
    async fn next(&mut self) -> (&'static str, i32) {
        use tokio::signal::unix::SignalKind;
        tokio::select! {
            _ = self.terminate.recv() => ("SIGTERM", SignalKind::terminate().as_raw_value()),
            _ = self.interrupt.recv() => ("SIGINT", SignalKind::interrupt().as_raw_value()),
        }
    }

    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "listening fails on Unix")]
    fn listen() -> io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    async fn next(&mut self) -> (&'static str, i32) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        ("Ctrl-C", 2)
    }
}
