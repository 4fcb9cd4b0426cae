//! Errors: a state that is refused or cannot be sealed, and keys, parameters or payloads that cannot be used.

use std::error::Error;
use std::fmt;

use mrtr_schema::{ErrorCode, ErrorObject};

use crate::keys::KeyId;

/// The reason a state was refused, for the log and the metrics. The client learns nothing but [`Refusal::to_error`].
///
/// ```
/// use mrtr_schema::RequestState;
/// use mrtr_state::Refusal;
///
#[doc = include_str!("../doc/sealing.txt")]
/// let refusal = sealer.open::<Cart>(&RequestState::new("made up"), &binding, noon).unwrap_err();
/// assert_eq!(refusal, Refusal::Malformed);
/// assert_eq!(refusal.label(), "malformed", "for the metrics");
/// assert_eq!(refusal.to_error().message, "The request state is not valid", "for the client");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Longer than the limit.
    #[error("it is longer than the limit")]
    TooLong,
    /// Not the text of a token of this version and codec, in its one spelling.
    #[error("it is not spelt like a token of this version and codec")]
    Malformed,
    /// Sealed under a key that the ring does not have.
    #[error("its key is not in the ring")]
    UnknownKey,
    /// Not sealed by us, or changed since.
    #[error("it was not sealed with the key it names")]
    Forged,
    /// The sealed claims are not as this version writes them.
    #[error("its claims are not of this version")]
    UnknownFormat,
    /// The state was sealed with another kind of payload.
    #[error("its payload is of another kind")]
    OtherKind,
    /// The payload is of the right kind, but cannot be read as such.
    #[error("its payload cannot be read")]
    UnreadablePayload,
    /// The state was issued before the cut-off.
    #[error("it was issued before the cut-off")]
    BeforeCutOff,
    /// The state was issued further in the future than clocks may differ.
    #[error("it was issued in the future")]
    FromTheFuture,
    /// The time in which the client could bring the state back is over.
    #[error("it has expired")]
    Expired,
    /// Its flow has lasted as long as flows may.
    #[error("its flow has ended")]
    FlowEnded,
    /// The state is for another deployment.
    #[error("it is for another audience")]
    OtherAudience,
    /// The state is for another tenant, or only one of the state and the request has a tenant.
    #[error("it is for another tenant")]
    OtherTenant,
    /// The state is for another principal, or only one of the state and the request has a principal.
    #[error("it is for another principal")]
    OtherPrincipal,
    /// The state is for another revision.
    #[error("it is of another revision")]
    OtherRevision,
    /// The state is for another method.
    #[error("it is for another method")]
    OtherMethod,
    /// The state is for another tool, prompt or resource.
    #[error("it is for another tool, prompt or resource")]
    OtherName,
    /// The state is for other parameters.
    #[error("it is for other parameters")]
    OtherParams,
}

impl Refusal {
    /// Returns a short name of the reason, for metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::TooLong => "too_long",
            Self::Malformed => "malformed",
            Self::UnknownKey => "unknown_key",
            Self::Forged => "forged",
            Self::UnknownFormat => "unknown_format",
            Self::OtherKind => "other_kind",
            Self::UnreadablePayload => "unreadable_payload",
            Self::BeforeCutOff => "before_cut_off",
            Self::FromTheFuture => "from_the_future",
            Self::Expired => "expired",
            Self::FlowEnded => "flow_ended",
            Self::OtherAudience => "other_audience",
            Self::OtherTenant => "other_tenant",
            Self::OtherPrincipal => "other_principal",
            Self::OtherRevision => "other_revision",
            Self::OtherMethod => "other_method",
            Self::OtherName => "other_name",
            Self::OtherParams => "other_params",
        }
    }

    /// The error that the client gets. It is the same for every reason, so that the client learns nothing from it.
    ///
    /// ```
    /// use mrtr_state::Refusal;
    ///
    /// let error = Refusal::Expired.to_error();
    /// assert_eq!(error.code, mrtr_schema::ErrorCode::INVALID_PARAMS);
    /// assert_eq!(error.message, Refusal::Forged.to_error().message);
    /// ```
    pub fn to_error(self) -> ErrorObject {
        ErrorObject::new(ErrorCode::INVALID_PARAMS, "The request state is not valid")
    }
}

