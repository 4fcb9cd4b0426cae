//! Caching hints: the time for which a result may be kept, and the users for whom.

use mrtr_macros::Wire;

use crate::revision::Feature;

/// The time for which a result may be kept, and the users for whom. Interim results never have hints (HT-6).
///
/// ```
/// use mrtr_schema::{CacheScope, CachingHints};
///
/// let for_a_minute = CachingHints::keep(60_000, CacheScope::Public);
/// assert_eq!(for_a_minute.ttl_ms, Some(60_000));
/// assert_eq!(CachingHints::do_not_keep().ttl_ms, Some(0));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(part)]
#[non_exhaustive]
pub struct CachingHints {
    /// The milliseconds for which the result may be kept.
    #[wire(when = Feature::CachingHints, required = Feature::CachingHints, lenient)]
    pub ttl_ms: Option<u64>,
    /// The users for whom the result may be kept.
    #[wire(when = Feature::CachingHints, required = Feature::CachingHints, lenient)]
    pub cache_scope: Option<CacheScope>,
}

impl CachingHints {
    /// Lets clients keep the result for this many milliseconds.
    pub fn keep(milliseconds: u64, scope: CacheScope) -> Self {
        Self { ttl_ms: Some(milliseconds), cache_scope: Some(scope) }
    }

    /// Lets no client keep the result.
    pub fn do_not_keep() -> Self {
        Self::keep(0, CacheScope::Private)
    }

    /// Lets only the user who asked keep the result, for as long as before.
    pub fn keep_private(&mut self) {
        if let Some(scope) = &mut self.cache_scope {
            *scope = CacheScope::Private;
        }
    }
}

/// The users for whom a result may be kept.
///
/// ```
/// use mrtr_schema::{CacheScope, CachingHints, ServerCapabilities};
/// use mrtr_schema::discovery::DiscoverResult;
///
/// let mut offer = DiscoverResult::new(["2026-07-28".to_owned()], ServerCapabilities::new());
/// offer.caching = CachingHints::keep(60_000, CacheScope::Public);
/// assert!(serde_json::to_string(&offer)?.contains(r#""ttlMs":60000,"cacheScope":"public""#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Wire)]
#[expect(clippy::exhaustive_enums, reason = "as in HTTP, there is no third")]
pub enum CacheScope {
    /// Every user.
    Public,
    /// The user who asked.
    #[default]
    Private,
}
