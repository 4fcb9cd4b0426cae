//! Sealed request state: the crate's front page, its modules, and the names it exports.
//!
#![doc = include_str!("../README.md")]

mod at_rest;
mod binding;
mod claims;
pub mod codec;
mod digest;
mod error;
mod flow;
mod ids;
mod inspect;
mod keys;
mod lifetimes;
mod payload;
mod prepared;
mod random;
mod seal_options;
mod sealer;
#[cfg(feature = "single-use")]
pub mod single_use;
mod timestamp;
mod token;
mod token_use;

pub use binding::{Binding, Principal};
pub use digest::{AnswersDigest, ParamsDigest, ParamsKey};
pub use error::{DigestError, KeyError, PayloadError, Refusal, SealError};
pub use flow::FlowProgress;
pub use ids::{FlowId, TokenId};
pub use inspect::{StateClaims, StateHeader};
pub use keys::{Key, KeyId, KeyRing, KeySource};
pub use lifetimes::{ALLOWED_SKEW, Lifetimes};
pub use payload::{JsonPayload, Payload};
pub use random::{ProcessRandom, Random};
pub use seal_options::SealOptions;
pub use sealer::{DEFAULT_LIMIT, Opened, Sealer};
#[cfg(feature = "single-use")]
pub use single_use::{MemorySingleUse, SingleUse};
pub use timestamp::Timestamp;
pub use token_use::{TokenUse, UseKey};
