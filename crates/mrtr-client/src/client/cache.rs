//! Results that the server said may be kept, for as long as it said.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mrtr_schema::{CacheScope, Json, RawMembers, Revision, Wire};
use tokio::time::Instant;

use crate::{CredentialsMark, Limits};

/// Results by revision, method and parameters.
#[derive(Debug)]
pub(super) struct Cache {
    kept: Mutex<HashMap<String, Kept>>,
    most_bytes: usize,
}

/// A result that was kept, and for whom.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) result: Json,
    pub(super) audience: Audience,
    until: Instant,
}

/// Whom a result may be shown to again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    Anybody,
    /// Those who show these credentials, or none if they are none.
    Bearer(Option<CredentialsMark>),
}

impl Cache {
    pub(super) fn new(most_bytes: usize) -> Self {
        Self { kept: Mutex::default(), most_bytes }
    }

    pub(super) fn get(&self, key: &str) -> Option<Kept> {
        let now = Instant::now();
        self.kept().get(key).filter(|found| now < found.until).cloned()
    }

    /// Keeps a result if its hints say so, and if there is room. What was kept for other credentials makes room.
    pub(super) fn keep(&self, key: String, result: &Json, revision: Revision, bearer: Option<CredentialsMark>) {
        let now = Instant::now();
        let Some((lifetime, scope)) = hints(result, revision) else { return };
        let Some(until) = now.checked_add(lifetime) else { return };
        let audience = if scope == CacheScope::Public { Audience::Anybody } else { Audience::Bearer(bearer) };
        let mut kept = self.kept();
        kept.remove(&key);
        kept.retain(|_, kept| now < kept.until && kept.is_for(bearer));
        let bytes: usize = kept.iter().map(|(key, kept)| entry_bytes(key, &kept.result)).sum();
        if kept.len() < Limits::CACHED_RESULTS && bytes + entry_bytes(&key, result) <= self.most_bytes {
            kept.insert(key, Kept { result: result.clone(), audience, until });
        }
    }

    pub(super) fn remove(&self, key: &str) {
        self.kept().remove(key);
    }

    pub(super) fn forget(&self) {
        self.kept().clear();
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Whether those who show these credentials may see it.
    pub(super) fn is_for(&self, bearer: Option<CredentialsMark>) -> bool {
        matches!(self.audience, Audience::Anybody) || self.audience == Audience::Bearer(bearer)
    }
}

fn entry_bytes(key: &str, result: &Json) -> usize {
    size_of::<(String, Kept)>() + key.len() + result.as_str().len()
}

/// How long a result may be kept, and for whom; older revisions do not say.
fn hints(result: &Json, revision: Revision) -> Option<(Duration, CacheScope)> {
    if !revision.has(mrtr_schema::Feature::CachingHints) {
        return None;
    }
    let members = RawMembers::of(result.as_raw()).ok()?;
    let lifetime = u64::read(members.get("ttlMs")?, revision.lenient()).ok().filter(|lifetime| *lifetime > 0)?;
    // What does not say that it is for anybody is not.
    let scope = members.get("cacheScope").and_then(|scope| CacheScope::read(scope, revision.lenient()).ok());
    Some((Duration::from_millis(lifetime), scope.unwrap_or(CacheScope::Private)))
}
