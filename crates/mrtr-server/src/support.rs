//! Helpers that every layer may use, and that use none of them.

#[cfg(feature = "testing")]
pub(crate) mod causes;
pub(crate) mod changes;
pub(crate) mod contained;
pub(crate) mod fair;
pub(crate) mod lease_thread;
pub(crate) mod metrics;
pub(crate) mod notify;
pub(crate) mod permit;
pub(crate) mod shed;
