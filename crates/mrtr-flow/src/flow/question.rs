//! The kinds of question: what each asks, and how its answer is read.

mod form;
mod namespaced;
mod roots;
mod sampling;

use std::any::TypeId;
use std::hash::{BuildHasher, Hash, Hasher};

use mrtr_schema::{Dialect, InputRequest};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_64;

use super::Answered;
use crate::engine::journal::{Asked, Wording};

pub use form::{FormQuestion, FormType};
pub use namespaced::NamespacedQuestion;
pub use roots::RootsQuestion;
pub use sampling::SamplingQuestion;

/// A kind of question. Implemented here alone; named in the types of [`Ask`](super::Ask).
///
/// ```
/// # use mrtr_flow::{Failure, FlowError};
/// # use mrtr_flow::flow::{Ask, QuestionKind};
/// /// Works for every kind of question.
/// async fn or_none<Q: QuestionKind + Unpin>(question: Ask<'_, Q>) -> Result<Option<Q::Value>, FlowError> {
///     match question.await {
///         Ok(value) => Ok(Some(value)),
///         Err(FlowError::Declined { .. }) => Ok(None),
///         Err(error) => Err(error),
///     }
/// }
/// ```
pub trait QuestionKind: sealed::Sealed + 'static {
    /// What an accepted answer is.
    type Value: Send;

    /// What to ask, with a note on why the last answer would not do.
    #[doc(hidden)]
    fn request(&self, note: Option<&str>) -> Result<InputRequest, String>;

    /// Reads an answer, or says why it is none.
    #[doc(hidden)]
    fn read(&self, response: &RawValue, dialect: Dialect) -> Result<Answered<Self::Value>, String>;

    /// Whether its answer makes no sense without the state it was asked with.
    #[doc(hidden)]
    const NEEDS_STATE: bool = false;

    /// A digest of what is asked, which is the same in every build and on every machine.
    #[doc(hidden)]
    fn wording(&self) -> u64;
}

/// Numbers that two different questions hardly ever share.
pub(super) struct Fingerprint {
    /// Tells it apart from another question of the same name in this run, whose answer may be of another type.
    pub(super) identity: u64,
    /// What is kept with its answer, for later runs.
    pub(super) wording: Wording,
}

impl Fingerprint {
    pub(super) fn of<Q: QuestionKind>(question: &Q) -> Self {
        let wording = question.wording();
        let mut hasher = foldhash::fast::FixedState::default().build_hasher();
        TypeId::of::<Q>().hash(&mut hasher);
        hasher.write_u64(wording);
        let short = u32::try_from(wording >> 40).expect("24 bits of it");
        Self { identity: hasher.finish(), wording: Wording(short) }
    }

    /// What is kept with the answer.
    pub(super) fn asked(&self) -> Asked {
        Asked { wording: self.wording, pinned: None }
    }
}

pub(super) mod sealed {
    pub trait Sealed {}
}

/// A digest of what something says, in whatever order it says it: a map of the application's may have another in each
/// run, and is the same for all that.
fn digest_of(value: &impl Serialize) -> u64 {
    let mut text = Vec::new();
    if let Ok(value) = serde_json::to_value(value) {
        write_in_order(&value, &mut text);
    }
    xxh3_64(&text)
}

fn write_in_order(value: &Value, text: &mut Vec<u8>) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            text.push(b'{');
            for (name, value) in members {
                write_in_order(&Value::from(name.as_str()), text);
                write_in_order(value, text);
            }
            text.push(b'}');
        }
        Value::Array(elements) => {
            text.push(b'[');
            for element in elements {
                write_in_order(element, text);
                text.push(b',');
            }
            text.push(b']');
        }
        leaf => text.extend_from_slice(leaf.to_string().as_bytes()),
    }
}

/// A message with the reason why the question is put again.
pub(super) fn with_note(message: &str, note: Option<&str>) -> String {
    match note {
        Some(note) => format!("{message}\n\n{note}"),
        None => message.to_owned(),
    }
}
