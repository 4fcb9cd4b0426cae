//! Sealing a state, and the only way to open one.

use std::env::VarError;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use mrtr_schema::RequestState;
use sha2::{Digest, Sha256};
use tracing::info;
use zeroize::Zeroizing;

use crate::binding::Binding;
use crate::binding::{PreparedKey, PreparedRing};
use crate::codec::{Codec, NONCE_LENGTH, default_codec};
use crate::digest::AnswersDigest;
use crate::flow::FlowProgress;
use crate::flow::SealOptions;
use crate::flow::{ALLOWED_SKEW, Lifetimes};
use crate::keys::{Key, KeyId, KeyRing, KeySource};
use crate::random::{FlowId, TokenId};
use crate::random::{ProcessRandom, Random};
use crate::token::{Claims, PrincipalDigest};
use crate::token_use::{TokenUse, UseKey};
use crate::{KeyError, Payload, Refusal, SealError, Timestamp, token};

/// Seals states for one deployment, and opens them again. Cheap to clone; clones share keys.
///
/// ```
/// use mrtr_schema::{RawMembers, Revision};
/// use mrtr_state::{Binding, JsonPayload, Refusal, Sealer, Timestamp};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Cart { items: Vec<String> }
/// impl JsonPayload for Cart {
///     const KIND: &'static str = "com.example/cart";
/// }
///
/// let sealer = Sealer::this_process_only();
/// let params = RawMembers::parse(r#"{"name": "check_out"}"#)?;
/// let binding = Binding::new(Revision::V2026_07_28, "tools/call", &params)?;
/// let noon = Timestamp::from_millis(1_785_240_000_000);
///
/// let state = sealer.seal(&Cart { items: vec!["tea".into()] }, &binding, noon)?;
/// assert_eq!(sealer.open::<Cart>(&state, &binding, noon)?.payload().items, ["tea"]);
///
/// let other = RawMembers::parse(r#"{"name": "cancel"}"#)?;
/// let other = Binding::new(Revision::V2026_07_28, "tools/call", &other)?;
/// assert_eq!(sealer.open::<Cart>(&state, &other, noon).unwrap_err(), Refusal::OtherName);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Sealer {
    pub(crate) keys: Arc<ArcSwap<PreparedRing>>,
    pub(crate) codec: Arc<dyn Codec>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) audience: Arc<str>,
    lifetimes: Lifetimes,
    limit: usize,
}

/// The longest state that is sealed or opened unless [`Sealer::limit`] says otherwise: 64 KiB.
///
/// ```
/// use mrtr_state::{DEFAULT_LIMIT, Sealer};
///
/// let sealer = Sealer::this_process_only();
/// assert_eq!(sealer.longest_state(), DEFAULT_LIMIT);
/// assert_eq!(sealer.limit(8 * 1024).longest_state(), 8 * 1024);
/// ```
pub const DEFAULT_LIMIT: usize = 64 * 1024;

/// The audience of what one process seals for itself.
const THIS_PROCESS: &str = "this-process";

