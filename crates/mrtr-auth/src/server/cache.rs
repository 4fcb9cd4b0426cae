//! Where an issuer's keys come from, and how long they are kept.
//!
//! No request waits for a fetch while a key fits: keys are fetched again in the background when they are a quarter of an
//! hour old. A key that is not known is looked for once in ten seconds, whoever asks and however often. After 24 hours
//! without a good fetch no key is trusted.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use reqwest::Client;
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::fetch;
use super::keys::KeySet;

/// A source of keys. Clones share what was fetched.
#[derive(Clone)]
pub(super) struct KeySource(Arc<Source>);

struct Source {
    place: Place,
    client: Client,
    kept: ArcSwapOption<Kept>,
    /// The time of the last attempt, held while one is under way: there is one at a time.
    attempt: Mutex<Option<Instant>>,
}

enum Place {
    Given,
    File(PathBuf),
    At(String),
    /// Where the metadata of the issuer says.
    Discovered(Arc<str>),
}

/// Keys, and when they were fetched.
struct Kept {
    keys: KeySet,
    at: Instant,
}

/// Keys to verify with.
pub(super) struct Keys(Arc<Kept>);

impl std::ops::Deref for Keys {
    type Target = KeySet;

    fn deref(&self) -> &KeySet {
        &self.0.keys
    }
}

impl KeySource {
    fn new(place: Place) -> Self {
        let kept = ArcSwapOption::empty();
        Self(Arc::new(Source { place, client: fetch::client(), kept, attempt: Mutex::new(None) }))
    }

    pub(super) fn given(keys: KeySet) -> Self {
        let source = Self::new(Place::Given);
        source.0.kept.store(Some(Arc::new(Kept { keys, at: Instant::now() })));
        source
    }

    pub(super) fn file(path: PathBuf) -> Self {
        Self::new(Place::File(path))
    }

    pub(super) fn at(url: String) -> Self {
        Self::new(Place::At(url))
    }

    pub(super) fn discovered(issuer: &Arc<str>) -> Self {
        Self::new(Place::Discovered(Arc::clone(issuer)))
    }

    /// Returns keys that have one of this id; `None` if the issuer has none that is trusted.
    pub(super) async fn with(&self, id: Option<&str>) -> Option<Keys> {
        if let Some(keys) = self.known(id) {
            return Some(keys);
        }
        self.refresh(id).await;
        self.known(id)
    }

    /// Returns the kept keys if they have one of this id and may be trusted, and sees that they are fetched again in
    /// time.
    fn known(&self, id: Option<&str>) -> Option<Keys> {
        let kept = self.0.kept.load_full()?;
        if matches!(self.0.place, Place::Given) {
            return kept.keys.find(id).is_some().then_some(Keys(kept));
        }
        let age = kept.at.elapsed();
        if age >= LONGEST_TRUSTED {
            return None;
        }
        if age >= FRESH && self.0.attempt.try_lock().is_ok_and(|last| may_try(*last)) {
            let source = self.clone();
            tokio::spawn(async move { source.refresh(None).await });
        }
        kept.keys.find(id).is_some().then_some(Keys(kept))
    }

    /// Fetches the keys, unless that was tried a moment ago, or they came while this waited for another's fetch.
    async fn refresh(&self, wanted: Option<&str>) {
        let mut last = self.0.attempt.lock().await;
        let is_here = wanted.is_some()
            && self
                .0
                .kept
                .load()
                .as_ref()
                .is_some_and(|kept| kept.at.elapsed() < LONGEST_TRUSTED && kept.keys.find(wanted).is_some());
        if is_here || !may_try(*last) || matches!(self.0.place, Place::Given) {
            return;
        }
        *last = Some(Instant::now());
        match self.fetched().await {
            Ok(keys) => self.0.kept.store(Some(Arc::new(Kept { keys, at: Instant::now() }))),
            Err(reason) => tracing::error!(
                source = ?self,
                reason,
                "the keys of an issuer cannot be fetched: its tokens are refused once the kept keys do not fit, or are 24 hours old"
            ),
        }
    }

    async fn fetched(&self) -> Result<KeySet, String> {
        let source = &*self.0;
        let text = match &source.place {
            Place::Given => return Err("they were given".to_owned()),
            Place::File(path) => tokio::fs::read(path).await.map_err(|error| format!("{}: {error}", path.display()))?,
            Place::At(url) => fetch::get(&source.client, url).await?,
            Place::Discovered(issuer) => {
                let url = key_url(&source.client, issuer).await?;
                fetch::get(&source.client, &url).await?
            }
        };
        KeySet::read(&text).map_err(|error| error.to_string())
    }
}

/// Finds where an issuer's keys are, in its metadata: that of OAuth (RFC 8414) first, then that of OpenID.
async fn key_url(client: &Client, issuer: &str) -> Result<String, String> {
    #[derive(Deserialize)]
    struct Metadata {
        issuer: String,
        jwks_uri: String,
    }
    let url = fetch::secure(issuer)?;
    let (origin, path) = (url.origin().ascii_serialization(), url.path().trim_end_matches('/'));
    let places = [
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
        format!("{origin}{path}/.well-known/openid-configuration"),
    ];
    let mut reason = String::new();
    for place in places {
        let found = fetch::get(client, &place).await.and_then(|text| {
            serde_json::from_slice::<Metadata>(&text)
                .map_err(|error| format!("{place} is no metadata of an issuer: {error}"))
        });
        match found {
            // Another issuer's document could name another issuer's keys.
            Ok(metadata) if metadata.issuer == issuer => return Ok(metadata.jwks_uri),
            Ok(metadata) => {
                reason = format!(
                    "{place} is of the issuer {:?}, not of {issuer:?}: set the first, if it is the right one",
                    metadata.issuer
                );
            }
            Err(error) if reason.is_empty() => reason = error,
            Err(_) => {}
        }
    }
    Err(reason)
}

fn may_try(last: Option<Instant>) -> bool {
    last.is_none_or(|last| last.elapsed() >= BETWEEN_ATTEMPTS)
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.place {
            Place::Given => f.write_str("given"),
            Place::File(path) => write!(f, "{}", path.display()),
            Place::At(url) => f.write_str(url),
            Place::Discovered(issuer) => write!(f, "metadata of {issuer}"),
        }
    }
}

/// The age from which keys are fetched again.
const FRESH: Duration = Duration::from_mins(15);
/// The time between two attempts to fetch.
const BETWEEN_ATTEMPTS: Duration = Duration::from_secs(10);
/// The time after the last good fetch for which keys are trusted.
const LONGEST_TRUSTED: Duration = Duration::from_hours(24);
