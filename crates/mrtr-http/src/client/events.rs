//! Server-sent events: parsed from the bytes of a stream, and read as messages of which the last is the response.

use std::time::Duration;

use mrtr_client::{ServerMessage, ServerNotification, ServerRequest, TransportError, TransportFailure};
use mrtr_schema::{Envelope, Json, Printable, RawMembers};
use reqwest::Response;

/// A parser that takes bytes, and returns the data of events.
pub(super) struct Parser {
    unread: Vec<u8>,
    /// The beginning of the line that is not whole yet.
    start: usize,
    /// The end of the part of that line that holds no line break.
    looked: usize,
    /// True if the last line ended with a carriage return: a line feed after it belongs to it.
    after_return: bool,
    is_first_line: bool,
    /// The data of the event that is not complete yet, if any came.
    data: Option<String>,
    /// True if the event is of a kind that this parser ignores.
    is_other: bool,
    limit: usize,
    /// The id of the event that is not complete yet, if it has one.
    id: Option<String>,
    /// The id of the last complete event that had one.
    last_id: Option<String>,
    /// The pause that the server wants before the client resumes the stream.
    retry: Option<Duration>,
}

impl Parser {
    /// Creates a parser of events that are no longer than this.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            unread: Vec::new(),
            start: 0,
            looked: 0,
            after_return: false,
            is_first_line: true,
            data: None,
            is_other: false,
            limit,
            id: None,
            last_id: None,
            retry: None,
        }
    }

    /// Takes the id of the last event, with which the client can resume the stream.
    pub(super) fn take_last_id(&mut self) -> Option<String> {
        self.last_id.take()
    }

    /// Returns the pause that the server wants before the client resumes the stream, if it asks for one.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.unread.drain(..self.start);
        self.looked -= self.start;
        self.start = 0;
        self.unread.extend_from_slice(bytes);
    }

    /// Returns the data of the next complete event.
    pub(super) fn next(&mut self) -> Result<Option<String>, TransportError> {
        while let Some((start, end)) = self.line() {
            let line = std::str::from_utf8(&self.unread[start..end]).map_err(TransportError::new)?;
            let line = if self.is_first_line { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
            self.is_first_line = false;
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "" if line.is_empty() => {
                    self.last_id = self.id.take().or(self.last_id.take());
                    let (data, is_other) = (self.data.take(), std::mem::take(&mut self.is_other));
                    if let Some(data) = data.filter(|data| !data.is_empty() && !is_other) {
                        return Ok(Some(data));
                    }
                }
                "data" => match &mut self.data {
                    Some(data) => data.extend(["\n", value]),
                    None => self.data = Some(value.to_owned()),
                },
                // The id goes back in a header: one that does not fit there cannot be used.
                "id" if value.len() <= MAX_ID && value.bytes().all(|byte| matches!(byte, b' '..=b'~')) => {
                    self.id = Some(value.to_owned());
                }
                "retry" => self.retry = value.parse().ok().map(Duration::from_millis).or(self.retry),
                "event" => self.is_other = !matches!(value, "" | "message"),
                _ => {}
            }
            self.check_length(0)?;
        }
        self.check_length(self.unread.len() - self.start)?;
        Ok(None)
    }

    /// Returns the beginning and the end of the next whole line.
    fn line(&mut self) -> Option<(usize, usize)> {
        if self.after_return && self.start < self.unread.len() {
            self.after_return = false;
            if self.unread[self.start] == b'\n' {
                self.start += 1;
                self.looked = self.start;
            }
        }
        let rest = &self.unread[self.looked..];
        let Some(length) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            self.looked = self.unread.len();
            return None;
        };
        let (start, end) = (self.start, self.looked + length);
        self.after_return = self.unread[end] == b'\r';
        self.start = end + 1;
        self.looked = self.start;
        Some((start, end))
    }

    fn check_length(&self, unread: usize) -> Result<(), TransportError> {
        if unread + self.data.as_ref().map_or(0, String::len) > self.limit {
            return Err(TransportError::new(format!("an event is longer than {} bytes", self.limit)));
        }
        Ok(())
    }
}

/// Passes on the messages before the response as they come, and returns the response. No event may be longer than
/// `limit`.
pub(super) async fn response_of(
    mut stream: Response,
    limit: usize,
    on_message: &mut (dyn FnMut(ServerMessage) + Send),
) -> Result<String, TransportError> {
    let mut parser = Parser::new(limit);
    while let Some(chunk) = stream.chunk().await.map_err(TransportError::new)? {
        parser.feed(&chunk);
        while let Some(message) = parser.next()? {
            match Event::of(message)? {
                Event::Response(message) => return Ok(message),
                Event::Before(ServerMessage::Request(ServerRequest { method, .. })) => {
                    let text = format!("the server sent a request on a stream: `{}`", Printable::line(&method));
                    return Err(TransportError::of(TransportFailure::LegacyServer, text));
                }
                Event::Before(message) => on_message(message),
            }
        }
    }
    Err(TransportError::new("the stream ended without a response"))
}

