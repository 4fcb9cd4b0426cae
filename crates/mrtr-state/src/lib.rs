//! Sealed request state: the crate's front page, its modules, and the names it exports.
//!
#![doc = include_str!("../README.md")]

mod binding;
mod claims;
pub mod codec;
mod digest;
mod flow;
mod keys;
mod lifetimes;
mod payload;
mod prepared;
mod random;
mod refusal;
mod sealer;
pub mod single_use;
mod timestamp;
mod token;

pub use binding::{Binding, Principal};
pub use digest::{AnswersDigest, DigestError, ParamsDigest};
pub use flow::{FlowId, FlowProgress, SealOptions, TokenId};
pub use keys::{Key, KeyError, KeyId, KeyRing, KeySource};
pub use lifetimes::{ALLOWED_SKEW, Lifetimes};
pub use payload::{JsonPayload, Payload, PayloadError};
pub use random::{ProcessRandom, Random};
pub use refusal::{Refusal, SealError};
pub use sealer::{DEFAULT_LIMIT, Opened, Sealer};
#[cfg(feature = "sqlite")]
pub use single_use::SqliteSingleUse;
pub use single_use::{MemorySingleUse, SingleUse};
pub use timestamp::Timestamp;