impl Sealer {
    /// Seals with these keys, for this audience: an id of the deployment that shares the keys, 1 to 255 bytes. One id
    /// is taken: [`this_process_only`](Self::this_process_only) seals for `this-process`.
    ///
    /// Two deployments that were given the same keys by mistake do not open each other's states.
    ///
    /// ```
    /// use mrtr_state::{Key, KeyRing, Refusal, Sealer};
    ///
    #[doc = include_str!("../doc/sealing.txt")]
    /// let keys = KeyRing::new(Key::new("2026-11", [7; 32])?);
    /// let state = Sealer::new(keys.clone(), "shop-eu")?.seal(&cart, &binding, noon)?;
    /// let elsewhere = Sealer::new(keys, "shop-us")?;
    /// assert_eq!(elsewhere.open::<Cart>(&state, &binding, noon).unwrap_err(), Refusal::OtherAudience);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(keys: KeyRing, audience: impl Into<String>) -> Result<Self, KeyError> {
        let audience = audience.into();
        if audience.is_empty() || audience.len() > 255 {
            return Err(KeyError::BadAudience);
        }
        // The keys of a deployment would be taken for keys that end with their process, and nothing sealed at rest.
        if audience == THIS_PROCESS {
            return Err(KeyError::ReservedAudience);
        }
        Ok(Self::for_audience(keys, audience))
    }

    fn for_audience(keys: KeyRing, audience: String) -> Self {
        let codec: Arc<dyn Codec> = Arc::new(default_codec());
        Self {
            keys: Arc::new(ArcSwap::from_pointee(PreparedRing::new(keys, &*codec))),
            codec,
            random: Arc::new(ProcessRandom::new()),
            audience: audience.into(),
            lifetimes: Lifetimes::default(),
            limit: DEFAULT_LIMIT,
        }
    }

    /// Takes audience and keys from an environment variable: `AUDIENCE=ID:BASE64[,ID:BASE64…]`.
    ///
    /// ```
    /// use mrtr_state::{KeyError, Sealer};
    ///
    /// // SHOP_KEYS="shop-eu=2026-11:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=" would do.
    /// assert!(matches!(Sealer::from_env("SHOP_KEYS"), Err(KeyError::NoVariable(_))));
    /// ```
    pub fn from_env(variable: &str) -> Result<Self, KeyError> {
        let text = std::env::var(variable).map_err(|error| match error {
            VarError::NotPresent => KeyError::NoVariable(variable.to_owned()),
            VarError::NotUnicode(_) => KeyError::VariableNotText(variable.to_owned()),
        })?;
        Self::from_text(&Zeroizing::new(text))
            .map_err(|problem| KeyError::Variable { variable: variable.to_owned(), problem: problem.into() })
    }

    /// Takes audience and keys from a file: `AUDIENCE=ID:BASE64[,ID:BASE64…]`, in which there may be spaces and new
    /// lines.
    ///
    /// ```
    /// use mrtr_state::Sealer;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("keys");
    /// std::fs::write(&path, "shop-eu = 2026-11:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=\n")?;
    /// assert_eq!(Sealer::from_file(&path)?.audience(), "shop-eu");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        let path = path.as_ref();
        let text =
            std::fs::read_to_string(path).map_err(|source| KeyError::Unreadable { path: path.to_owned(), source })?;
        Self::from_text(&Zeroizing::new(text))
            .map_err(|problem| KeyError::File { path: path.to_owned(), problem: problem.into() })
    }

    fn from_text(text: &str) -> Result<Self, KeyError> {
        let (audience, keys) = text.split_once('=').ok_or(KeyError::NoAudience)?;
        let audience = audience.trim();
        if audience.contains([':', ',']) {
            return Err(KeyError::NoAudience);
        }
        Self::new(keys.parse()?, audience)
    }

    /// Takes the keys from a source, such as a KMS.
    ///
    /// ```
    /// use mrtr_state::{Key, KeyRing, KeySource, Sealer};
    ///
    /// struct Vault;
    ///
    /// impl KeySource for Vault {
    ///     async fn keys(&self) -> Result<KeyRing, Box<dyn std::error::Error + Send + Sync>> {
    ///         Ok(KeyRing::new(Key::new("2026-11", [7; 32])?))
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), mrtr_state::KeyError> {
    /// let sealer = Sealer::from_source(&Vault, "shop-eu").await?;
    /// assert_eq!(sealer.audience(), "shop-eu");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn from_source(source: &impl KeySource, audience: impl Into<String>) -> Result<Self, KeyError> {
        let keys = source.keys().await.map_err(KeyError::Source)?;
        Self::new(keys, audience)
    }

    /// Makes up a key that no other process has, and says so in the log: neither a second instance nor this one after
    /// a restart opens what it sealed. A first program is fine with that, so the line is at INFO; a server that listens
    /// beyond this machine warns.
    pub fn this_process_only() -> Self {
        info!(
            "states are sealed with a key of this process: no other instance, and no restart, will open them. \
             Seal with one that stays, `Sealer::from_env(\"MRTR_STATE_KEYS\")`; `openssl rand -base64 32` makes a key"
        );
        let random = ProcessRandom::new();
        let mut secret = [0; 32];
        random.fill(&mut secret);
        let key = Key::new("process", secret).expect("the name and the length are right");
        Self::for_audience(KeyRing::new(key), THIS_PROCESS.to_owned())
    }

    /// Seals with another codec, and opens only what that codec sealed. From here on it shares keys with its own
    /// clones, and no longer with those that were made before.
    #[must_use]
    pub fn codec(self, codec: impl Codec) -> Self {
        let ring = PreparedRing::new(self.keys.load().ring.clone(), &codec);
        Self { keys: Arc::new(ArcSwap::from_pointee(ring)), codec: Arc::new(codec), ..self }
    }

    /// Takes nonces and ids from another source.
    #[must_use]
    pub fn random(self, random: impl Random + 'static) -> Self {
        Self { random: Arc::new(random), ..self }
    }

    /// Sets how long states and flows live.
    ///
    /// ```
    /// use std::time::Duration;
    /// use mrtr_state::{Lifetimes, Refusal};
    ///
    #[doc = include_str!("../doc/sealing.txt")]
    /// let sealer = sealer.lifetimes(Lifetimes { round: Duration::from_mins(5), ..Lifetimes::default() });
    /// let state = sealer.seal(&cart, &binding, noon)?;
    /// let late = noon + Duration::from_mins(5);
    /// assert_eq!(sealer.open::<Cart>(&state, &binding, late).unwrap_err(), Refusal::Expired);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn lifetimes(self, lifetimes: Lifetimes) -> Self {
        Self { lifetimes, ..self }
    }

    /// Seals and opens states of at most this many bytes of text.
    #[must_use]
    pub fn limit(self, bytes: usize) -> Self {
        Self { limit: bytes, ..self }
    }

    /// Replaces the keys, in all clones at once.
    ///
    /// ```
    /// use mrtr_state::{Key, KeyRing, Sealer};
    ///
    #[doc = include_str!("../doc/sealing.txt")]
    /// let (old, new) = (Key::new("2026-11", [7; 32])?, Key::new("2026-12", [8; 32])?);
    /// let sealer = Sealer::new(KeyRing::new(old.clone()), "shop-eu")?;
    /// let state = sealer.seal(&cart, &binding, noon)?;
    /// sealer.replace_keys(KeyRing::new(new).also_opens(old)?);
    /// assert_eq!(sealer.open::<Cart>(&state, &binding, noon)?.key().as_str(), "2026-11");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replace_keys(&self, keys: KeyRing) {
        self.keys.store(Arc::new(PreparedRing::new(keys, &*self.codec)));
    }

    /// Replaces the keys by those that the source has now. If the source fails, the keys stay as they were.
    ///
    /// ```
    /// use mrtr_state::{Key, KeyError, KeyRing, KeySource, Sealer};
    ///
    /// struct Unreachable;
    ///
    /// impl KeySource for Unreachable {
    ///     async fn keys(&self) -> Result<KeyRing, Box<dyn std::error::Error + Send + Sync>> {
    ///         Err("the vault does not answer".into())
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), KeyError> {
    /// let sealer = Sealer::new(KeyRing::new(Key::new("2026-11", [7; 32])?), "shop-eu")?;
    /// assert!(matches!(sealer.reload(&Unreachable).await, Err(KeyError::Source(_))));
    /// assert!(format!("{sealer:?}").contains("2026-11"), "it seals on with the key it has");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn reload(&self, source: &impl KeySource) -> Result<(), KeyError> {
        let keys = source.keys().await.map_err(KeyError::Source)?;
        self.replace_keys(keys);
        Ok(())
    }

    /// The audience: the deployment that it seals for.
    pub fn audience(&self) -> &str {
        &self.audience
    }

    /// Returns true if another process, or this one after a restart, opens what it sealed. With a key of this process
    /// only, neither does.
    ///
    /// ```
    /// assert!(!mrtr_state::Sealer::this_process_only().outlives_process());
    /// ```
    pub fn outlives_process(&self) -> bool {
        *self.audience != *THIS_PROCESS
    }

    /// The longest state it seals or opens, in bytes of text.
    pub fn longest_state(&self) -> usize {
        self.limit
    }

    /// The time for which a state opens unless its options say otherwise.
    pub fn round_lifetime(&self) -> Duration {
        self.lifetimes.round
    }

    /// Begins a flow, at its first round.
    pub fn begin(&self, now: Timestamp) -> FlowProgress {
        let mut flow = [0; 16];
        self.random.fill(&mut flow);
        self.first_round(FlowId(flow), now)
    }

    fn first_round(&self, flow: FlowId, now: Timestamp) -> FlowProgress {
        FlowProgress { flow, started: now, ends: now + self.lifetimes.flow, round: 1 }
    }

    /// Seals the first state of a flow.
    pub fn seal<P: Payload>(
        &self,
        payload: &P,
        binding: &Binding<'_>,
        now: Timestamp,
    ) -> Result<RequestState, SealError> {
        self.seal_first(payload, binding, SealOptions::new, now)
    }

    /// Seals the first state of a flow, with options made for the flow that begins.
    ///
    /// ```
    /// use mrtr_state::SealOptions;
    ///
    #[doc = include_str!("../doc/sealing.txt")]
    /// let state = sealer.seal_first(&cart, &binding, |flow| SealOptions::new(flow).handler_version("7"), noon)?;
    /// assert_eq!(sealer.open::<Cart>(&state, &binding, noon)?.handler_version(), "7");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn seal_first<'s, P: Payload>(
        &self,
        payload: &P,
        binding: &Binding<'_>,
        options: impl FnOnce(FlowProgress) -> SealOptions<'s>,
        now: Timestamp,
    ) -> Result<RequestState, SealError> {
        // Drawn in one call: each draw reads the process id, which takes a system call.
        let mut random = [0; 16 + NONCE_LENGTH];
        self.random.fill(&mut random);
        let (flow, nonce) = random.split_first_chunk().expect("it is longer");
        let nonce = nonce.try_into().expect("the rest is a nonce");
        self.seal_with(nonce, payload, binding, options(self.first_round(FlowId(*flow), now)), now)
    }

    /// Seals a state of a flow that [`begin`](Self::begin) or [`Opened::next_round`] gave.
    pub fn seal_as<P: Payload>(
        &self,
        payload: &P,
        binding: &Binding<'_>,
        options: SealOptions<'_>,
        now: Timestamp,
    ) -> Result<RequestState, SealError> {
        let mut nonce = [0; NONCE_LENGTH];
        self.random.fill(&mut nonce);
        self.seal_with(&nonce, payload, binding, options, now)
    }

    fn seal_with<P: Payload>(
        &self,
        nonce: &[u8; NONCE_LENGTH],
        payload: &P,
        binding: &Binding<'_>,
        options: SealOptions<'_>,
        now: Timestamp,
    ) -> Result<RequestState, SealError> {
        let SealOptions { progress, handler_version, valid_for } = options;
        if progress.round > self.lifetimes.rounds {
            return Err(SealError::TooManyRounds { round: progress.round, limit: self.lifetimes.rounds });
        }
        if now >= progress.ends {
            return Err(SealError::FlowEnded);
        }
        let ring = self.keys.load();
        let key = &ring.keys[0];
        let lifetimes = Lifetimes { round: valid_for.unwrap_or(self.lifetimes.round), ..self.lifetimes };
        let claims = Claims {
            revision: binding.revision,
            progress,
            issued: now,
            expires: lifetimes.expiry(progress.ends, now),
            params: binding.params_under(key)?,
            principal: binding.principal_under(key),
            tenant: binding.tenant,
            kind: P::KIND,
            audience: &self.audience,
            method: binding.method,
            name: &binding.name,
            handler_version,
        };
        let mut message = Vec::with_capacity(512);
        claims.write(&mut message)?;
        payload.write(&mut message).map_err(SealError::Payload)?;
        key.sealing.seal(nonce, key.header.as_bytes(), &mut message);
        message.extend_from_slice(nonce);
        let length = token::length(&key.header, message.len());
        if length > self.limit {
            return Err(SealError::TooLong { length, limit: self.limit });
        }
        Ok(token::write(&key.header, &message))
    }

    /// Opens a state that came with a request.
    ///
    /// It checks everything that the state was sealed with: that it is ours, of this audience and kind, fresh, and for
    /// this revision, request, principal and tenant. It logs nothing: the caller knows more of the request than its
    /// state does, and has [`Refusal::label`] for the line that it writes.
    pub fn open<P: Payload>(
        &self,
        state: &RequestState,
        binding: &Binding<'_>,
        now: Timestamp,
    ) -> Result<Opened<P>, Refusal> {
        self.open_text(state.untrusted_text(), binding, now)
    }

    /// Opens a state by its text, which may still stand in the message that brought it.
    ///
    /// ```
    #[doc = include_str!("../doc/sealing.txt")]
    /// let state = sealer.seal(&cart, &binding, noon)?;
    /// assert!(sealer.open_text::<Cart>(state.untrusted_text(), &binding, noon).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_text<P: Payload>(
        &self,
        untrusted_text: &str,
        binding: &Binding<'_>,
        now: Timestamp,
    ) -> Result<Opened<P>, Refusal> {
        if untrusted_text.len() > self.limit {
            return Err(Refusal::TooLong);
        }
        let (header, key, mut sealed) = token::read(self.codec.letter(), untrusted_text)?;
        let ring = self.keys.load();
        let key = ring.keys.iter().find(|known| known.id.as_str() == key).ok_or(Refusal::UnknownKey)?;
        let (sealed, nonce) = sealed.split_last_chunk_mut::<NONCE_LENGTH>().ok_or(Refusal::Malformed)?;
        let message = key.sealing.open(nonce, header.as_bytes(), sealed).ok_or(Refusal::Forged)?;
        let (claims, payload) = Claims::read(message).ok_or(Refusal::UnknownFormat)?;
        if claims.kind != P::KIND {
            return Err(Refusal::OtherKind);
        }
        check_times(&claims, ring.ring.cut_off(), now)?;
        self.check_binding(&claims, key, binding)?;
        Ok(Opened {
            payload: P::read(payload).map_err(|_| Refusal::UnreadablePayload)?,
            progress: claims.progress,
            token: TokenId(*nonce.first_chunk().expect("it is longer")),
            issued: claims.issued,
            expires: claims.expires,
            handler_version: claims.handler_version.into(),
            key: Arc::clone(key),
            audience: Arc::clone(&self.audience),
            principal: claims.principal,
        })
    }

    fn check_binding(&self, claims: &Claims<'_>, key: &Arc<PreparedKey>, binding: &Binding<'_>) -> Result<(), Refusal> {
        let checks = [
            (claims.audience == &*self.audience, Refusal::OtherAudience),
            (claims.tenant == binding.tenant, Refusal::OtherTenant),
            (claims.principal == binding.principal_under(key), Refusal::OtherPrincipal),
            (claims.revision == binding.revision, Refusal::OtherRevision),
            (claims.method == binding.method, Refusal::OtherMethod),
            (claims.name == binding.name, Refusal::OtherName),
            (binding.params_under(key) == Ok(claims.params), Refusal::OtherParams),
        ];
        match checks.into_iter().find(|(holds, _)| !holds) {
            Some((_, refusal)) => Err(refusal),
            None => Ok(()),
        }
    }
}

