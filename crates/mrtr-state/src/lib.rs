//! Sealed request states: encrypted, bound to their call, with keys that rotate.
//!
#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod at_rest;
mod binding;
pub mod codec;
mod digest;
mod error;
mod flow;
mod inspect;
mod keys;
mod payload;
mod random;
mod sealer;
#[cfg(feature = "single-use")]
pub mod single_use;
mod timestamp;
mod token;
mod token_use;

pub use binding::{Binding, Party, Principal};
pub use digest::{AnswersDigest, ParamsDigest, ParamsKey};
pub use error::{DigestError, KeyError, PayloadError, Refusal, SealError};
pub use flow::{ALLOWED_SKEW, FlowProgress, Lifetimes, SealOptions};
pub use inspect::{StateClaims, StateHeader};
pub use keys::{Key, KeyId, KeyRing, KeySource};
pub use payload::{JsonPayload, Payload};
pub use random::{FlowId, ProcessRandom, Random, TokenId};
pub use sealer::{DEFAULT_LIMIT, Opened, Sealer};
#[cfg(feature = "single-use")]
pub use single_use::{MemorySingleUse, SingleUse};
pub use timestamp::Timestamp;
pub use token_use::{TokenUse, UseKey};
