//! Parameters that own the message they stand in, so that they can be moved.

use crate::json::MemberSpans;
use crate::messages::envelope::RawParams;

/// The parameters of a message, with the message: taken apart once, they can be moved into a task or a stream without
/// being taken apart again there.
///
/// ```
/// use std::sync::Arc;
/// use mrtr_schema::{Envelope, OwnedParams};
///
/// let bytes: Arc<[u8]> = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_time"}}"#[..].into();
/// let Envelope::Request { params, .. } = Envelope::parse(&bytes)? else { panic!("a request") };
/// let owned = OwnedParams::new(Arc::clone(&bytes), &params).unwrap();
/// let moved = std::thread::spawn(move || owned.params().unwrap().text("name").unwrap().unwrap().into_owned());
/// assert_eq!(moved.join().unwrap(), "get_time");
/// # Ok::<(), mrtr_schema::EnvelopeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct OwnedParams<T> {
    message: T,
    spans: MemberSpans,
}

impl<T: AsRef<[u8]>> OwnedParams<T> {
    /// Takes over parameters that borrow from these bytes; `None` if they borrow from others. The bytes that clones of
    /// `T` share must stay in place, as they do in `Bytes` and in an `Arc`.
    pub fn new(message: T, params: &RawParams<'_>) -> Option<Self> {
        let text = std::str::from_utf8(message.as_ref()).ok()?;
        let spans = MemberSpans::of(params.members(), text)?;
        Some(Self { message, spans })
    }

    /// Returns the parameters in a copy of their message; `None` if it is not a copy of it. A copy may be smaller than
    /// the buffer that the message is a part of.
    ///
    /// ```
    /// # use mrtr_schema::{Envelope, OwnedParams};
    /// let bytes = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_time"}}"#.to_vec();
    /// let Envelope::Request { params, .. } = Envelope::parse(&bytes)? else { panic!("a request") };
    /// let owned = OwnedParams::new(&bytes[..], &params).unwrap().in_copy(bytes.clone()).unwrap();
    /// assert_eq!(owned.params().unwrap().text("name").unwrap().as_deref(), Some("get_time"));
    /// # Ok::<(), mrtr_schema::EnvelopeError>(())
    /// ```
    pub fn in_copy<C: AsRef<[u8]>>(self, copy: C) -> Option<OwnedParams<C>> {
        let is_copy = copy.as_ref() == self.message.as_ref();
        is_copy.then_some(OwnedParams { message: copy, spans: self.spans })
    }

    /// The whole message.
    pub fn message(&self) -> &T {
        &self.message
    }

    /// Returns the parameters. `None` if the bytes have changed, which never happens with a `T` that keeps its bytes.
    pub fn params(&self) -> Option<RawParams<'_>> {
        let text = std::str::from_utf8(self.message.as_ref()).ok()?;
        self.spans.members(text).map(RawParams)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::envelope::Envelope;

    const MESSAGE: &str =
        r#" {"jsonrpc":"2.0","id":1,"method":"m","params": {"a\u0062": {"c" : [1]}, "ü":"\"", "":null}} "#;

    fn params(message: &[u8]) -> RawParams<'_> {
        let Ok(Envelope::Request { params, .. }) = Envelope::parse(message) else { panic!("a request") };
        params
    }

    #[test]
    fn what_is_owned_is_what_was_borrowed() {
        let message = bytes_of(MESSAGE);
        let borrowed = params(&message);
        let owned = OwnedParams::new(std::sync::Arc::clone(&message), &borrowed).expect("of this message");
        let again = owned.params().expect("the bytes are the same");
        let list = |params: &RawParams<'_>| -> Vec<(String, String)> {
            params.members().iter().map(|(key, value)| (key.to_owned(), value.get().to_owned())).collect()
        };
        assert_eq!(list(&again), list(&borrowed));
        assert_eq!(list(&again)[0], ("ab".to_owned(), r#"{"c" : [1]}"#.to_owned()));
    }

    #[test]
    fn parameters_of_another_message_are_not_taken() {
        let (message, other) = (bytes_of(MESSAGE), bytes_of(MESSAGE));
        assert!(OwnedParams::new(other, &params(&message)).is_none());
    }

    fn bytes_of(text: &str) -> std::sync::Arc<[u8]> {
        text.as_bytes().into()
    }
}