fn check_times(claims: &Claims<'_>, cut_off: Option<Timestamp>, now: Timestamp) -> Result<(), Refusal> {
    if cut_off.is_some_and(|moment| claims.issued < moment) {
        return Err(Refusal::BeforeCutOff);
    }
    if claims.issued > now + ALLOWED_SKEW {
        return Err(Refusal::FromTheFuture);
    }
    if now >= claims.progress.ends {
        return Err(Refusal::FlowEnded);
    }
    if now >= claims.expires {
        return Err(Refusal::Expired);
    }
    Ok(())
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.keys.load().keys.iter().map(|key| key.id.clone()).collect();
        f.debug_struct("Sealer").field("audience", &self.audience).field("keys", &keys).finish_non_exhaustive()
    }
}

/// A state that was opened: ours, fresh, and for the request it came with. Only [`Sealer::open`] and
/// [`Sealer::open_text`] make one.
///
/// ```
/// use mrtr_state::SealOptions;
///
#[doc = include_str!("../doc/sealing.txt")]
/// let state = sealer.seal(&cart, &binding, noon)?;
/// let opened = sealer.open::<Cart>(&state, &binding, noon)?;
/// assert_eq!((opened.progress().round(), opened.issued()), (1, noon));
///
/// let options = SealOptions::new(opened.next_round());
/// let mut cart = opened.into_payload();
/// cart.items.push("milk".into());
/// let next = sealer.seal_as(&cart, &binding, options, noon)?;
/// assert_eq!(sealer.open::<Cart>(&next, &binding, noon)?.progress().round(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Opened<P> {
    payload: P,
    progress: FlowProgress,
    token: TokenId,
    issued: Timestamp,
    expires: Timestamp,
    handler_version: Box<str>,
    key: Arc<PreparedKey>,
    audience: Arc<str>,
    principal: Option<PrincipalDigest>,
}

