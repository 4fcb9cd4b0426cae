//! Notifications from inside a flow: progress and log messages, on their way to the client.

use std::sync::Arc;

use async_trait::async_trait;
use mrtr_flow::{NotificationSink, Progress};
use mrtr_schema::jsonrpc::Notification;
use mrtr_schema::meta::ProgressToken;
use mrtr_schema::methods::{self, LoggingMessage, NotificationMethod};
use mrtr_schema::notifications::{LoggingMessageParams, ProgressParams};
use mrtr_schema::{Json, LoggingLevel, Revision, Wire};
use tokio::sync::mpsc;

/// Sends the progress and the log messages that the request asked for.
pub(crate) struct Notifier {
    pub(crate) progress: Option<ProgressToken>,
    pub(crate) log: Option<LoggingLevel>,
    pub(crate) to: Receiver,
    pub(crate) revision: Revision,
}

/// The place that notifications go to.
pub(crate) enum Receiver {
    /// Into the stream of the request.
    Stream(mpsc::Sender<String>),
    /// To what the session keeps of them.
    Sink(Arc<dyn MessageSink>),
}

/// Takes notifications as messages, where there is no stream of the request's own.
#[async_trait]
pub(crate) trait MessageSink: Send + Sync + 'static {
    /// Takes a notification, as a whole JSON-RPC message. The handler continues when this has returned.
    async fn notify(&self, message: String);
}

impl Receiver {
    /// Waits for room: a client that reads slowly slows its own flow down, and no other.
    async fn send(&self, message: String) {
        match self {
            // If the client has gone, the run ends by itself.
            Self::Stream(sender) => drop(sender.send(message).await),
            Self::Sink(sink) => sink.notify(message).await,
        }
    }
}

#[async_trait]
impl NotificationSink for Notifier {
    async fn progress(&self, progress: Progress) {
        let Some(token) = &self.progress else { return };
        let mut params = ProgressParams::new(token.clone(), progress.progress);
        params.total = progress.total;
        params.message = progress.message;
        self.send(&Notification::<methods::Progress>::new(params)).await;
    }

    async fn log(&self, level: LoggingLevel, data: Json) {
        if self.log.is_some_and(|least| level >= least) {
            self.send(&Notification::<LoggingMessage>::new(LoggingMessageParams::new(level, data))).await;
        }
    }
}

impl Notifier {
    async fn send<N: NotificationMethod>(&self, notification: &Notification<N>) {
        match notification.to_json(self.revision) {
            Ok(text) => self.to.send(text).await,
            Err(error) => tracing::warn!(%error, "a notification cannot be written in this revision"),
        }
    }
}
