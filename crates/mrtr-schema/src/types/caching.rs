//! Caching hints: for how long, and for whom, a result may be kept.

use mrtr_macros::Wire;

use crate::revision::Feature;

/// For how long, and for whom, a result may be kept. Never on interim results (HT-6).
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
    /// For how many milliseconds it may be kept.
    #[wire(when = Feature::CachingHints, required = Feature::CachingHints, lenient)]
    pub ttl_ms: Option<u64>,
    /// For whom it may be kept.
    #[wire(when = Feature::CachingHints, required = Feature::CachingHints, lenient)]
    pub cache_scope: Option<CacheScope>,
}

impl CachingHints {
    /// It may be kept for so many milliseconds.
    pub fn keep(milliseconds: u64, scope: CacheScope) -> Self {
        Self { ttl_ms: Some(milliseconds), cache_scope: Some(scope) }
    }

    /// It may not be kept.
    pub fn do_not_keep() -> Self {
        Self::keep(0, CacheScope::Private)
    }
}

/// For whom a result may be kept.
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
    /// For every user.
    Public,
    /// For the one who asked.
    #[default]
    Private,
}
