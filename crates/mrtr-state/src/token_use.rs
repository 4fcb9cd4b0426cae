//! The key by which a store for single use knows a token, and the time until which it must remember it.

use std::fmt;

use crate::digest::AnswersDigest;
use crate::{ALLOWED_SKEW, Timestamp};

/// A token about to be used, and the answers that came with it. A store for single use takes one, whether it is a store
/// of the feature `single-use` or one of your own. Only [`Opened::token_use`](crate::Opened::token_use) makes one.
///
/// ```
/// use mrtr_state::{ALLOWED_SKEW, AnswersDigest};
///
#[doc = include_str!("../doc/sealing.txt")]
/// let opened = sealer.open::<Cart>(&sealer.seal(&cart, &binding, noon)?, &binding, noon)?;
/// let token_use = opened.token_use(AnswersDigest::of(None)?);
/// assert_eq!(token_use.keep_until(), opened.expires() + 2 * ALLOWED_SKEW);
/// assert!(!token_use.may_be_forgotten(opened.expires()));
/// assert!(token_use.may_be_forgotten(opened.expires() + ALLOWED_SKEW));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenUse {
    pub(crate) key: UseKey,
    pub(crate) answers: AnswersDigest,
    pub(crate) issued: Timestamp,
    pub(crate) keep_until: Timestamp,
}

impl TokenUse {
    /// The key by which a store knows the token.
    pub fn key(&self) -> UseKey {
        self.key
    }

    /// The answers that came with it.
    pub fn answers(&self) -> AnswersDigest {
        self.answers
    }

    /// The time at which the token was issued.
    pub fn issued(&self) -> Timestamp {
        self.issued
    }

    /// The time until which a store must keep its entry: past the token's expiry, by twice the allowed skew.
    pub fn keep_until(&self) -> Timestamp {
        self.keep_until
    }

    /// Returns true if another instance, whose clock may be ahead, may have purged its entry by now. For stores.
    ///
    /// From then on an unknown token may be a forgotten one, and a store refuses it.
    pub fn may_be_forgotten(&self, now: Timestamp) -> bool {
        now + ALLOWED_SKEW >= self.keep_until
    }
}

/// The key by which a store knows a token: a digest of audience, principal and token id.
///
/// ```
/// use mrtr_schema::RawMembers;
/// use mrtr_state::AnswersDigest;
///
#[doc = include_str!("../doc/sealing.txt")]
/// let opened = sealer.open::<Cart>(&sealer.seal(&cart, &binding, noon)?, &binding, noon)?;
/// let token_use = opened.token_use(AnswersDigest::of(None)?);
/// let answers = RawMembers::parse(r#"{"how": {"action": "accept"}}"#)?;
/// let other_answers = opened.token_use(AnswersDigest::of(Some(&answers))?);
/// assert_eq!(token_use.key(), other_answers.key(), "the token is the same");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UseKey(pub(crate) [u8; 32]);

impl UseKey {
    /// The bytes, as a store keeps them.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for UseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UseKey(")?;
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("…)")
    }
}