/// Shows the claims, not the payload: a state may carry what does not belong in a log.
impl<P> fmt::Debug for Opened<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("progress", &self.progress).field("token", &self.token).finish_non_exhaustive()
    }
}

impl<P> Opened<P> {
    /// The payload.
    pub fn payload(&self) -> &P {
        &self.payload
    }

    /// Takes the payload out.
    pub fn into_payload(self) -> P {
        self.payload
    }

    /// The flow and round it was sealed in.
    pub fn progress(&self) -> FlowProgress {
        self.progress
    }

    /// Its flow, one round on. The next state is sealed with this.
    pub fn next_round(&self) -> FlowProgress {
        self.progress.next_round()
    }

    /// Its id.
    pub fn token(&self) -> TokenId {
        self.token
    }

    /// The time at which it was sealed.
    pub fn issued(&self) -> Timestamp {
        self.issued
    }

    /// The time at which it stops opening.
    pub fn expires(&self) -> Timestamp {
        self.expires
    }

    /// The version of the handler that sealed it.
    pub fn handler_version(&self) -> &str {
        &self.handler_version
    }

    /// The key it was sealed with.
    pub fn key(&self) -> &KeyId {
        &self.key.id
    }

    /// The token and the answers that came with it, for a store that lets each token be used once.
    ///
    /// ```
    /// use mrtr_state::AnswersDigest;
    ///
    #[doc = include_str!("../doc/sealing.txt")]
    /// let opened = sealer.open::<Cart>(&sealer.seal(&cart, &binding, noon)?, &binding, noon)?;
    /// assert_eq!(opened.token_use(AnswersDigest::of(None)?).issued(), noon);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn token_use(&self, answers: AnswersDigest) -> TokenUse {
        let mut digest = Sha256::new();
        digest.update((self.audience.len() as u64).to_be_bytes());
        digest.update(self.audience.as_bytes());
        match &self.principal {
            Some(PrincipalDigest(principal)) => {
                digest.update([1]);
                digest.update(principal);
            }
            None => digest.update([0]),
        }
        digest.update(self.token.as_bytes());
        TokenUse {
            key: UseKey(digest.finalize().into()),
            answers,
            issued: self.issued,
            keep_until: self.expires + 2 * ALLOWED_SKEW,
        }
    }
}
