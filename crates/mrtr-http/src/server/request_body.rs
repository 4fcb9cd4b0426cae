//! The body of a request: whole, and within its limits of size, time and depth.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::request::Parts;
use http_body::Body;
use http_body_util::BodyExt;
use mrtr_server::transport::Holding;
use tokio::sync::Notify;

use super::accounts::Accounts;
use super::body_buffer::BodyBuffer;
use super::budget::BodyReservation;
use super::head;
use super::rejection::Rejection;

/// Reads a body. While the server waits for it, its permit and its room make way for callers below their share, and its
/// head is kept in less memory.
pub(super) async fn read<B>(
    body: B,
    head: &mut Parts,
    limit: usize,
    accounts: &Accounts,
    permit: &mut Holding,
) -> Result<Bytes, Rejection>
where
    B: Body<Data = Bytes>,
{
    let taken = Arc::new(Notify::new());
    let mut gathering = pin!(gather(body, limit, accounts, &taken));
    // Most bodies are there with their heads, and then nothing is offered.
    let polled = std::future::poll_fn(|cx| Poll::Ready(gathering.as_mut().poll(cx))).await;
    if let Poll::Ready(body) = polled {
        return body;
    }
    permit.offer({
        let taken = Arc::clone(&taken);
        move || taken.notify_one()
    });
    // The connection takes another buffer for the bytes that come, since the head is in the one that it has. Then the
    // old one can go.
    tokio::task::yield_now().await;
    head::keep_needed(head);
    let body = tokio::select! {
        body = gathering => body?,
        () = taken.notified() => return Err(Rejection::Overloaded),
    };
    if permit.keep() { Ok(body) } else { Err(Rejection::Overloaded) }
}

async fn gather<B>(body: B, limit: usize, accounts: &Accounts, taken: &Arc<Notify>) -> Result<Bytes, Rejection>
where
    B: Body<Data = Bytes>,
{
    let mut body = pin!(body);
    let most = body.size_hint().upper().and_then(|most| usize::try_from(most).ok()).unwrap_or(limit).min(limit);
    let mut buffer = BodyBuffer::new(accounts, Arc::clone(taken));
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Rejection::Broken)?.into_data() else { continue };
        let size = buffer.length() + data.len();
        if size > limit {
            return Err(Rejection::TooLarge);
        }
        // Most bodies come in one piece, which is then not copied.
        if buffer.length() == 0 && body.is_end_stream() {
            return Ok(BodyReservation::of(accounts, size)?.attach(data));
        }
        // This copies the piece: while the server waits for more, it would keep all of the connection's read buffer.
        buffer.push(&data, most)?;
    }
    buffer.whole()
}

/// Returns true if a text is nested deeper than this. The server finds out later if it is JSON at all.
pub(super) fn is_deeper(text: &[u8], limit: usize) -> bool {
    // Few messages have that many brackets altogether, and counting them is far cheaper than following them.
    if brackets(text) <= limit {
        return false;
    }
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// Counts the opening brackets and braces, those in strings too. Each piece is so short that a byte can count its
/// brackets, which lets the compiler count many bytes at a time.
fn brackets(text: &[u8]) -> usize {
    let count = |piece: &[u8]| piece.iter().map(|byte| u8::from(byte | 0x20 == b'{')).sum::<u8>();
    text.chunks(usize::from(u8::MAX)).map(|piece| usize::from(count(piece))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ht_8_brackets_count_where_they_nest() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(!is_deeper(nested(8).as_bytes(), 8));
        assert!(is_deeper(nested(9).as_bytes(), 8));
        assert!(!is_deeper("[[],[],[],[],[],[],[],[],[]]".as_bytes(), 8), "side by side");
        assert!(!is_deeper(br#"["[[[[[[[[[[", "\"[[[[[[[[[["]"#, 8), "in strings");
        assert!(is_deeper(br#"["\\",[[[[[[[[["#, 8), "after a string that ends with a backslash");
    }
}
