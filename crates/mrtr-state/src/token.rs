//! The text of a token: `mrtr1` and the codec's letter, the key's id, the sealed bytes, with dots between them.
//!
//! One spelling for each token: base64 for URLs, without padding, and without stray bits at the end.

use base64_simd::URL_SAFE_NO_PAD;
use mrtr_schema::RequestState;

use crate::Refusal;
use crate::keys::KeyId;

const VERSION: &str = "mrtr1";

/// All that comes before the sealed bytes, up to and including the second dot. It is authenticated with them.
pub(crate) fn header(letter: char, key: &KeyId) -> String {
    format!("{VERSION}{letter}.{key}.")
}

/// How long the text of so many sealed bytes is.
pub(crate) fn length(header: &str, sealed: usize) -> usize {
    header.len() + (sealed * 4).div_ceil(3)
}

pub(crate) fn write(header: &str, sealed: &[u8]) -> RequestState {
    let mut text = String::with_capacity(length(header, sealed.len()));
    text.push_str(header);
    URL_SAFE_NO_PAD.encode_append(sealed, &mut text);
    RequestState::new(text)
}

/// The letter of the codec that a text names.
pub(crate) fn letter(text: &str) -> Result<char, Refusal> {
    text.strip_prefix(VERSION).and_then(|rest| rest.chars().next()).ok_or(Refusal::Malformed)
}

/// Takes a text apart: the header, the key's id in it, and the sealed bytes.
pub(crate) fn read(letter: char, text: &str) -> Result<(&str, &str, Vec<u8>), Refusal> {
    let after_letter = text.strip_prefix(VERSION).and_then(|rest| rest.strip_prefix(letter));
    let rest = after_letter.and_then(|rest| rest.strip_prefix('.')).ok_or(Refusal::Malformed)?;
    let (key, sealed) = rest.split_once('.').ok_or(Refusal::Malformed)?;
    if !KeyId::allows(key) {
        return Err(Refusal::Malformed);
    }
    let header = &text[..text.len() - sealed.len()];
    let sealed = URL_SAFE_NO_PAD.decode_to_vec(sealed).map_err(|_| Refusal::Malformed)?;
    Ok((header, key, sealed))
}
