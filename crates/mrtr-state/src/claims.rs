//! What a token says of itself, and how that is laid out in bytes. `docs/STATE_FORMAT.md` describes the same.

use mrtr_schema::Revision;

use crate::digest::ParamsDigest;
use crate::flow::FlowProgress;
use crate::ids::FlowId;
use crate::{SealError, Timestamp};

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

const FORMAT: u8 = 1;
const HAS_PRINCIPAL: u8 = 1;
const HAS_TENANT: u8 = 2;

impl<'a> Claims<'a> {
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<(), SealError> {
        let FlowProgress { flow, started, ends, round } = self.progress;
        let principal = if self.principal.is_some() { HAS_PRINCIPAL } else { 0 };
        let tenant = if self.tenant.is_some() { HAS_TENANT } else { 0 };
        let mut fixed = [0; 3 + 16 + 4 * 6 + 4 + 32];
        fixed[..3].copy_from_slice(&[FORMAT, self.revision.number(), principal | tenant]);
        fixed[3..19].copy_from_slice(flow.as_bytes());
        for (place, moment) in fixed[19..43].chunks_exact_mut(6).zip([started, ends, self.issued, self.expires]) {
            place.copy_from_slice(&six_bytes(moment));
        }
        fixed[43..47].copy_from_slice(&round.to_be_bytes());
        fixed[47..].copy_from_slice(self.params.as_bytes());
        out.extend_from_slice(&fixed);
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

    /// Reads claims, and what follows them.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let mut reader = Reader(bytes);
        let [format, revision, presence] = reader.array()?;
        if format != FORMAT || presence & !(HAS_PRINCIPAL | HAS_TENANT) != 0 {
            return None;
        }
        let revision = Revision::from_number(revision)?;
        let flow = FlowId(reader.array()?);
        let started = reader.moment()?;
        let ends = reader.moment()?;
        let issued = reader.moment()?;
        let expires = reader.moment()?;
        let round = u32::from_be_bytes(reader.array()?);
        let params = ParamsDigest::from_bytes(reader.array()?);
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

/// Enough until the year 10889; what is to last longer lasts until then.
fn six_bytes(moment: Timestamp) -> [u8; 6] {
    let [_, _, bytes @ ..] = moment.as_millis().min((1 << 48) - 1).to_be_bytes();
    bytes
}

fn write_text(out: &mut Vec<u8>, what: &'static str, text: &str) -> Result<(), SealError> {
    let length = u16::try_from(text.len()).map_err(|_| SealError::ClaimTooLong(what))?;
    out.extend_from_slice(&length.to_be_bytes());
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

    fn moment(&mut self) -> Option<Timestamp> {
        let six: [u8; 6] = self.array()?;
        Some(Timestamp::from_millis(six.into_iter().fold(0, |millis, byte| millis << 8 | u64::from(byte))))
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = usize::from(u16::from_be_bytes(self.array()?));
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }
}
