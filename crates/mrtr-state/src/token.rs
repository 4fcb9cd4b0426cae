//! The bytes of a token's claims, which are sealed, and the token's text. `docs/STATE_FORMAT.md` describes both.
//!
//! The text is `mrtr1` and the codec's letter, the key's id, the sealed bytes, with dots between them.
//!
//! One spelling for each token: base64 for URLs, without padding, and without stray bits at the end.

use base64_simd::URL_SAFE_NO_PAD;
use mrtr_schema::{Era, RequestState, Revision};

use crate::digest::ParamsDigest;
use crate::flow::FlowProgress;
use crate::keys::KeyId;
use crate::random::FlowId;
use crate::{Refusal, SealError, Timestamp};

pub(crate) struct Claims<'a> {
    pub(crate) revision: Revision,
    pub(crate) progress: FlowProgress,
    pub(crate) issued: Timestamp,
    pub(crate) expires: Timestamp,
    pub(crate) params: ParamsDigest,
    pub(crate) principal: Option<PrincipalDigest>,
    pub(crate) tenant: Option<&'a str>,
    pub(crate) kind: &'a str,
    pub(crate) audience: &'a str,
    pub(crate) method: &'a str,
    pub(crate) name: &'a str,
    pub(crate) handler_version: &'a str,
}

/// Issuer and subject under a key of this ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PrincipalDigest(pub(crate) [u8; 16]);

const FORMAT: u8 = 2;
/// The revision's number takes the lower half of a byte, and the flags that say what is there take the upper one.
const REVISION: u8 = 0x0f;
const HAS_PRINCIPAL: u8 = 0x10;
const HAS_TENANT: u8 = 0x20;

impl<'a> Claims<'a> {
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<(), SealError> {
        let FlowProgress { flow, started, ends, round } = self.progress;
        let principal = if self.principal.is_some() { HAS_PRINCIPAL } else { 0 };
        let tenant = if self.tenant.is_some() { HAS_TENANT } else { 0 };
        let [started, ends, issued, expires] = [started, ends, self.issued, self.expires].map(within_six_bytes);
        let mut fixed = [0; 2 + 16 + 16 + 6];
        fixed[..2].copy_from_slice(&[FORMAT, self.revision.number() | principal | tenant]);
        fixed[2..18].copy_from_slice(flow.as_bytes());
        fixed[18..34].copy_from_slice(self.params.as_bytes());
        fixed[34..].copy_from_slice(&issued.to_be_bytes()[2..]);
        out.extend_from_slice(&fixed);
        // Nothing is sealed that has ended. A flow begins before its states but where clocks differ.
        write_number(out, expires.saturating_sub(issued));
        write_number(out, ends.saturating_sub(issued));
        write_number(out, zigzag(issued.cast_signed() - started.cast_signed()));
        write_number(out, round.into());
        if let Some(PrincipalDigest(digest)) = &self.principal {
            out.extend_from_slice(digest);
        }
        if let Some(tenant) = self.tenant {
            write_text(out, "tenant", tenant)?;
        }
        write_text(out, "payload kind", self.kind)?;
        write_text(out, "audience", self.audience)?;
        write_text(out, "method", self.method)?;
        write_text(out, "name or uri", self.name)?;
        write_text(out, "handler version", self.handler_version)
    }

    /// Reads the claims, and returns them with the bytes that follow. `None` if they are no claims of this format.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let mut reader = Reader(bytes);
        let [format, revision] = reader.array()?;
        if format != FORMAT || revision & !(REVISION | HAS_PRINCIPAL | HAS_TENANT) != 0 {
            return None;
        }
        let presence = revision;
        // A legacy session has no states.
        let revision = Revision::from_number(revision & REVISION).filter(|revision| revision.era() == Era::Modern)?;
        let flow = FlowId(reader.array()?);
        let params = ParamsDigest::from_bytes(reader.array()?);
        let issued = reader.array::<6>()?.into_iter().fold(0, |millis, byte| millis << 8 | u64::from(byte));
        let expires = moment(issued + reader.number()?)?;
        let ends = moment(issued + reader.number()?)?;
        let started = moment(issued.checked_add_signed(-unzigzag(reader.number()?))?)?;
        let issued = moment(issued)?;
        let round = u32::try_from(reader.number()?).ok()?;
        let principal = if presence & HAS_PRINCIPAL == 0 { None } else { Some(PrincipalDigest(reader.array()?)) };
        let tenant = if presence & HAS_TENANT == 0 { None } else { Some(reader.text()?) };
        let claims = Self {
            revision,
            progress: FlowProgress { flow, started, ends, round },
            issued,
            expires,
            params,
            principal,
            tenant,
            kind: reader.text()?,
            audience: reader.text()?,
            method: reader.text()?,
            name: reader.text()?,
            handler_version: reader.text()?,
        };
        Some((claims, reader.0))
    }
}

/// Cuts a moment to six bytes, which last until the year 10889: a later one counts as the last of them.
fn within_six_bytes(moment: Timestamp) -> u64 {
    moment.as_millis().min(LAST)
}

fn moment(millis: u64) -> Option<Timestamp> {
    (millis <= LAST).then_some(Timestamp::from_millis(millis))
}

const LAST: u64 = (1 << 48) - 1;

/// Makes a small number of a small difference, whatever its sign.
fn zigzag(difference: i64) -> u64 {
    (difference << 1 ^ difference >> 63).cast_unsigned()
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// Writes a number in groups of seven bits, the lowest first.
fn write_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

fn write_text(out: &mut Vec<u8>, what: &'static str, text: &str) -> Result<(), SealError> {
    let length = u16::try_from(text.len()).map_err(|_| SealError::ClaimTooLong(what))?;
    write_number(out, length.into());
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for place in 0..LONGEST_NUMBER {
            let [byte] = self.array()?;
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                // One spelling a number.
                return (byte != 0 || place == 0).then_some(number);
            }
        }
        None
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }
}

/// Enough groups for the difference of any two moments, and its sign.
const LONGEST_NUMBER: u32 = 7;

const VERSION: &str = "mrtr1";

/// All that comes before the sealed bytes, up to and including the second dot. It is authenticated with them.
pub(crate) fn header(letter: char, key: &KeyId) -> String {
    format!("{VERSION}{letter}.{key}.")
}

/// The length of the text of a token with this many sealed bytes.
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
