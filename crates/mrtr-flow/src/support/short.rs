//! A text of a few bytes, which needs no place of its own.

/// A text of a few bytes: names and most outcomes of steps are as short.
#[derive(Clone, Copy, Default)]
pub(crate) struct Short {
    bytes: [u8; Self::LONGEST],
    length: u8,
}

impl Short {
    /// With its length and a mark, four words.
    pub(crate) const LONGEST: usize = 30;

    /// `None` if it is longer.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let mut short = Self::default();
        short.push(text.as_bytes()).then_some(short)
    }

    /// Adds a part, and says whether there was room for it.
    pub(crate) fn push(&mut self, more: &[u8]) -> bool {
        let start = usize::from(self.length);
        let end = start + more.len();
        let Some(place) = self.bytes.get_mut(start..end) else { return false };
        place.copy_from_slice(more);
        self.length = u8::try_from(end).expect("it is within a few bytes");
        true
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).expect("parts of text were put in, and all of them")
    }
}
