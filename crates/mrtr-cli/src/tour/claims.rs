//! What a story claims, and whether it holds.

use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

/// One thing that a story says it has shown.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Claim {
    #[serde(rename = "claim")]
    pub(crate) what: String,
    pub(crate) holds: bool,
    /// What was expected and what was seen instead, where it does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}

/// What a story has claimed by now.
#[derive(Debug, Default)]
pub(crate) struct Claims(Mutex<Vec<Claim>>);

impl Claims {
    /// Holds what was seen against what the story says. The story goes on either way: the tour counts at its end.
    pub(crate) fn check<S: PartialEq<E> + Debug, E: Debug>(&self, what: &str, seen: &S, expected: &E) {
        let holds = seen == expected;
        let problem = (!holds).then(|| format!("expected {expected:?}, saw {seen:?}"));
        let claim = Claim { what: what.to_owned(), holds, problem };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(claim);
    }

    pub(crate) fn all(&self) -> Vec<Claim> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
