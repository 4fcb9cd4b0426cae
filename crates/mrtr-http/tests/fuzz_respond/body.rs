//! The body of the fuzz target for `Endpoint::respond`, and of the property test beside it.
//!
//! The first byte of an input says what the rest is tried as, and the second into how many pieces a body is cut.

mod fixture;
mod request;

use http::StatusCode;
use mrtr_schema::Envelope;

use fixture::{Answer, answer};
use request::Draft;

/// Panics where something that must hold does not.
pub(crate) fn check(input: &[u8]) {
    let [part, pieces, rest @ ..] = input else { return };
    let draft = match part % 3 {
        0 => Draft::with_body(rest),
        1 => Draft::of(rest),
        _ => Draft::changed(rest),
    };
    if let Some(request) = draft.request(usize::from(*pieces) + 1) {
        is_clear(&answer(request));
    }
    // Whatever it was, it has left its place to the next one.
    let next = Draft::genuine().request(1).expect("it is genuine");
    let Answer { status, first, .. } = answer(next);
    assert_eq!(status, StatusCode::OK, "{}", String::from_utf8_lossy(&first));
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

/// What is refused before it is a message.
const REFUSED: [u16; 5] = [403, 405, 406, 413, 415];

/// Inputs to start from.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let texts = request::seeds();
    let bodies =
        texts.iter().filter_map(|text| text.split_once("\n\n")).map(|(_, body)| [&[0, 0], body.as_bytes()].concat());
    let whole = texts.iter().map(|text| [&[1, 2], text.as_bytes()].concat());
    let changes = (0..6_u8).map(|verb| vec![2, 0, verb, 0, 40 * verb, b'A']);
    bodies.chain(whole).chain(changes).collect()
}
