//! What every layer may use, and what uses none of them.

pub(crate) mod by_name;
pub(crate) mod caller;
#[cfg(feature = "testing")]
pub(crate) mod causes;
pub(crate) mod changes;
pub(crate) mod clock;
pub(crate) mod cooperative;
pub(crate) mod echo;
pub(crate) mod fair;
pub(crate) mod hex;
pub(crate) mod lease_thread;
pub(crate) mod metrics;
pub(crate) mod notify;
pub(crate) mod panics;
pub(crate) mod permit;
pub(crate) mod secrets;
pub(crate) mod shed;
pub(crate) mod short;
