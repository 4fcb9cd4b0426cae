//! Results that the server said may be kept, for as long as it said.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mrtr_schema::{Json, RawMembers};
use tokio::time::Instant;

/// Results by method and parameters. The client is one user's, so both scopes may be kept here.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<HashMap<String, Kept>>);

#[derive(Debug)]
struct Kept {
    result: Json,
    until: Instant,
}

/// More than any server has lists and resources that one client reads; beyond it, nothing is kept.
const MOST: usize = 1000;

impl Cache {
    pub(super) fn get(&self, key: &str) -> Option<Json> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.get(key) {
            Some(found) if Instant::now() < found.until => Some(found.result.clone()),
            Some(_) => {
                kept.remove(key);
                None
            }
            None => None,
        }
    }

    /// Keeps a result if its hints say so.
    pub(super) fn keep(&self, key: String, result: &Json) {
        let lifetime = lifetime(result).filter(|lifetime| !lifetime.is_zero());
        let until = lifetime.and_then(|lifetime| Instant::now().checked_add(lifetime));
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(until) = until
            && (kept.len() < MOST || kept.contains_key(&key))
        {
            kept.insert(key, Kept { result: result.clone(), until });
        }
    }

    pub(super) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

fn lifetime(result: &Json) -> Option<Duration> {
    let lifetime = RawMembers::of(result.as_raw()).ok()?.get("ttlMs")?;
    serde_json::from_str(lifetime.get()).ok().map(Duration::from_millis)
}
