//! Results that the server said may be kept, for as long as it said.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mrtr_schema::{Json, RawMembers, Revision, Wire};
use tokio::time::Instant;

/// Results by revision, method and parameters. The client is one user's, so both scopes may be kept here.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<HashMap<String, Kept>>);

#[derive(Debug)]
struct Kept {
    result: Json,
    until: Instant,
}

impl Cache {
    pub(super) fn get(&self, key: &str) -> Option<Json> {
        let now = Instant::now();
        self.kept().get(key).filter(|found| now < found.until).map(|found| found.result.clone())
    }

    /// Keeps a result if its hints say so, and if there is room.
    pub(super) fn keep(&self, key: String, result: &Json, revision: Revision) {
        let now = Instant::now();
        let Some(until) = lifetime(result, revision).and_then(|lifetime| now.checked_add(lifetime)) else { return };
        let mut kept = self.kept();
        kept.remove(&key);
        kept.retain(|_, kept| now < kept.until);
        let bytes: usize = kept.values().map(|kept| kept.result.as_str().len()).sum();
        if kept.len() < MOST_RESULTS && bytes + result.as_str().len() <= MOST_BYTES {
            kept.insert(key, Kept { result: result.clone(), until });
        }
    }

    pub(super) fn forget(&self) {
        self.kept().clear();
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a result may be kept; older revisions do not say.
fn lifetime(result: &Json, revision: Revision) -> Option<Duration> {
    if !revision.has(mrtr_schema::Feature::CachingHints) {
        return None;
    }
    let lifetime = RawMembers::of(result.as_raw()).ok()?.get("ttlMs")?;
    u64::read(lifetime, revision.lenient()).ok().filter(|lifetime| *lifetime > 0).map(Duration::from_millis)
}

/// More than any server has lists and resources that one client reads; beyond it, nothing is kept.
const MOST_RESULTS: usize = 1000;

/// What one client may hold of a server that has much to say.
const MOST_BYTES: usize = 64 << 20;
