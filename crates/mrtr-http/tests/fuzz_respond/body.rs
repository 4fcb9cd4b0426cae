//! The body of the fuzz target for `Endpoint::respond`, and of the property test beside it.
//!
//! The first byte of an input says what the rest is tried as, and the second into how many pieces a body is cut.

mod fixture;
mod request;

use http::StatusCode;
use mrtr_http::Endpoint;
use mrtr_schema::Envelope;

use fixture::{Answer, LIMIT, answer};
use request::Draft;

/// Checks an answer, and panics where something that must hold does not. Returns the length of the body, and the status
/// that it got.
pub(crate) fn check(input: &[u8]) -> Option<(usize, u16)> {
    let [part, pieces, rest @ ..] = input else { return None };
    let draft = match part % 4 {
        0 => Draft::with_body(rest),
        1 => Draft::of(rest),
        2 => Draft::genuine().changed(rest),
        _ => Draft::padded(rest),
    };
    let size = draft.body().len();
    let answered = draft.request(usize::from(*pieces) + 1).map(answer);
    answered.iter().for_each(is_clear);
    // Whatever it was, it has left its place to the next one; and its room, if it took any.
    let next = if size > Endpoint::UNCOUNTED_BODY { Draft::genuine().filled(LIMIT) } else { Draft::genuine() };
    let Answer { status, first, .. } = answer(next.request(1).expect("it is genuine"));
    assert_eq!(status, StatusCode::OK, "{}", String::from_utf8_lossy(&first));
    answered.map(|answer| (size, answer.status.as_u16()))
}

/// A refusal with its reason, a message, or a stream that begins with one.
fn is_clear(answer: &Answer) {
    let Answer { status, media_type, first } = answer;
    let shown = || format!("{status} {media_type}: {}", String::from_utf8_lossy(first));
    match media_type.as_str() {
        "application/json" => {
            let is_error = match Envelope::parse(first).unwrap_or_else(|error| panic!("{error}: {}", shown())) {
                Envelope::Result { .. } => false,
                Envelope::Error { .. } => true,
                _ => panic!("{}", shown()),
            };
            assert!([200, 400, 404].contains(&status.as_u16()) && (is_error || status.is_success()), "{}", shown());
        }
        "text/event-stream" => {
            let data = first.strip_prefix(b"event: message\ndata: ").and_then(|data| data.strip_suffix(b"\n\n"));
            assert!(status.is_success() && Envelope::parse(data.expect("an event")).is_ok(), "{}", shown());
        }
        "" => assert!(*status == StatusCode::ACCEPTED && first.is_empty(), "{}", shown()),
        _ => assert!(REFUSED.contains(&status.as_u16()) && first.ends_with(b"\n"), "{}", shown()),
    }
}

/// The statuses of requests that the endpoint refuses before they are messages.
const REFUSED: [u16; 6] = [400, 403, 405, 406, 413, 415];

/// Inputs to start from.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let texts = request::seeds();
    let bodies =
        texts.iter().filter_map(|text| text.split_once("\n\n")).map(|(_, body)| [&[0, 0], body.as_bytes()].concat());
    let whole = texts.iter().map(|text| [&[1, 2], text.as_bytes()].concat());
    let changes = (0..6_u8).map(|verb| vec![2, 0, verb, 0, 40 * verb, b'A']);
    // From a few kilobytes to more than is taken, whole and in pieces, as they are and with a change near the end.
    let sizes = [0, 8, 0x15, 0x40, 0x80, 0xa0, 0xc0, 0xff];
    let padded = sizes.into_iter().flat_map(|high| {
        let whole = [3, 0, high, 0x55, 0];
        [whole.to_vec(), [3, 6, high, 0x55, 1].to_vec(), [&whole[..], &[0, 255, 250, b'A']].concat()]
    });
    // And in full, so that a change can be anywhere.
    let large = [20_000, 80_000].map(|size| [&[0, 3][..], Draft::genuine().filled(size).body()].concat());
    bodies.chain(whole).chain(changes).chain(padded).chain(large).collect()
}
