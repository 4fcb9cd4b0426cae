//! Notifications from inside a flow: progress and log messages, on their way to the client.

use mrtr_schema::jsonrpc::Notification;
use mrtr_schema::meta::ProgressToken;
use mrtr_schema::methods::{LoggingMessage, NotificationMethod, Progress};
use mrtr_schema::notifications::{LoggingMessageParams, ProgressParams};
use mrtr_schema::{Json, LoggingLevel, Number, Revision, Wire};
use tokio::sync::mpsc;

/// Sends what the request asked to hear.
#[derive(Debug, Clone)]
pub(crate) struct Notifier {
    pub(crate) progress: Option<ProgressToken>,
    pub(crate) log: Option<LoggingLevel>,
    pub(crate) sender: mpsc::Sender<String>,
    pub(crate) revision: Revision,
}

impl Notifier {
    pub(crate) async fn progress(&self, progress: Number, total: Option<Number>, message: Option<String>) {
        let Some(token) = &self.progress else { return };
        let mut params = ProgressParams::new(token.clone(), progress);
        params.total = total;
        params.message = message;
        self.send(&Notification::<Progress>::new(params)).await;
    }

    pub(crate) async fn log(&self, level: LoggingLevel, data: Json) {
        if self.log.is_some_and(|least| level >= least) {
            self.send(&Notification::<LoggingMessage>::new(LoggingMessageParams::new(level, data))).await;
        }
    }

    /// Waits for room: a client that reads slowly slows its own flow down, and no other.
    async fn send<N: NotificationMethod>(&self, notification: &Notification<N>) {
        match notification.to_json(self.revision) {
            // The client has gone: the run ends by itself.
            Ok(text) => drop(self.sender.send(text).await),
            Err(error) => tracing::warn!(%error, "a notification cannot be written in this revision"),
        }
    }
}
