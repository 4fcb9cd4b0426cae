//! Looking into a state without the request it belongs to: for an operator who wonders, and never for a server.

use std::fmt;

use mrtr_schema::Revision;

use crate::codec::NONCE_LENGTH;
use crate::flow::FlowProgress;
use crate::keys::KeyId;
use crate::random::TokenId;
use crate::sealer::Sealer;
use crate::token::Claims;
use crate::{Refusal, Timestamp, token};

/// The part of a state that can be read without its keys: how it was sealed, and with which key. None of it is
/// authenticated.
///
/// ```
/// use mrtr_state::StateHeader;
///
#[doc = include_str!("../doc/sealing.txt")]
/// let state = sealer.seal(&cart, &binding, noon)?;
/// let header = StateHeader::read(state.untrusted_text())?;
/// assert_eq!((header.codec, header.key.as_str()), ('x', "process"));
/// assert!(StateHeader::read("made up").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateHeader {
    /// The letter of its codec.
    pub codec: char,
    /// The key that it names.
    pub key: KeyId,
    /// The bytes that are sealed, with what the codec adds to them.
    pub sealed_bytes: usize,
    /// Its id, which is random.
    pub token: TokenId,
}

impl StateHeader {
    /// Reads the part of a state that is not sealed.
    pub fn read(untrusted_text: &str) -> Result<Self, Refusal> {
        let codec = token::letter(untrusted_text)?;
        let (_, key, sealed) = token::read(codec, untrusted_text)?;
        let key = KeyId::new(key).map_err(|_| Refusal::Malformed)?;
        let (sealed, nonce) = sealed.split_last_chunk::<NONCE_LENGTH>().ok_or(Refusal::Malformed)?;
        Ok(Self { codec, key, sealed_bytes: sealed.len(), token: TokenId(*nonce.first_chunk().expect("it is longer")) })
    }
}

/// The claims of a state, once its keys have opened it. This is no [`Opened`](crate::Opened): nothing was compared with
/// a request, and no flow continues from it.
///
/// ```
#[doc = include_str!("../doc/sealing.txt")]
/// let state = sealer.seal(&cart, &binding, noon)?;
/// let claims = sealer.inspect(state.untrusted_text())?;
/// assert_eq!((claims.method.as_str(), claims.name.as_str()), ("tools/call", "check_out"));
/// assert_eq!(claims.progress.round(), 1);
/// assert!(!claims.has_principal);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct StateClaims {
    /// The revision of the request.
    pub revision: Revision,
    /// The flow and its round.
    pub progress: FlowProgress,
    /// The time at which it was sealed.
    pub issued: Timestamp,
    /// The time at which it stops opening.
    pub expires: Timestamp,
    /// True if it belongs to one caller. Only the caller's own name can show to which.
    pub has_principal: bool,
    /// The tenant, if there is one.
    pub tenant: Option<String>,
    /// The kind of the payload.
    pub kind: String,
    /// The deployment.
    pub audience: String,
    /// The method of the request.
    pub method: String,
    /// The tool or prompt by name, or the resource by URI.
    pub name: String,
    /// The version of the handler that sealed it.
    pub handler_version: String,
    payload: Vec<u8>,
}

impl StateClaims {
    /// The payload. It may hold what a person answered, and is not for a log.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }
}

/// Shows where it belongs, and nothing of the payload.
impl fmt::Debug for StateClaims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateClaims")
            .field("progress", &self.progress)
            .field("method", &self.method)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Sealer {
    /// Opens a state for an operator to look at, whatever request, caller and time it was sealed for. A server never
    /// calls this: it has [`open`](Self::open), which compares all of these.
    ///
    /// ```
    /// use mrtr_state::{Refusal, Sealer};
    ///
    #[doc = include_str!("../doc/sealing.txt")]
    /// let state = sealer.seal(&cart, &binding, noon)?;
    /// assert_eq!(sealer.inspect(state.untrusted_text())?.kind, "com.example/cart");
    /// let others = Sealer::this_process_only();
    /// assert_eq!(others.inspect(state.untrusted_text()).unwrap_err(), Refusal::Forged);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn inspect(&self, untrusted_text: &str) -> Result<StateClaims, Refusal> {
        if untrusted_text.len() > self.longest_state() {
            return Err(Refusal::TooLong);
        }
        let (header, key, mut sealed) = token::read(self.codec.letter(), untrusted_text)?;
        let ring = self.keys.load();
        let key = ring.keys.iter().find(|known| known.id.as_str() == key).ok_or(Refusal::UnknownKey)?;
        let (sealed, nonce) = sealed.split_last_chunk_mut::<NONCE_LENGTH>().ok_or(Refusal::Malformed)?;
        let message = key.sealing.open(nonce, header.as_bytes(), sealed).ok_or(Refusal::Forged)?;
        let (claims, payload) = Claims::read(message).ok_or(Refusal::UnknownFormat)?;
        Ok(StateClaims {
            revision: claims.revision,
            progress: claims.progress,
            issued: claims.issued,
            expires: claims.expires,
            has_principal: claims.principal.is_some(),
            tenant: claims.tenant.map(str::to_owned),
            kind: claims.kind.to_owned(),
            audience: claims.audience.to_owned(),
            method: claims.method.to_owned(),
            name: claims.name.to_owned(),
            handler_version: claims.handler_version.to_owned(),
            payload: payload.to_vec(),
        })
    }
}
