//! The reasons why calls failed lately, by the reference that their callers got: for tests, which have no log to look
//! it up in.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use mrtr_state::FlowId;

/// The latest causes, once a client for tests wants them: a server that has none keeps none.
#[derive(Default)]
pub(crate) struct Causes(Mutex<Option<VecDeque<(String, String)>>>);

impl Causes {
    /// Keeps causes from now on.
    pub(crate) fn start(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
    }

    pub(crate) fn keep(&self, reference: FlowId, cause: &str) {
        if let Some(kept) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            kept.truncate(MOST - 1);
            kept.push_front((reference.to_string(), cause.to_owned()));
        }
    }

    /// The latest cause whose reference stands in a text.
    pub(crate) fn named_in(&self, text: &str) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let named = kept.as_ref()?.iter().find(|(reference, _)| text.contains(reference));
        named.map(|(_, cause)| cause.clone())
    }
}

/// More than a test has calls that fail before it looks at one.
const MOST: usize = 256;
