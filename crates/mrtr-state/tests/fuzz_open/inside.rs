//! Contents that a stranger with the key could seal: behind a seal that holds, claims and payload are still only bytes.

use std::ops::Range;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mrtr_state::codec::NONCE_LENGTH;
use mrtr_state::{ALLOWED_SKEW, AnswersDigest, Opened, SealError, SealOptions};

use super::fixture::{HANDLER_VERSION, Journal, NOW, REQUEST, TRANSPARENT, binding, journal, open, seal};
use super::mutation::changed;

/// Any inside, the genuine claims with any payload, or the genuine inside with changes.
pub(super) fn any(input: &[u8]) {
    let Some((what, rest)) = input.split_first() else { return };
    match what % 3 {
        0 => drop(opened(rest)),
        1 => {
            let inside = [&GENUINE[..payload()], rest].concat();
            // What a type does not name is text, too; serde_json would let it be anything.
            let readable = str::from_utf8(rest).is_ok_and(|text| serde_json::from_str::<Journal>(text).is_ok());
            assert_eq!(opened(&inside).is_some(), readable, "only the payload decides");
        }
        _ => drop(opened(&changed(GENUINE.clone(), rest))),
    }
}

/// Opens a token with this inside. If it does open, it is tied to what the genuine one is tied to, and is usable.
fn opened(inside: &[u8]) -> Option<Opened<Journal>> {
    let sealed = URL_SAFE_NO_PAD.encode([inside, &[9; NONCE_LENGTH]].concat());
    let opened = open(&TRANSPARENT, format!("mrtr1t.new.{sealed}")).ok()?;
    for part in [VERSION_REVISION_PRESENCE, PARAMS] {
        assert_eq!(inside[part.clone()], GENUINE[part], "what it is tied to has changed");
    }
    assert!(inside[numbers_end(inside)..].starts_with(tied()), "what it is tied to has changed");
    assert!(opened.issued() <= NOW + ALLOWED_SKEW && NOW < opened.expires() && NOW < opened.progress().ends());
    let _ = (opened.token_use(AnswersDigest::of(None).expect("nothing to refuse")), format!("{opened:?}"));
    goes_on(&opened);
    Some(opened)
}

fn goes_on(opened: &Opened<Journal>) {
    let options = SealOptions::new(opened.next_round()).handler_version(opened.handler_version());
    match TRANSPARENT.seal_as(opened.payload(), &binding(&REQUEST), options, NOW) {
        Ok(next) => {
            let next = open(&TRANSPARENT, next.untrusted_text()).expect("it was just sealed");
            assert_eq!(next.progress(), opened.next_round());
        }
        Err(SealError::TooManyRounds { .. } | SealError::TooLong { .. }) => {}
        Err(error) => panic!("what was opened cannot be sealed: {error}"),
    }
}

/// Claims and payload of a genuine state.
static GENUINE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let state = seal(&TRANSPARENT);
    let (_, sealed) = state.untrusted_text().rsplit_once('.').expect("a header");
    let mut sealed = URL_SAFE_NO_PAD.decode(sealed).expect("base64");
    sealed.truncate(sealed.len() - NONCE_LENGTH);
    sealed
});

const VERSION_REVISION_PRESENCE: Range<usize> = 0..2;
const PARAMS: Range<usize> = 18..34;

/// From the digest of the principal to what comes before the version of the handler.
fn tied() -> &'static [u8] {
    &GENUINE[numbers_end(&GENUINE)..payload() - HANDLER_VERSION.len() - 1]
}

/// The place where the moments and the round end: a moment of six bytes, and four numbers.
fn numbers_end(inside: &[u8]) -> usize {
    let begin = PARAMS.end + 6;
    let ends = inside.iter().enumerate().skip(begin).filter(|(_, byte)| **byte < 0x80).map(|(place, _)| place + 1);
    ends.take(4).last().expect("it has numbers")
}

fn payload() -> usize {
    GENUINE.len() - written_journal().len()
}

fn written_journal() -> Vec<u8> {
    serde_json::to_vec(&journal()).expect("it can be written")
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    vec![
        [vec![0], GENUINE.clone()].concat(),
        [vec![1], written_journal()].concat(),
        vec![1],
        [b"\x01".as_slice(), br#"{"entries":{},"unknown":{""#, b"\xd7\xd6", br#"":0},"pending":[]}"#].concat(),
        vec![2, 1, 0, 2, 2],
        vec![2, 0, 0, 46, 31],
        vec![2, 0, 0, 46, 255],
        vec![2, 1, 0, 80, 3],
    ]
}