/// The reason a state could not be sealed. This crate is to blame, or the author of the handler.
///
/// ```
/// use mrtr_state::SealError;
///
#[doc = include_str!("../doc/sealing.txt")]
/// let cart = Cart { items: vec!["tea".into(); 1000] };
/// let sealed = sealer.limit(1024).seal(&cart, &binding, noon);
/// assert!(matches!(sealed, Err(SealError::TooLong { limit: 1024, .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// It would be longer than the limit.
    #[error("the state would be {length} bytes long; the limit is {limit}")]
    TooLong {
        /// The length it would have, in bytes.
        length: usize,
        /// The greatest length it may have, in bytes.
        limit: usize,
    },
    /// The flow has had as many rounds as a flow may have.
    #[error("round {round} exceeds the limit of {limit} rounds")]
    TooManyRounds {
        /// The round.
        round: u32,
        /// The number of rounds a flow may have.
        limit: u32,
    },
    /// The flow has lasted as long as flows may.
    #[error("the flow has reached its maximum lifetime")]
    FlowEnded,
    /// A text that goes into the claims is longer than the format allows.
    #[error("the {0} is longer than a state can hold")]
    ClaimTooLong(&'static str),
    /// The request's parameters cannot be digested.
    #[error("the parameters cannot be digested")]
    Params(#[from] DigestError),
    /// The payload cannot be written.
    #[error("the payload cannot be written")]
    Payload(#[source] PayloadError),
}

/// The reason keys cannot be used as they were given. It never shows the secret.
///
/// ```
/// use mrtr_state::{Key, KeyError, KeyRing};
///
/// let error = Key::new("2026-11", [7; 16]).unwrap_err();
/// let says = "key 2026-11 has 16 bytes, and at least 32 are needed: `openssl rand -base64 32` makes one";
/// assert_eq!(error.to_string(), says);
/// assert!(matches!("secret".parse::<KeyRing>(), Err(KeyError::NotAKey)));
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The name breaks the rules. It is not repeated: it may be a secret in the wrong place.
    #[error("a key's name has 1 to 32 of A-Z a-z 0-9 _ -; this one has {length} bytes")]
    BadId {
        /// Its length, in bytes.
        length: usize,
    },
    /// Two keys have the same name.
    #[error("the ring has two keys named {0}")]
    DuplicateId(KeyId),
    /// The secret is too short.
    #[error("key {id} has {length} bytes, and at least 32 are needed: `openssl rand -base64 32` makes one")]
    TooShort {
        /// The key.
        id: KeyId,
        /// Its length, in bytes.
        length: usize,
    },
    /// The secret is not base64.
    #[error("key {0} is not base64: `openssl rand -base64 32` makes one that is")]
    NotBase64(KeyId),
    /// The text is not a key.
    #[error("a key is written ID:BASE64, several with commas between them: `openssl rand -base64 32` makes the BASE64")]
    NotAKey,
    /// The text does not name the audience: the deployment that the keys are for.
    #[error(
        "keys are written AUDIENCE=ID:BASE64, the audience an id of this deployment without `=`, `:` and `,`: \
         `openssl rand -base64 32` makes the BASE64"
    )]
    NoAudience,
    /// The audience is empty or too long.
    #[error("an audience has 1 to 255 bytes")]
    BadAudience,
    /// The audience is the one that is reserved for keys that live in one process.
    #[error(
        "`this-process` is the audience of `Sealer::this_process_only`, and no deployment's: \
         write an id of this deployment before the `=` of its keys, such as `shop-eu`"
    )]
    ReservedAudience,
    /// The environment variable is not set.
    #[error(
        "the environment variable {0} is not set: set it to AUDIENCE=ID:BASE64, \
         as by `export {0}=\"my-server=k1:$(openssl rand -base64 32)\"`"
    )]
    NoVariable(String),
    /// The environment variable is set to bytes that are not text.
    #[error(
        "the environment variable {0} is not text in UTF-8: set it to AUDIENCE=ID:BASE64, \
         as by `export {0}=\"my-server=k1:$(openssl rand -base64 32)\"`"
    )]
    VariableNotText(String),
    /// The text of the environment variable cannot be used.
    #[error("the environment variable {variable}: {problem}")]
    Variable {
        /// The variable.
        variable: String,
        /// The reason.
        problem: Box<KeyError>,
    },
    /// The text of the file cannot be used.
    #[error("the key file {path}: {problem}")]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// The reason.
        problem: Box<KeyError>,
    },
    /// The file could not be read.
    #[error("the key file {path} cannot be read")]
    Unreadable {
        /// The file.
        path: std::path::PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The source of keys failed.
    #[error("the source of keys failed")]
    Source(#[source] Box<dyn Error + Send + Sync>),
}

/// Shows the error in words, with its causes, as a `main` that returns it or an `unwrap` prints it.
impl fmt::Debug for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        let causes = std::iter::successors(self.source(), |cause| (*cause).source());
        causes.into_iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

/// The reason no digest could be made: two readers might read such values differently.
///
/// ```
/// use mrtr_schema::RawMembers;
/// use mrtr_state::{AnswersDigest, DigestError};
///
/// let twice = RawMembers::parse(r#"{"arguments": {"to": "Ann", "to": "Bob"}}"#)?;
/// assert_eq!(AnswersDigest::of(Some(&twice)).unwrap_err(), DigestError::DuplicateKey);
/// let half = RawMembers::parse(r#"{"name": "\ud83d"}"#)?;
/// assert_eq!(AnswersDigest::of(Some(&half)).unwrap_err(), DigestError::NotText);
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DigestError {
    /// An object has the same key twice.
    #[error("an object has the same key twice")]
    DuplicateKey,
    /// Values are nested more deeply than any reader should follow.
    #[error("values are nested too deeply")]
    TooDeep,
    /// A string is not Unicode: half of a surrogate pair stands alone.
    #[error("a string is not text")]
    NotText,
}

/// The reason a payload could not be written or read: any error will do.
///
/// ```
/// use mrtr_state::{Payload, PayloadError};
///
/// struct Page(u8);
///
/// impl Payload for Page {
///     const KIND: &'static str = "com.example/page";
///
///     fn write(&self, out: &mut Vec<u8>) -> Result<(), PayloadError> {
///         out.push(self.0);
///         Ok(())
///     }
///
///     fn read(bytes: &[u8]) -> Result<Self, PayloadError> {
///         let [page] = bytes else { return Err("not one byte".into()) };
///         Ok(Self(*page))
///     }
/// }
///
/// assert_eq!(Page::read(&[]).err().unwrap().to_string(), "not one byte");
/// ```
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct PayloadError(Box<dyn Error + Send + Sync>);

macro_rules! payload_error_from {
    ($($error:ty),*) => {$(
        impl From<$error> for PayloadError {
            fn from(error: $error) -> Self {
                Self(error.into())
            }
        }
    )*};
}
payload_error_from!(
    serde_json::Error,
    std::array::TryFromSliceError,
    std::str::Utf8Error,
    &'static str,
    Box<dyn Error + Send + Sync>
);
