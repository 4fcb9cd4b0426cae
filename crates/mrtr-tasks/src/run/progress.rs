//! What a flow says of its progress: the last of it is what a client is told of where its task stands.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use mrtr_server::extend::NotificationSink;
use serde::Deserialize;

/// The last message of a run that was not kept yet. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Progress(Arc<Mutex<Option<String>>>);

impl Progress {
    /// Takes the message, to be kept.
    pub(super) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[async_trait]
impl NotificationSink for Progress {
    async fn notify(&self, message: String) {
        #[derive(Deserialize)]
        struct Notification {
            params: Params,
        }
        #[derive(Deserialize)]
        struct Params {
            progress: serde_json::Number,
            total: Option<serde_json::Number>,
            message: Option<String>,
        }
        let Ok(Notification { params }) = serde_json::from_str(&message) else { return };
        let text = params.message.unwrap_or_else(|| match params.total {
            Some(total) => format!("{} of {total}", params.progress),
            None => params.progress.to_string(),
        });
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }
}
