//! The body of a request: whole, and within its limits.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Uri};
use http_body::Body;
use http_body_util::BodyExt;

use super::body_buffer::BodyBuffer;
use super::budget::BodyBudget;
use super::rejection::Rejection;

/// Reads a body. If it does not come at once, its head is kept in less memory until it has.
pub(super) async fn read<B>(body: B, head: &mut Parts, limit: usize, budget: &BodyBudget) -> Result<Bytes, Rejection>
where
    B: Body<Data = Bytes>,
{
    let mut body = std::pin::pin!(body);
    let most = body.size_hint().upper().and_then(|most| usize::try_from(most).ok()).unwrap_or(limit).min(limit);
    let mut buffer = BodyBuffer::new(budget);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Rejection::Broken)?.into_data() else { continue };
        let size = buffer.length() + data.len();
        if size > limit {
            return Err(Rejection::TooLarge);
        }
        if buffer.length() == 0 {
            // Most bodies come in one piece, which is then not copied.
            if body.is_end_stream() {
                return Ok(budget.reserve(size)?.attach(data));
            }
            leave_buffer(head);
        }
        // Copied, since while more is waited for it would keep all of the buffer that the connection was read into.
        buffer.push(&data, most)?;
    }
    buffer.whole()
}

/// Copies what is a part of the buffer that a connection was read into, so that the buffer can be used again. Of a
/// target, nothing is asked any more.
fn leave_buffer(head: &mut Parts) {
    head.uri = Uri::default();
    for value in head.headers.values_mut() {
        if let Ok(mut copy) = HeaderValue::from_bytes(value.as_bytes()) {
            copy.set_sensitive(value.is_sensitive());
            *value = copy;
        }
    }
}
