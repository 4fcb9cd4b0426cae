//! The declarations of clients in `_meta`: read once for all requests that say the same.

use std::cell::RefCell;
use std::sync::Arc;

use mrtr_schema::meta::{ProgressToken, RequestMeta};
use mrtr_schema::{ClientCapabilities, LoggingLevel};

/// The declarations of a request, as far as the server needs them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientMeta {
    pub(crate) capabilities: Arc<ClientCapabilities>,
    pub(crate) progress: Option<ProgressToken>,
    pub(crate) log: Option<LoggingLevel>,
}

impl From<RequestMeta> for ClientMeta {
    fn from(meta: RequestMeta) -> Self {
        Self {
            capabilities: Arc::new(meta.client_capabilities.unwrap_or_default()),
            progress: meta.progress_token,
            log: meta.log_level,
        }
    }
}

/// Returns what this very text declares, if this thread read it not long ago.
///
/// The server remembers no client, so each says who it is and what it can do in every request, in the same words.
pub(crate) fn recall(text: &str) -> Option<ClientMeta> {
    RECENT.with_borrow_mut(|recent| {
        let place = recent.iter().position(|(known, _)| **known == *text)?;
        // Texts that are wanted often stay in front.
        recent.swap(place, place / 2);
        Some(recent[place / 2].1.clone())
    })
}

/// Reads metadata as what it declares, and keeps it if another request may say the same: not if it names something
/// that is this request's alone.
pub(crate) fn remember(text: &str, meta: RequestMeta) -> ClientMeta {
    let recurs = meta.progress_token.is_none() && meta.traceparent.is_none() && text.len() <= LONGEST;
    let declared = ClientMeta::from(meta);
    if recurs {
        RECENT.with_borrow_mut(|recent| {
            recent.truncate(MOST - 1);
            recent.push((text.into(), declared.clone()));
        });
    }
    declared
}

thread_local! {
    static RECENT: RefCell<Vec<(Box<str>, ClientMeta)>> = const { RefCell::new(Vec::new()) };
}

/// The number of texts that a thread keeps, and the greatest length of each.
const MOST: usize = 8;
const LONGEST: usize = 2048;
