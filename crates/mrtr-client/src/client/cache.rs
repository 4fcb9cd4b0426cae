//! Results that the server said may be kept, for as long as it said.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mrtr_schema::{CacheScope, Json, RawMembers, Revision, Wire};
use tokio::time::Instant;

use crate::{CredentialsFingerprint, Limits};

/// Results by revision, method and parameters.
#[derive(Debug)]
pub(super) struct Cache {
    entries: Mutex<HashMap<String, CacheEntry>>,
    max_bytes: usize,
}

/// A result that was kept, and for whom.
#[derive(Debug, Clone)]
pub(super) struct CacheEntry {
    pub(super) result: Json,
    pub(super) audience: Audience,
    until: Instant,
}

/// The requests to which a result may be shown again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    Public,
    /// Requests with these credentials, or, for `None`, requests without any.
    Bearer(Option<CredentialsFingerprint>),
}

impl Cache {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { entries: Mutex::default(), max_bytes }
    }

    pub(super) fn get(&self, key: &str) -> Option<CacheEntry> {
        let now = Instant::now();
        self.entries().get(key).filter(|found| now < found.until).cloned()
    }

    /// Keeps a result if its hints say so, and if there is room. Results for other credentials make room.
    pub(super) fn insert(
        &self,
        key: String,
        result: &Json,
        revision: Revision,
        bearer: Option<CredentialsFingerprint>,
    ) {
        let now = Instant::now();
        let Some((lifetime, scope)) = hints(result, revision) else { return };
        let Some(until) = now.checked_add(lifetime) else { return };
        let audience = if scope == CacheScope::Public { Audience::Public } else { Audience::Bearer(bearer) };
        let mut entries = self.entries();
        entries.remove(&key);
        entries.retain(|_, entry| now < entry.until && entry.is_for(bearer));
        let bytes: usize = entries.iter().map(|(key, entry)| entry_bytes(key, &entry.result)).sum();
        if entries.len() < Limits::CACHED_RESULTS && bytes + entry_bytes(&key, result) <= self.max_bytes {
            entries.insert(key, CacheEntry { result: result.clone(), audience, until });
        }
    }

    pub(super) fn remove(&self, key: &str) {
        self.entries().remove(key);
    }

    pub(super) fn clear(&self) {
        self.entries().clear();
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<String, CacheEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheEntry {
    /// True if a request that shows these credentials may see it.
    pub(super) fn is_for(&self, bearer: Option<CredentialsFingerprint>) -> bool {
        matches!(self.audience, Audience::Public) || self.audience == Audience::Bearer(bearer)
    }
}

fn entry_bytes(key: &str, result: &Json) -> usize {
    size_of::<(String, CacheEntry)>() + key.len() + result.as_str().len()
}

/// The time for which a result may be kept, and its audience; older revisions do not say.
fn hints(result: &Json, revision: Revision) -> Option<(Duration, CacheScope)> {
    if !revision.has(mrtr_schema::Feature::CachingHints) {
        return None;
    }
    let members = RawMembers::of(result.as_raw()).ok()?;
    let lifetime = u64::read(members.get("ttlMs")?, revision.lenient()).ok().filter(|lifetime| *lifetime > 0)?;
    // A result that does not say that it is public is private.
    let scope = members.get("cacheScope").and_then(|scope| CacheScope::read(scope, revision.lenient()).ok());
    Some((Duration::from_millis(lifetime), scope.unwrap_or(CacheScope::Private)))
}