/// A message of a stream.
pub(super) enum Event {
    /// A message that comes before the response.
    Before(ServerMessage),
    /// A response, as it came.
    Response(String),
}

impl Event {
    pub(super) fn of(message: String) -> Result<Self, TransportError> {
        Ok(match Envelope::parse(message.as_bytes()).map_err(TransportError::new)? {
            Envelope::Notification { method, .. } => {
                let (method, params) = (method.into_owned(), params(&message));
                Self::Before(ServerMessage::Notification(ServerNotification { method, params }))
            }
            Envelope::Request { id, method, .. } => {
                let (method, params) = (method.into_owned(), params(&message));
                Self::Before(ServerMessage::Request(ServerRequest { id, method, params }))
            }
            Envelope::Result { .. } | Envelope::Error { .. } => Self::Response(message),
        })
    }
}

/// Returns the parameters of a message, as they came, or an empty object if it has none.
fn params(message: &str) -> Json {
    let empty = || Json::from(serde_json::json!({}));
    let Ok(message) = RawMembers::parse(message) else { return empty() };
    message.get("params").and_then(|params| Json::from_raw(params).ok()).unwrap_or_else(empty)
}

/// The longest id of an event that is kept.
const MAX_ID: usize = 1024;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn messages(pieces: &[&[u8]]) -> Vec<String> {
        let mut parser = Parser::new(1 << 20);
        let mut messages = Vec::new();
        for piece in pieces {
            parser.feed(piece);
            while let Some(message) = parser.next().unwrap() {
                messages.push(message);
            }
        }
        messages
    }

    const STREAM: &str = "\u{feff}: a comment\n\nid: 7\nevent: message\ndata: {\"a\":\ndata: 1}\n\ndata\n\nretry: 3\n\n\
        event: other\ndata: no\n\ndata:{\"b\":\"Straße\"}\n\ndata: cut off";

    #[test]
    fn ht_5_each_way_to_end_a_line_will_do_and_each_way_to_cut_the_stream() {
        for end in ["\n", "\r\n", "\r"] {
            let stream = STREAM.replace('\n', end);
            for at in 0..=stream.len() {
                let (head, tail) = stream.as_bytes().split_at(at);
                assert_eq!(messages(&[head, tail]), ["{\"a\":\n1}", "{\"b\":\"Straße\"}"], "{end:?} at {at}");
            }
            let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
            assert_eq!(messages(&bytes).len(), 2, "{end:?}, byte by byte");
        }
    }

    #[test]
    fn ht_5_an_event_that_ends_with_carriage_returns_is_there_at_once() {
        assert_eq!(messages(&[b"data: now\r\r"]), ["now"]);
        assert_eq!(messages(&[b"data: now\r\n\r"]), ["now"]);
        assert_eq!(messages(&[b"data: now\r\n\r", b"\ndata: then\r\n\r\n"]), ["now", "then"]);
    }

    #[test]
    fn an_event_has_an_id_once_it_has_come_to_its_end_even_if_it_says_nothing() {
        let mut parser = Parser::new(100);
        parser.feed(b"id: a-1\nretry: 250\ndata:\n\nid: a-2\ndata: cut");
        assert_eq!(parser.next().unwrap(), None);
        assert_eq!((parser.take_last_id().as_deref(), parser.retry()), (Some("a-1"), Some(Duration::from_millis(250))));
        parser.feed(b" off\n\n");
        assert_eq!(parser.next().unwrap().as_deref(), Some("cut off"));
        assert_eq!(parser.take_last_id().as_deref(), Some("a-2"));
        parser.feed("id: \u{7f}\ndata: x\n\nid: ü\nretry: soon\ndata: y\n\n".as_bytes());
        while parser.next().unwrap().is_some() {}
        assert_eq!(parser.take_last_id(), None, "neither can be sent in a header");
        assert_eq!(parser.retry(), Some(Duration::from_millis(250)));
    }

    #[test]
    fn ht_8_the_limit_is_that_of_one_event() {
        let mut parser = Parser::new(10);
        parser.feed("data: 12345\n\n".repeat(100).as_bytes());
        for _ in 0..100 {
            assert_eq!(parser.next().unwrap().as_deref(), Some("12345"));
        }
        parser.feed(b"data: 1234567\ndata: 1234567\n\n");
        assert!(parser.next().is_err(), "over several lines");
        let mut parser = Parser::new(10);
        parser.feed(b"data: 12345");
        assert!(parser.next().is_err(), "over a line without an end");
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces(pieces in proptest::collection::vec(any::<Vec<u8>>(), 0..8)) {
            let mut parser = Parser::new(100);
            for piece in pieces {
                parser.feed(&piece);
                loop {
                    match parser.next() {
                        Ok(Some(message)) => prop_assert!(!message.is_empty() && message.len() <= 100),
                        Ok(None) => break,
                        Err(_) => return Ok(()),
                    }
                }
            }
        }
    }
}
