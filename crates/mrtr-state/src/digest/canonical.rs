//! One form for each JSON value, written in one pass over its text; what comes unsorted is put in order where it stands
//! if it is short, and otherwise copied out in order once, at the end.
//!
//! | value | canonical bytes |
//! |---|---|
//! | `null`, `true`, `false` | `n`, `t`, `f` |
//! | number | `d`, sign, digits without outer zeros, `e`, exponent, `;` (`-12.50` is `d-125e-1;`, zero is `d0e0;`) |
//! | number whose exponent does not fit 64 bits | `x`, its text, `;` |
//! | string | `s`, length in bytes as 4 bytes, UTF-8 |
//! | array | `[`, its elements, `]` |
//! | object | `{`, key and value of each member in the order of the keys' bytes, `}` |

mod number;
mod order;
mod text;

use serde_json::value::RawValue;

use super::DigestError;
use order::{Key, Object, Order};
use text::Text;

/// Gives the canonical bytes of an object with these members to a digest.
pub(super) fn digest<'a, D>(
    members: impl Iterator<Item = (&'a str, &'a RawValue)>,
    digest: impl FnOnce(&[u8]) -> D,
) -> Result<D, DigestError> {
    let mut writer = Writer { out: Vec::with_capacity(USUAL), order: Order::new() };
    let mut object = writer.begin_object();
    for (key, value) in members {
        writer.member(&mut object, key.as_bytes(), &mut Text::of(value), 1)?;
    }
    writer.end_object(&object)?;
    Ok(digest(&writer.order.in_order(&writer.out)))
}

/// As deep as the wire types take free-form JSON.
const DEEPEST: usize = 127;

/// Room for the parameters of most calls.
const USUAL: usize = 512;

struct Writer {
    /// The canonical bytes, but with the members of each long object in the order in which they came.
    out: Vec<u8>,
    order: Order,
}

impl Writer {
    fn value(&mut self, text: &mut Text<'_>, depth: usize) -> Result<(), DigestError> {
        match text.peek() {
            b'"' => self.string(&text.string()?),
            b'{' | b'[' if depth > DEEPEST => return Err(DigestError::TooDeep),
            b'{' => self.object(text, depth)?,
            b'[' => self.array(text, depth)?,
            b'-' | b'0'..=b'9' => number::write(&mut self.out, text.word()),
            // The text is known to be JSON: what is left is told by its first letter.
            letter => {
                text.word();
                self.out.push(letter);
            }
        }
        Ok(())
    }

    fn array(&mut self, text: &mut Text<'_>, depth: usize) -> Result<(), DigestError> {
        self.out.push(b'[');
        text.skip();
        while text.peek() != b']' {
            self.value(text, depth + 1)?;
            text.comma();
        }
        text.skip();
        self.out.push(b']');
        Ok(())
    }

    fn object(&mut self, text: &mut Text<'_>, depth: usize) -> Result<(), DigestError> {
        let mut object = self.begin_object();
        text.skip();
        while text.peek() == b'"' {
            let key = text.string()?;
            text.colon();
            self.member(&mut object, &key, text, depth + 1)?;
            text.comma();
        }
        text.skip();
        self.end_object(&object)
    }

    fn begin_object(&mut self) -> Object {
        let object = self.order.begin(self.out.len());
        self.out.push(b'{');
        object
    }

    fn member(
        &mut self,
        object: &mut Object,
        key: &[u8],
        text: &mut Text<'_>,
        depth: usize,
    ) -> Result<(), DigestError> {
        let start = self.out.len();
        self.string(key);
        let key = Key::new(key, self.out.len());
        self.value(text, depth)?;
        self.order.member(object, start, key, &self.out);
        Ok(())
    }

    fn end_object(&mut self, object: &Object) -> Result<(), DigestError> {
        self.order.end(object, &mut self.out)?;
        self.out.push(b'}');
        Ok(())
    }

    fn string(&mut self, text: &[u8]) {
        let length = u32::try_from(text.len()).expect("no message is 4 GiB long");
        let [a, b, c, d] = length.to_be_bytes();
        self.out.extend_from_slice(&[b's', a, b, c, d]);
        self.out.extend_from_slice(text);
    }
}
