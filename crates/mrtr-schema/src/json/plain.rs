//! Takes plainly spelt JSON apart by hand: nearly every message is plain, and the parser reads the others.

use serde_json::value::RawValue;

use super::cursor::{Cursor, known};

/// Goes through text that may be JSON. It returns `None` for all that is not plain, or not JSON: then the parser reads
/// the text, and its judgement counts.
pub(crate) struct PlainScanner<'a>(Cursor<&'a str>);

impl<'a> PlainScanner<'a> {
    /// Scans text without escapes, line breaks and tabs: a string then ends at the next quote, and all space is spaces.
    pub(crate) fn new(text: &'a str) -> Option<Self> {
        #[expect(clippy::needless_bitwise_bool, reason = "without branches, many bytes are looked at together")]
        let is_odd = text.bytes().fold(false, |is_odd, byte| is_odd | (byte < b' ') | (byte == b'\\'));
        (!is_odd).then_some(Self(Cursor::new(text, 0)))
    }

    /// Goes past an object. `value` goes past the value of each key.
    pub(crate) fn members(&mut self, mut value: impl FnMut(&'a str, &mut Self) -> Option<()>) -> Option<()> {
        self.expect(b'{')?;
        if self.peek()? == b'}' {
            self.0.advance();
            return Some(());
        }
        loop {
            let key = self.key()?;
            value(key, self)?;
            match self.next()? {
                b',' => {}
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Goes past a string, and returns its text.
    pub(crate) fn string(&mut self) -> Option<&'a str> {
        self.peek()?;
        let start = self.0.place();
        self.skip_string()?;
        self.0.inside(start)
    }

    /// Goes past any value, and returns it.
    pub(crate) fn value(&mut self) -> Option<&'a RawValue> {
        self.spanned(Self::skip_value)
    }

    /// Returns the value that `skip` goes past.
    pub(crate) fn spanned(&mut self, skip: impl FnOnce(&mut Self) -> Option<()>) -> Option<&'a RawValue> {
        self.peek()?;
        let start = self.0.place();
        skip(self)?;
        known(self.0.since(start)?)
    }

    /// Goes past space, and says whether nothing else is left.
    pub(crate) fn skip_to_end(&mut self) -> bool {
        self.peek().is_none()
    }

    fn skip_value(&mut self) -> Option<()> {
        // A bit for each container that is open, the innermost last: set for an object.
        let (mut objects, mut depth) = (0_u64, 0_u32);
        loop {
            match self.peek()? {
                b'"' => self.skip_string()?,
                opening @ (b'{' | b'[') => {
                    let is_object = opening == b'{';
                    self.0.advance();
                    if depth == DEEPEST {
                        return None;
                    }
                    (objects, depth) = (objects << 1 | u64::from(is_object), depth + 1);
                    match self.peek()? {
                        // An empty container ends below, where the code checks that this is its own end.
                        b'}' | b']' => {}
                        _ if is_object => {
                            self.skip_key()?;
                            continue;
                        }
                        _ => continue,
                    }
                }
                b'-' | b'0'..=b'9' => self.skip_number()?,
                b't' => self.skip_word("true")?,
                b'f' => self.skip_word("false")?,
                b'n' => self.skip_word("null")?,
                _ => return None,
            }
            // Goes past the end of each container of which this value was the last.
            loop {
                if depth == 0 {
                    return Some(());
                }
                let is_object = objects & 1 == 1;
                match self.next()? {
                    b'}' if is_object => {}
                    b']' if !is_object => {}
                    b',' => {
                        if is_object {
                            self.skip_key()?;
                        }
                        break;
                    }
                    _ => return None,
                }
                (objects, depth) = (objects >> 1, depth - 1);
            }
        }
    }

    /// Goes past a key and the colon after it, and returns the key.
    fn key(&mut self) -> Option<&'a str> {
        let key = self.string()?;
        self.expect(b':')?;
        Some(key)
    }

    fn skip_key(&mut self) -> Option<()> {
        self.skip_string()?;
        self.expect(b':')
    }

    fn skip_string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        self.0.skip_past(b'"')
    }

    fn skip_number(&mut self) -> Option<()> {
        let _ = self.0.skip_any_of(b"-");
        if !self.0.skip_any_of(b"0") {
            self.skip_digits()?;
        }
        if self.0.skip_any_of(b".") {
            self.skip_digits()?;
        }
        if self.0.skip_any_of(b"eE") {
            let _ = self.0.skip_any_of(b"+-");
            self.skip_digits()?;
        }
        Some(())
    }

    /// Goes past one digit or more.
    fn skip_digits(&mut self) -> Option<()> {
        (self.0.skip_while(|byte| byte.is_ascii_digit()) > 0).then_some(())
    }

    fn skip_word(&mut self, word: &str) -> Option<()> {
        self.0.skip_exactly(word.as_bytes()).then_some(())
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.0.advance();
        Some(byte)
    }

    fn peek(&mut self) -> Option<u8> {
        self.0.peek_plain()
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }
}

/// The most containers within each other: as many as there are bits.
const DEEPEST: u32 = 64;
