//! The reasons why a token is refused. They go to the log: every caller gets the same answer.

use std::borrow::Cow;

/// The reason why a token is refused, in words that hold nothing of the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) Cow<'static, str>);

impl Refusal {
    pub(super) const fn because(reason: &'static str) -> Self {
        Self(Cow::Borrowed(reason))
    }
}

/// Shortens a test that ends in a refusal.
pub(super) fn ensure(holds: bool, reason: &'static str) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err(Refusal::because(reason)) }
}
