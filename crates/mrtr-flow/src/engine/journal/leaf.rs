//! The JSON of an entry.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use mrtr_schema::{HeapSize, Json, allocated};
use serde::Serialize;
use serde_json::value::RawValue;

/// The JSON of an entry, which is read when it is wanted; or its name. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Leaf(Repr);

#[derive(Clone)]
enum Repr {
    /// A text so short that it needs no place of its own, as names and most outcomes are.
    Short(Short),
    Own(Arc<str>),
    /// A part of a piece that other entries are parts of too.
    Part {
        piece: Arc<[u8]>,
        start: u32,
        end: u32,
    },
}

impl HeapSize for Leaf {
    fn heap_bytes(&self) -> usize {
        match &self.0 {
            Repr::Short(_) => 0,
            Repr::Own(text) => counted_block(text.len()),
            // The piece is counted where it is kept, and may be kept for this part alone.
            Repr::Part { start, end, .. } => (end - start) as usize,
        }
    }
}

/// The bytes that a shared block takes: two counters stand in front of it.
pub(super) const fn counted_block(bytes: usize) -> usize {
    allocated(bytes + 2 * size_of::<usize>())
}

impl Leaf {
    /// Makes a leaf of a part of a piece. The part was seen to be text.
    pub(super) fn part(piece: &Arc<[u8]>, start: u32, end: u32) -> Self {
        Self(Repr::Part { piece: Arc::clone(piece), start, end })
    }

    /// Makes a leaf of any text: a name, or a message for the log.
    pub(super) fn of_text(text: &str) -> Self {
        match Short::of(text) {
            Some(short) => Self(Repr::Short(short)),
            None => Self(Repr::Own(text.into())),
        }
    }

    /// Writes a value as JSON.
    pub(crate) fn of<T: Serialize>(value: &T) -> Result<Self, serde_json::Error> {
        let mut writer = LeafWriter::default();
        serde_json::to_writer(&mut writer, value)?;
        Ok(if writer.long.is_empty() {
            Self(Repr::Short(writer.short))
        } else {
            Self(Repr::Own(String::from_utf8(writer.long).expect("JSON is text").into()))
        })
    }

    pub(crate) fn as_str(&self) -> &str {
        match &self.0 {
            Repr::Short(short) => short.as_str(),
            Repr::Own(text) => text,
            Repr::Part { .. } => {
                std::str::from_utf8(self.as_bytes()).expect("a leaf was looked at as text when it came in")
            }
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Short(short) => short.as_bytes(),
            Repr::Own(text) => text.as_bytes(),
            Repr::Part { piece, start, end } => &piece[*start as usize..*end as usize],
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Returns the raw value: it was read as JSON when it came in.
    pub(crate) fn raw(&self) -> Result<&RawValue, NotJson> {
        Json::known(self.as_str()).ok_or(NotJson)
    }
}

/// A text of a few bytes, which needs no place of its own: names and most outcomes of steps are as short.
///
/// To make two names and two outcomes, copy both outcomes and look at them takes 570 instructions with this type, 1,210
/// with an `Arc<str>`, and 920 with a `CompactString`, which would bring packages (callgrind). A final round takes
/// 43,700 in all.
#[derive(Clone, Copy, Default)]
struct Short {
    bytes: [u8; Self::LONGEST],
    length: u8,
}

impl Short {
    /// The longest text, in bytes: with its length and a mark it takes four words.
    const LONGEST: usize = 30;

    /// Makes a short text; `None` if it is longer.
    fn of(text: &str) -> Option<Self> {
        let mut short = Self::default();
        short.push(text.as_bytes()).then_some(short)
    }

    /// Adds a part, and returns true if there was room for it.
    fn push(&mut self, more: &[u8]) -> bool {
        let start = usize::from(self.length);
        let end = start + more.len();
        let Some(place) = self.bytes.get_mut(start..end) else { return false };
        place.copy_from_slice(more);
        self.length = u8::try_from(end).expect("it is within a few bytes");
        true
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).expect("parts of text were put in, and all of them")
    }
}

/// Takes JSON in, short or long.
#[derive(Default)]
struct LeafWriter {
    short: Short,
    /// The whole JSON, once it is too long for `short`.
    long: Vec<u8>,
}

impl Write for LeafWriter {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if self.long.is_empty() {
            if self.short.push(more) {
                return Ok(more.len());
            }
            self.long.extend_from_slice(self.short.as_bytes());
        }
        self.long.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Default for Leaf {
    fn default() -> Self {
        Self(Repr::Short(Short::default()))
    }
}

impl From<&RawValue> for Leaf {
    fn from(value: &RawValue) -> Self {
        Self::of_text(value.get())
    }
}

/// Shows no content: answers and outcomes belong in no log.
impl fmt::Debug for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Leaf({} bytes)", self.len())
    }
}

/// A store gave back a leaf that is not JSON.
#[derive(Debug, thiserror::Error)]
#[error("the recorded value is not JSON")]
pub(crate) struct NotJson;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_is_what_was_put_in_at_any_length() {
        for length in 0..3 * Short::LONGEST {
            let text = "é".repeat(length / 2) + &"x".repeat(length % 2);
            assert_eq!(Leaf::of_text(&text).as_str(), text);
            let written = serde_json::to_string(&text).expect("a text is JSON");
            let leaf = Leaf::of(&text).expect("a text is JSON");
            assert_eq!((leaf.as_str(), leaf.len()), (&*written, written.len()));
            assert_eq!(leaf.clone().raw().expect("it is JSON").get(), written);
            let piece = Arc::from(format!("[{text}]").into_bytes());
            let end = u32::try_from(text.len() + 1).expect("it is short");
            assert_eq!(Leaf::part(&piece, 1, end).as_str(), text);
        }
        assert_eq!(Leaf::default().as_str(), "");
    }
}
