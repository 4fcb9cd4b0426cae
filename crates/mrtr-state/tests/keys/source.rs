//! Keys from a source such as a KMS.

use std::error::Error;
use std::sync::Mutex;

use mrtr_state::{KeyRing, KeySource, Refusal, Sealer};

use crate::common::{AUDIENCE, CALL, NOON, key};

/// Gives what it is told to give next, or fails.
struct Vault(Mutex<Vec<KeyRing>>);

impl KeySource for Vault {
    async fn keys(&self) -> Result<KeyRing, Box<dyn Error + Send + Sync>> {
        self.0.lock().unwrap().pop().ok_or_else(|| "the vault is closed".into())
    }
}

#[tokio::test]
async fn a_source_gives_the_keys_at_start_and_when_reloaded() {
    let vault = Vault(Mutex::new(vec![KeyRing::new(key("k2", 2)), KeyRing::new(key("k1", 1))]));
    let sealer = Sealer::from_source(&vault, AUDIENCE).await.unwrap();
    let clone = sealer.clone();
    let state = CALL.seal(&sealer, NOON);
    assert_eq!(CALL.open(&sealer, &state, NOON).unwrap().key().as_str(), "k1");
    sealer.reload(&vault).await.unwrap();
    CALL.refuses(&clone, state.untrusted_text(), NOON, Refusal::UnknownKey);
}

#[tokio::test]
async fn a_source_that_fails_leaves_the_keys_as_they_were() {
    let vault = Vault(Mutex::new(vec![KeyRing::new(key("k1", 1))]));
    let sealer = Sealer::from_source(&vault, AUDIENCE).await.unwrap();
    let state = CALL.seal(&sealer, NOON);
    let error = sealer.reload(&vault).await.unwrap_err();
    assert_eq!(error.to_string(), "the source of keys failed");
    assert_eq!(error.source().unwrap().to_string(), "the vault is closed");
    assert!(CALL.open(&sealer, &state, NOON).is_ok());
    assert!(Sealer::from_source(&vault, AUDIENCE).await.is_err());
}
