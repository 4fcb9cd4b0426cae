//! Tokens: the files are what the reference makes, and the crate seals and opens the same.

use std::time::Duration;

use mrtr_schema::{RawMembers, RequestState, Revision};
use mrtr_state::codec::{Signed, XChaCha};
use mrtr_state::{
    AnswersDigest, Binding, Key, KeyRing, Lifetimes, Opened, Payload, PayloadError, Principal, Refusal, SealOptions,
    Sealer, Timestamp,
};

use crate::common::{Fixed, refused};
use crate::file::{ABOUT, Given, NamedKey, Request, Token, TokenFile, check, hex, read, unhex};
use crate::inputs::{NOTE, ORDER, inputs};
use crate::reference;
use crate::refusals::refusals;

const FILES: [(char, &str); 2] = [('x', "xchacha.json"), ('s', "signed.json")];

#[test]
fn the_files_are_what_the_inputs_give() {
    for (letter, name) in FILES {
        let tokens: Vec<_> = inputs()
            .map(|(name, given)| Token { name: name.into(), gives: reference::seal(letter, &given), given })
            .into();
        let refused = refusals(letter, &tokens);
        check(name, &TokenFile { about: ABOUT.into(), letter, tokens, refused });
    }
}

/// A payload of this kind, as bytes.
struct Note(Vec<u8>);
/// A payload of another kind.
struct Order;

impl Payload for Note {
    const KIND: &'static str = NOTE;

    fn write(&self, out: &mut Vec<u8>) -> Result<(), PayloadError> {
        out.extend_from_slice(&self.0);
        Ok(())
    }

    fn read(bytes: &[u8]) -> Result<Self, PayloadError> {
        Ok(Self(bytes.to_vec()))
    }
}

impl Payload for Order {
    const KIND: &'static str = ORDER;

    fn write(&self, _: &mut Vec<u8>) -> Result<(), PayloadError> {
        Ok(())
    }

    fn read(_: &[u8]) -> Result<Self, PayloadError> {
        Ok(Self)
    }
}

fn ring(key: &NamedKey) -> KeyRing {
    KeyRing::new(Key::from_base64(&*key.id, &key.base64).unwrap())
}

/// A sealer for each codec with this letter.
fn sealers(letter: char, keys: &KeyRing, audience: &str) -> Vec<Sealer> {
    let sealer = Sealer::new(keys.clone(), audience).unwrap();
    if letter == 's' {
        return vec![sealer.codec(Signed::default())];
    }
    vec![
        #[cfg(feature = "ring")]
        sealer.clone().codec(mrtr_state::codec::FastXChaCha::default()),
        sealer.codec(XChaCha::default()),
    ]
}

fn bind<T>(request: &Request, then: impl FnOnce(&Binding<'_>) -> T) -> T {
    let params = RawMembers::parse(&request.params).unwrap();
    let revision = Revision::ALL.into_iter().find(|known| known.as_str() == request.revision).unwrap();
    let principal = request.principal.as_ref().map(|who| Principal { issuer: &who.issuer, subject: &who.subject });
    let binding = Binding::new(revision, &request.method, &params).unwrap();
    then(&binding.principal(principal).tenant(request.tenant.as_deref()))
}

fn open<P: Payload>(sealer: &Sealer, token: &str, request: &Request, now: u64) -> Result<Opened<P>, Refusal> {
    let state = RequestState::new(token);
    bind(request, |binding| sealer.open(&state, binding, Timestamp::from_millis(now)))
}

/// Goes through the rounds up to the one that is asked for.
fn seal(sealer: Sealer, given: &Given) -> String {
    let rounds_before = usize::try_from(given.round - 1).unwrap();
    let random = [unhex(&given.flow), vec![0; 24 * rounds_before], unhex(&given.nonce)].concat();
    let lifetimes = Lifetimes { flow: Duration::from_millis(given.ends - given.started), ..Lifetimes::default() };
    let sealer = sealer.random(Fixed::new(random)).lifetimes(lifetimes);
    let payload = Note(given.payload.clone().into_bytes());
    let started = Timestamp::from_millis(given.started);
    let mut flow = sealer.begin(started);
    for _ in 0..rounds_before {
        let state = bind(&given.request, |binding| sealer.seal_as(&payload, binding, SealOptions::new(flow), started));
        flow =
            open::<Note>(&sealer, state.unwrap().untrusted_text(), &given.request, given.started).unwrap().next_round();
    }
    let valid_for = Duration::from_millis(given.expires - given.issued);
    let options = SealOptions::new(flow).handler_version(&given.handler_version).valid_for(valid_for);
    let issued = Timestamp::from_millis(given.issued);
    let state = bind(&given.request, |binding| sealer.seal_as(&payload, binding, options, issued)).unwrap();
    state.untrusted_text().to_owned()
}

#[test]
fn the_crate_seals_what_the_files_say() {
    for (letter, name) in FILES {
        for Token { name, given, gives } in read::<TokenFile>(name).tokens {
            for sealer in sealers(letter, &ring(&given.key), &given.request.audience) {
                assert_eq!(seal(sealer, &given), gives.token, "{name}");
            }
        }
    }
}

#[test]
fn the_crate_opens_what_the_files_have() {
    for (letter, name) in FILES {
        for Token { name, given, gives } in read::<TokenFile>(name).tokens {
            for sealer in sealers(letter, &ring(&given.key), &given.request.audience) {
                let opened = open::<Note>(&sealer, &gives.token, &given.request, given.expires - 1).expect(&name);
                assert_eq!(opened.payload().0, given.payload.as_bytes());
                assert_eq!(opened.handler_version(), given.handler_version);
                assert_eq!(opened.token().to_string(), gives.token_id);
                let flow = opened.progress();
                assert_eq!((flow.flow().to_string(), flow.round()), (given.flow.clone(), given.round));
                let moments = [flow.started(), flow.ends(), opened.issued(), opened.expires()];
                let expected = [given.started, given.ends, given.issued, given.expires];
                assert_eq!(moments.map(Timestamp::as_millis), expected);
                let token_use = opened.token_use(AnswersDigest::of(None).unwrap());
                assert_eq!(hex(token_use.key().as_bytes()), gives.single_use_key);
            }
        }
    }
}

#[test]
fn the_crate_refuses_what_the_files_refuse_and_for_the_same_reason() {
    for (letter, name) in FILES {
        for case in read::<TokenFile>(name).refused {
            let mut keys = ring(&case.key);
            if let Some(moment) = case.reject_issued_before {
                keys = keys.reject_issued_before(Timestamp::from_millis(moment));
            }
            for sealer in sealers(letter, &keys, &case.request.audience) {
                let refusal = match &*case.kind {
                    NOTE => refused(open::<Note>(&sealer, &case.token, &case.request, case.now)),
                    ORDER => refused(open::<Order>(&sealer, &case.token, &case.request, case.now)),
                    other => panic!("{other}"),
                };
                assert_eq!(refusal.label(), case.reason, "{}", case.name);
            }
        }
    }
}

/// The signed codec is readable and no less strict; the other one is secret because it cannot be read.
#[test]
fn a_signed_state_can_be_read_by_anybody_and_a_sealed_one_cannot() {
    for (letter, name) in FILES {
        for Token { given, gives, .. } in read::<TokenFile>(name).tokens {
            let sealed = base64_simd::URL_SAFE_NO_PAD.decode_to_vec(&gives.token[gives.header.len()..]).unwrap();
            let message = [unhex(&gives.claims), given.payload.into_bytes()].concat();
            assert_eq!(sealed.starts_with(&message), letter == 's');
        }
    }
}
