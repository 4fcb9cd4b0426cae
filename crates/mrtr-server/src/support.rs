//! What every layer may use, and what uses none of them.

pub(crate) mod changes;
pub(crate) mod contained;
pub(crate) mod fair;
pub(crate) mod lease_thread;
pub(crate) mod metrics;
pub(crate) mod notify;
pub(crate) mod permit;
pub(crate) mod shed;
