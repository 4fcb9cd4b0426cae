//! Objects put together from members that stay as their sender wrote them.

use std::borrow::Cow;

use indexmap::IndexMap;
use mrtr_schema::{JsonObject, MethodInfo, RawMembers};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// An object whose members are kept as text.
#[derive(Debug, Default)]
pub(crate) struct RawObject(IndexMap<String, Box<RawValue>>);

impl RawObject {
    /// The members of an object; none, if it is not one.
    pub(crate) fn of(value: &RawValue) -> Self {
        let members = RawMembers::of(value).unwrap_or_default();
        members.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    /// Puts a value under a key, in place of the one that was there.
    pub(crate) fn set<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) {
        let value = to_raw_value(value).expect("texts, and JSON that was read, can be written");
        self.0.insert(key.to_owned(), value);
    }

    /// Takes over the members whose keys are free.
    pub(crate) fn fill_in(&mut self, others: Self) {
        for (key, value) in others.0 {
            self.0.entry(key).or_insert(value);
        }
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Box<RawValue>> {
        self.0.shift_remove(key)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps the members for which `keep` returns true.
    pub(crate) fn retain(&mut self, keep: impl Fn(&str, &RawValue) -> bool) {
        self.0.retain(|key, value| keep(key, value));
    }

    /// The object as text.
    pub(crate) fn finish(self) -> Box<RawValue> {
        to_raw_value(&self.0).expect("keys are texts, and members are JSON")
    }
}

impl FromIterator<(String, Box<RawValue>)> for RawObject {
    fn from_iter<I: IntoIterator<Item = (String, Box<RawValue>)>>(members: I) -> Self {
        Self(members.into_iter().collect())
    }
}

/// An object whose members are all texts.
pub(crate) fn text_members<'a, T: AsRef<str> + ?Sized + 'a>(
    members: impl IntoIterator<Item = (&'a str, &'a T)>,
) -> JsonObject {
    let members = members.into_iter().map(|(key, value)| (key.to_owned(), value.as_ref().into()));
    members.collect::<serde_json::Map<_, _>>().into()
}

/// The tool or prompt by name, the resource by URI, or the task by id: what a request is about.
pub(crate) fn subject<'a>(method: &str, params: &RawMembers<'a>) -> Option<Cow<'a, str>> {
    params.text(MethodInfo::of(method).named_by?).ok()?
}
