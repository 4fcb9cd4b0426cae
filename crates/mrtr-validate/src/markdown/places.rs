//! On which line of its text each member of a JSON value stands.

use std::collections::BTreeMap;

use mrtr_schema::error::JsonPath;
use serde_json::value::RawValue;

/// The places of all members and elements of a value, by their paths.
pub(crate) struct Places<'a> {
    text: &'a str,
    places: BTreeMap<String, Place>,
}

struct Place {
    /// The line of its key, or of itself where it has none; the first line is 0.
    line: usize,
    /// Where it ends in the text.
    end: usize,
}

impl<'a> Places<'a> {
    pub(crate) fn of(text: &'a str) -> serde_json::Result<Self> {
        let mut places = Self { text, places: BTreeMap::new() };
        places.enter(serde_json::from_str(text)?, "");
        Ok(places)
    }

    /// The line of a path, or of the nearest thing around it that is there.
    pub(crate) fn line(&self, path: &str) -> usize {
        let around = |candidate: &str| {
            path.strip_prefix(candidate).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let nearest = self.places.iter().filter(|(candidate, _)| around(candidate)).max_by_key(|(path, _)| path.len());
        nearest.map_or(0, |(_, place)| place.line)
    }

    /// The path of the value that stands before an offset, such as that of a comma.
    pub(crate) fn path_before(&self, offset: usize) -> Option<&str> {
        let before = self.places.iter().filter(|(_, place)| place.end <= offset);
        let nearest = before.max_by_key(|(path, place)| (place.end, std::cmp::Reverse(path.len())));
        nearest.map(|(path, _)| path.as_str())
    }

    fn enter(&mut self, value: &RawValue, pointer: &str) {
        let start = value.get().as_ptr().addr() - self.text.as_ptr().addr();
        let place = Place { line: self.key_line(start), end: start + value.get().len() };
        self.places.insert(JsonPath::from_pointer(pointer).to_string(), place);
        if let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(value.get()) {
            for (key, member) in members {
                self.enter(member, &format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")));
            }
        } else if let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(value.get()) {
            for (index, element) in elements.into_iter().enumerate() {
                self.enter(element, &format!("{pointer}/{index}"));
            }
        }
    }

    /// A value may stand on another line than its key, and a reader looks for the key.
    fn key_line(&self, start: usize) -> usize {
        let before = &self.text[..start];
        let up_to_key = before.trim_end().strip_suffix(':').map_or(before, str::trim_end);
        up_to_key.matches('\n').count()
    }
}
