//! Where members stand in their text: what is left of them once the borrow of it ends.

use std::borrow::Cow;
use std::ops::Range;

use super::scan;
use super::split::RawMembers;

/// Where the members of an object stand in a text.
#[derive(Debug, Clone)]
pub(crate) struct MemberSpans(Vec<(Key, Range<usize>)>);

#[derive(Debug, Clone)]
enum Key {
    At(Range<usize>),
    /// With its escapes undone, so that it stands nowhere.
    Text(Box<str>),
}

impl MemberSpans {
    /// Where these stand in the text that they borrow from; `None` if they borrow from another.
    pub(crate) fn of(members: &RawMembers<'_>, text: &str) -> Option<Self> {
        let spans = members.keys_and_values().map(|(key, value)| {
            let key = match key {
                Cow::Borrowed(key) => Key::At(span(key, text)?),
                Cow::Owned(key) => Key::Text(key.as_str().into()),
            };
            Some((key, span(value.get(), text)?))
        });
        spans.collect::<Option<_>>().map(Self)
    }

    /// The members again, borrowed from that text. It is sliced, and not looked at: that was done once.
    pub(crate) fn members<'t>(&'t self, text: &'t str) -> Option<RawMembers<'t>> {
        RawMembers::known(self.0.iter().map(|(key, value)| {
            let key = match key {
                Key::At(place) => text.get(place.clone())?,
                Key::Text(key) => key,
            };
            Some((key, scan::known(text.get(value.clone())?)?))
        }))
    }
}

/// Where a part stands in the text that it borrows from.
fn span(part: &str, text: &str) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let end = start.checked_add(part.len())?;
    (end <= text.len()).then_some(start..end)
}
