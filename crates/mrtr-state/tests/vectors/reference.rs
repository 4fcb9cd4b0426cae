//! Sealing by the document alone: no code of the crate is used here.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::file::{Given, Gives, NamedKey, Who, hex, unhex};
use crate::tree::Tree;

pub(crate) fn seal(letter: char, given: &Given) -> Gives {
    let claims = claims(given);
    let message = [&*claims, given.payload.as_bytes()].concat();
    let nonce = unhex(&given.nonce);
    let principal = given.request.principal.as_ref().map(|who| principal_digest(&given.key, who));
    Gives {
        sealing_key: hex(sealing_key(letter, &given.key)),
        principal_key: hex(subkey(&given.key, "principal")),
        principal_digest: principal.as_ref().map(hex),
        params_key: hex(subkey(&given.key, "params")),
        params_digest: hex(params_digest(given)),
        header: header(letter, &given.key),
        claims: hex(&claims),
        token: token(letter, &given.key, &nonce, &message),
        token_id: hex(&nonce[..16]),
        single_use_key: hex(single_use_key(&given.request.audience, principal.as_deref(), &nonce[..16])),
    }
}

/// The text of a message under a key.
pub(crate) fn token(letter: char, key: &NamedKey, nonce: &[u8], message: &[u8]) -> String {
    let header = header(letter, key);
    let subkey = sealing_key(letter, key);
    let sealed = if letter == 'x' {
        let cipher = XChaCha20Poly1305::new_from_slice(&subkey).unwrap();
        let nonce: [u8; 24] = nonce.try_into().unwrap();
        cipher.encrypt(&nonce.into(), Payload { msg: message, aad: header.as_bytes() }).unwrap()
    } else {
        let length = (header.len() as u64).to_be_bytes();
        let mac = hmac(&subkey, &[nonce, &length, header.as_bytes(), message]);
        [message, &mac].concat()
    };
    header + &URL_SAFE_NO_PAD.encode([&*sealed, nonce].concat())
}

pub(crate) fn claims(given: &Given) -> Vec<u8> {
    let Given { request, .. } = given;
    let revision = match &*request.revision {
        "draft-2026-02" => 1,
        "sep-2322" => 2,
        "2026-07-28" => 3,
        unknown => panic!("{unknown}"),
    };
    let presence = u8::from(request.principal.is_some()) + 2 * u8::from(request.tenant.is_some());
    let mut out = vec![2, revision + 16 * presence];
    out.extend(unhex(&given.flow));
    out.extend(params_digest(given));
    out.extend_from_slice(&given.issued.to_be_bytes()[2..]);
    out.extend(number(given.expires - given.issued));
    out.extend(number(given.ends - given.issued));
    let before = i64::try_from(given.issued).unwrap() - i64::try_from(given.started).unwrap();
    out.extend(number(if before < 0 { before.unsigned_abs() * 2 - 1 } else { before.unsigned_abs() * 2 }));
    out.extend(number(given.round.into()));
    if let Some(who) = &request.principal {
        out.extend(principal_digest(&given.key, who));
    }
    let Tree::Object(params) = params(given) else { unreachable!("parameters are an object") };
    let name = params.get("name").or_else(|| params.get("uri"));
    let name = if let Some(Tree::Text(name)) = name { name } else { "" };
    let texts = [&*given.kind, &request.audience, &request.method, name, &given.handler_version];
    for text in request.tenant.as_deref().into_iter().chain(texts) {
        out.extend(number(text.len() as u64));
        out.extend(text.as_bytes());
    }
    out
}

/// In groups of seven bits.
fn number(number: u64) -> Vec<u8> {
    let groups = (1..10_u64).find(|groups| number >> (7 * groups) == 0).unwrap();
    let byte = |group| u8::try_from(number >> (7 * group) & 0x7f).unwrap() + if group + 1 < groups { 0x80 } else { 0 };
    (0..groups).map(byte).collect()
}

fn params_digest(given: &Given) -> [u8; 16] {
    params(given).digest(&STANDARD.decode(&given.key.base64).unwrap())
}

/// The parameters without what may change.
pub(crate) fn params(given: &Given) -> Tree {
    digested(&given.request.params)
}

pub(crate) fn digested(params: &str) -> Tree {
    let parsed: Box<RawValue> = serde_json::from_str(params).unwrap();
    let Tree::Object(mut members) = Tree::parse(&parsed) else { panic!("parameters are an object") };
    for free in ["_meta", "inputResponses", "requestState", "task"] {
        members.remove(free);
    }
    Tree::Object(members)
}

fn header(letter: char, key: &NamedKey) -> String {
    format!("mrtr1{letter}.{}.", key.id)
}

fn sealing_key(letter: char, key: &NamedKey) -> [u8; 32] {
    subkey(key, &format!("seal/{letter}"))
}

fn subkey(key: &NamedKey, purpose: &str) -> [u8; 32] {
    let secret = STANDARD.decode(&key.base64).unwrap();
    let mut subkey = [0; 32];
    Hkdf::<Sha256>::new(Some(b"mrtr-state/1"), &secret).expand(purpose.as_bytes(), &mut subkey).unwrap();
    subkey
}

fn principal_digest(key: &NamedKey, who: &Who) -> Vec<u8> {
    let length = (who.issuer.len() as u64).to_be_bytes();
    hmac(&subkey(key, "principal"), &[&length, who.issuer.as_bytes(), who.subject.as_bytes()])[..16].to_vec()
}

fn single_use_key(audience: &str, principal: Option<&[u8]>, token_id: &[u8]) -> Vec<u8> {
    let length = (audience.len() as u64).to_be_bytes();
    let presence = [u8::from(principal.is_some())];
    let parts = [&length, audience.as_bytes(), &presence, principal.unwrap_or_default(), token_id];
    Sha256::digest(parts.concat()).to_vec()
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}
