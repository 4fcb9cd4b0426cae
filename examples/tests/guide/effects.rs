//! The effects of handlers outside, in the order in which they had them.

use std::sync::{Arc, Mutex, PoisonError};

/// A list that clones share.
#[derive(Clone, Default)]
pub(crate) struct Effects(Arc<Mutex<Vec<String>>>);

impl Effects {
    pub(crate) fn note(&self, effect: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(effect.to_owned());
    }

    pub(crate) fn noted(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
