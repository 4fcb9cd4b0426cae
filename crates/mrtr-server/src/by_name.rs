//! Maps by names that the author of a server chose.

use indexmap::IndexMap;

/// A map by names that the author chose, in their order. No stranger adds to it, so that a hash which is quick will do.
pub(crate) type ByName<V> = IndexMap<String, V, foldhash::fast::RandomState>;
