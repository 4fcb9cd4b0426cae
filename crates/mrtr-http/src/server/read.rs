//! The body of a request: whole, and within its limits.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Uri};
use http_body::Body;
use http_body_util::BodyExt;

use super::budget::Budget;
use super::gathered::Gathered;
use super::respond::Refusal;

/// Reads a body. If it does not come at once, its head is kept in less memory until it has.
pub(super) async fn read<B>(body: B, head: &mut Parts, limit: usize, budget: &Budget) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes>,
{
    let mut body = std::pin::pin!(body);
    let most = body.size_hint().upper().and_then(|most| usize::try_from(most).ok()).unwrap_or(limit).min(limit);
    let mut gathered = Gathered::new(budget);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Refusal::Broken)?.into_data() else { continue };
        let size = gathered.length() + data.len();
        if size > limit {
            return Err(Refusal::TooLarge);
        }
        if gathered.length() == 0 {
            // Most bodies come in one piece, which is then not copied.
            if body.is_end_stream() {
                return Ok(budget.room(size)?.hold(data));
            }
            leave_buffer(head);
        }
        // Copied, since while more is waited for it would keep all of the buffer that the connection was read into.
        gathered.push(&data, most)?;
    }
    gathered.whole()
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
