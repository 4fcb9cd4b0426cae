//! The one output that all messages share: it writes them in the order in which it gets them, with a bounded queue
//! before it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, watch};

use crate::lines::line;

/// The sending end of the queue of messages to write. While the queue is full, senders wait for their turn.
#[derive(Debug, Clone)]
pub(crate) struct Output(mpsc::Sender<Queued>);

/// A message on its way out.
#[derive(Debug)]
struct Queued {
    message: String,
    withdrawn: Option<Withdrawn>,
}

/// Says of messages that they must not go out any more, even if they are in the queue already.
#[derive(Debug, Clone, Default)]
pub(crate) struct Withdrawn(Arc<watch::Sender<bool>>);

impl Withdrawn {
    /// Withdraws what was not written yet.
    pub(crate) fn withdraw(&self) {
        self.0.send_replace(true);
    }

    /// Waits until it is withdrawn.
    #[cfg(feature = "server")]
    pub(crate) async fn wait(&self) {
        // The sender is here, so that it cannot be gone.
        let _ = self.0.subscribe().wait_for(|withdrawn| *withdrawn).await;
    }

    /// True if it was withdrawn.
    pub(crate) fn is_set(&self) -> bool {
        *self.0.borrow()
    }
}

/// The output is closed: its reader is gone, or cannot be written to.
#[derive(Debug)]
pub(crate) struct Closed;

impl Output {
    /// Returns an output, and the future that writes it until every sender is gone, or the peer reads none of it within
    /// the limit.
    pub(crate) fn new<W: AsyncWrite + Unpin>(
        bytes: W,
        limit: Option<Duration>,
    ) -> (Self, impl Future<Output = io::Result<()>>) {
        let (sender, queue) = mpsc::channel(QUEUE);
        (Self(sender), write(queue, bytes, limit))
    }

    /// Hands a message over as soon as there is room.
    pub(crate) async fn send(&self, message: String) -> Result<(), Closed> {
        self.queue(message, None).await
    }

    /// Hands a message over, which goes out unless it is withdrawn before that.
    pub(crate) async fn send_unless(&self, message: String, withdrawn: &Withdrawn) -> Result<(), Closed> {
        self.queue(message, Some(withdrawn.clone())).await
    }

    async fn queue(&self, message: String, withdrawn: Option<Withdrawn>) -> Result<(), Closed> {
        self.0.send(Queued { message, withdrawn }).await.map_err(|_| Closed)
    }
}

/// Writes messages, and flushes when there are no more for the moment.
async fn write<W: AsyncWrite + Unpin>(
    mut queue: mpsc::Receiver<Queued>,
    mut bytes: W,
    limit: Option<Duration>,
) -> io::Result<()> {
    let mut batch = Vec::with_capacity(QUEUE);
    while queue.recv_many(&mut batch, QUEUE).await > 0 {
        for Queued { message, withdrawn } in batch.drain(..) {
            if !withdrawn.is_some_and(|withdrawn| withdrawn.is_set()) {
                write_line(&mut bytes, line(message).as_bytes(), limit).await?;
            }
        }
        if queue.is_empty() {
            within(limit, bytes.flush()).await?;
        }
    }
    bytes.shutdown().await
}

async fn write_line<W: AsyncWrite + Unpin>(to: &mut W, mut line: &[u8], limit: Option<Duration>) -> io::Result<()> {
    while !line.is_empty() {
        let written = within(limit, to.write(line)).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        line = &line[written..];
    }
    Ok(())
}

/// Writes something, unless none of it could be written for too long.
async fn within<T>(limit: Option<Duration>, write: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let Some(limit) = limit else { return write.await };
    let unread = |_| io::Error::new(io::ErrorKind::TimedOut, "the client does not read what it is sent");
    tokio::time::timeout(limit, write).await.map_err(unread)?
}

/// The most messages that the queue holds. While it is full, senders wait.
const QUEUE: usize = 16;
