//! An issuer: it signs tokens, and publishes its keys on a socket.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

/// A key of an issuer.
pub(crate) struct Signer {
    pub(crate) id: String,
    pair: EcdsaKeyPair,
}

impl Signer {
    pub(crate) fn new(id: &str) -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random);
        Self { id: id.to_owned(), pair: pair.expect("a key") }
    }

    /// The public key, as a JWK.
    pub(crate) fn jwk(&self) -> Value {
        let point = self.pair.public_key().as_ref();
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        json!({
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.id,
            "x": text(&point[1..33]), "y": text(&point[33..]),
        })
    }

    /// A set with this key alone.
    pub(crate) fn set(&self) -> String {
        json!({ "keys": [self.jwk()] }).to_string()
    }

    /// A token with these claims.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.signed(&json!({ "alg": "ES256", "typ": "at+jwt", "kid": self.id }), claims)
    }

    /// A token with this header and these claims.
    pub(crate) fn signed(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes()).expect("it signs");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// An issuer on a socket, whose keys can be changed.
#[derive(Clone)]
pub(crate) struct Published {
    pub(crate) address: SocketAddr,
    set: Arc<Mutex<String>>,
    fetches: Arc<AtomicUsize>,
}

impl Published {
    pub(crate) async fn new(set: String) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let published = Self { address, set: Arc::new(Mutex::new(set)), fetches: Arc::default() };
        let (keys, issuer) = (published.clone(), published.url());
        let metadata = json!({ "issuer": issuer, "jwks_uri": format!("{issuer}/keys") }).to_string();
        let router = Router::new()
            .route("/keys", get(async move || keys.fetched()))
            .route("/.well-known/openid-configuration", get(async move || metadata));
        tokio::spawn(async move { axum::serve(listener, router).await });
        published
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn fetched(&self) -> String {
        self.fetches.fetch_add(1, Ordering::Relaxed);
        self.set.lock().expect("no test panics with it").clone()
    }

    /// Publishes other keys from now on.
    pub(crate) fn rotate(&self, set: String) {
        *self.set.lock().expect("no test panics with it") = set;
    }

    /// The number of times that the keys were fetched.
    pub(crate) fn fetches(&self) -> usize {
        self.fetches.load(Ordering::Relaxed)
    }
}
