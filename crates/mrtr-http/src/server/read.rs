//! The body of a request: whole, and within its limits.

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt;

use super::budget::{Budget, Room};
use super::respond::Refusal;

pub(super) async fn read<B>(body: B, limit: usize, budget: &Budget) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes>,
{
    let mut body = std::pin::pin!(body);
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    let mut room = Room::default();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Refusal::Broken)?.into_data() else { continue };
        let size = first.len() + whole.len() + data.len();
        if size > limit {
            return Err(Refusal::TooLarge);
        }
        budget.extend(&mut room, size)?;
        // Most bodies come in one piece, which is then not copied.
        if first.is_empty() && whole.is_empty() {
            first = data;
        } else {
            whole.extend_from_slice(&std::mem::take(&mut first));
            whole.extend_from_slice(&data);
        }
    }
    Ok(room.hold(if whole.is_empty() { first } else { whole.freeze() }))
}
