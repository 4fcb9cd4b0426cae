//! Framing: one message a line, each within a limit, out of a stream of bytes and into one.

use std::io;

use bytes::{Bytes, BytesMut};
use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt};

/// A line that was read, or that is too long to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// At least one byte, without the line break.
    Message(Bytes),
    /// More bytes than the limit. The reader dropped them as they came, up to the line break.
    TooLong,
}

/// Splits bytes into lines, however they come. It holds one line at most, and no more of that than the limit.
#[derive(Debug)]
pub(crate) struct LineSplitter {
    buffer: BytesMut,
    /// The length of the part of the buffer that is known to have no line break.
    searched: usize,
    /// True if the line that is under way is too long, and is dropped up to its end.
    skipping: bool,
    limit: usize,
}

impl LineSplitter {
    pub(crate) fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), searched: 0, skipping: false, limit }
    }

    /// The buffer for the next bytes: they go at the end of what is there.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// The next whole line, if there is one. Lines of nothing but white space are passed over.
    pub(crate) fn next(&mut self) -> Option<Line> {
        while let Some(end) = memchr(b'\n', &self.buffer[self.searched..]) {
            let mut line = self.buffer.split_to(self.searched + end + 1);
            line.truncate(line.len() - 1);
            self.searched = 0;
            if let Some(line) = self.end_line(line) {
                return Some(line);
            }
        }
        self.searched = self.buffer.len();
        if self.searched > self.limit {
            self.skipping = true;
        }
        if self.skipping {
            self.buffer.clear();
            self.searched = 0;
        }
        None
    }

    /// The last line, which may have no line break: there will be no more bytes.
    pub(crate) fn finish(&mut self) -> Option<Line> {
        let rest = self.buffer.split();
        self.searched = 0;
        self.end_line(rest)
    }

    /// Makes a line of bytes, now that all of them are there.
    fn end_line(&mut self, line: BytesMut) -> Option<Line> {
        let is_rest = std::mem::take(&mut self.skipping);
        if is_rest || line.len() > self.limit {
            return Some(Line::TooLong);
        }
        // Nothing but white space is no message, and neither is the `\r` of some systems' line breaks.
        let text = line.trim_ascii_end().len();
        (!line.trim_ascii().is_empty()).then(|| Line::Message(line.freeze().slice(..text)))
    }
}

/// The lines of a stream of bytes.
#[derive(Debug)]
pub(crate) struct LineReader<R> {
    bytes: R,
    splitter: LineSplitter,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(bytes: R, limit: usize) -> Self {
        Self { bytes, splitter: LineSplitter::new(limit) }
    }

    /// Returns the next line, or `None` at the end of the stream. Nothing is lost if this future is dropped.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(line) = self.splitter.next() {
                return Ok(Some(line));
            }
            let buffer = self.splitter.buffer();
            buffer.reserve(CHUNK);
            if self.bytes.read_buf(buffer).await? == 0 {
                return Ok(self.splitter.finish());
            }
        }
    }
}

/// A message as a line.
///
/// JSON may come over several lines, as its author wrote it; a line may not. Line breaks stand between the tokens of
/// JSON and never inside one, so that a space does as well.
pub(crate) fn line(message: String) -> String {
    let mut line = if message.contains(['\n', '\r']) { message.replace(['\n', '\r'], " ") } else { message };
    line.push('\n');
    line
}

/// The least room that there is for each read.
const CHUNK: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The lines of a text that comes in these pieces, and the most that was held on the way.
    fn split(text: &[u8], pieces: &[usize], limit: usize) -> (Vec<Line>, usize) {
        let (mut splitter, mut lines, mut held) = (LineSplitter::new(limit), Vec::new(), 0);
        let mut rest = text;
        for piece in pieces.iter().copied().chain([usize::MAX]) {
            let (now, later) = rest.split_at(piece.min(rest.len()));
            splitter.buffer().extend_from_slice(now);
            lines.extend(std::iter::from_fn(|| splitter.next()));
            held = held.max(splitter.buffer().len());
            rest = later;
        }
        lines.extend(splitter.finish());
        (lines, held)
    }

    /// The lines of a text, as a simpler implementation finds them, to compare with.
    fn expected(text: &[u8], limit: usize) -> Vec<Line> {
        let line = |line: &[u8]| match line.trim_ascii_end() {
            _ if line.len() > limit => Some(Line::TooLong),
            [] => None,
            text => Some(Line::Message(Bytes::copy_from_slice(text))),
        };
        text.split(|byte| *byte == b'\n').filter_map(line).collect()
    }

    proptest! {
        #[test]
        fn lines_are_the_same_however_their_bytes_come(
            text in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b' '), b'a'..=b'z', any::<u8>()], 0..200),
            pieces in proptest::collection::vec(0_usize..9, 0..60),
            limit in 1_usize..40,
        ) {
            let (lines, held) = split(&text, &pieces, limit);
            prop_assert_eq!(lines, expected(&text, limit));
            prop_assert!(held <= limit, "{} bytes are held, and {} may be", held, limit);
        }
    }

    #[test]
    fn a_line_that_is_too_long_costs_itself_alone() {
        let text = format!("{}\nnext\n", "x".repeat(100));
        let (lines, _) = split(text.as_bytes(), &[7; 30], 10);
        assert_eq!(lines, [Line::TooLong, Line::Message("next".into())]);
    }

    #[test]
    fn a_last_line_needs_no_line_break() {
        assert_eq!(split(b"one\r\n\n  \ntwo", &[], 10).0, [Line::Message("one".into()), Line::Message("two".into())]);
    }

    #[test]
    fn a_message_of_several_lines_becomes_one() {
        assert_eq!(line("{\n  \"a\":\r\n1}".to_owned()), "{   \"a\":  1}\n");
    }
}
