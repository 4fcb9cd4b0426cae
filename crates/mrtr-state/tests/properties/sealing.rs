//! A sealed state opens as it was, in its one spelling, and never in any other.

use std::time::Duration;

use mrtr_schema::{RawMembers, RequestState, Revision};
use mrtr_state::{Binding, Payload, PayloadError, Principal, Refusal, SealOptions, Sealer, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::{CALL, NOON, refused, sealers};

/// Any bytes.
#[derive(Debug, PartialEq)]
struct Bytes(Vec<u8>);

impl Payload for Bytes {
    const KIND: &'static str = "com.example/bytes";

    fn write(&self, out: &mut Vec<u8>) -> Result<(), PayloadError> {
        out.extend_from_slice(&self.0);
        Ok(())
    }

    fn read(bytes: &[u8]) -> Result<Self, PayloadError> {
        Ok(Self(bytes.to_vec()))
    }
}

/// A request that owns its parts.
#[derive(Debug, Clone, PartialEq)]
struct Request {
    revision: Revision,
    method: String,
    name: String,
    argument: String,
    principal: Option<(String, String)>,
    tenant: Option<String>,
}

impl Request {
    fn bind<T>(&self, then: impl FnOnce(&Binding<'_>) -> T) -> T {
        let params = serde_json::json!({ "name": self.name, "arguments": { "a": self.argument } }).to_string();
        let params = RawMembers::parse(&params).unwrap();
        let principal = self.principal.as_ref().map(|(issuer, subject)| Principal { issuer, subject });
        let binding = Binding::new(self.revision, &self.method, &params).unwrap();
        then(&binding.principal(principal).tenant(self.tenant.as_deref()))
    }

    /// The reason that a state for this request does not open with the other: the first of the checks that fails.
    fn refuses(&self, other: &Self) -> Option<Refusal> {
        [
            (self.tenant == other.tenant, Refusal::OtherTenant),
            (self.principal == other.principal, Refusal::OtherPrincipal),
            (self.revision == other.revision, Refusal::OtherRevision),
            (self.method == other.method, Refusal::OtherMethod),
            (self.name == other.name, Refusal::OtherName),
            (self.argument == other.argument, Refusal::OtherParams),
        ]
        .into_iter()
        .find_map(|(holds, reason)| (!holds).then_some(reason))
    }
}

/// Texts of any length, and short ones that often meet.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[ab]{0,2}", 2 => ".{0,40}", 1 => "a{300,310}"]
}

fn request() -> impl Strategy<Value = Request> {
    let revision = prop::sample::select(&Revision::MODERN[..]);
    let principal = prop::option::of((text(), text()));
    (revision, "[ab]?", text(), text(), principal, prop::option::of(text())).prop_map(
        |(revision, method, name, argument, principal, tenant)| Request {
            revision,
            method,
            name,
            argument,
            principal,
            tenant,
        },
    )
}

fn moment() -> impl Strategy<Value = Timestamp> {
    prop_oneof![Just(0), 0..(1_u64 << 48) - 100_000_000_000].prop_map(Timestamp::from_millis)
}

/// One change to a text, byte by byte.
#[derive(Debug, Clone)]
enum Change {
    Replace(prop::sample::Index, u8),
    Flip(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    Swap(prop::sample::Index, prop::sample::Index),
    Repeat(prop::sample::Index, usize),
    Truncate(prop::sample::Index),
}

fn change() -> impl Strategy<Value = Change> {
    let place = any::<prop::sample::Index>;
    prop_oneof![
        (place(), any::<u8>()).prop_map(|(at, byte)| Change::Replace(at, byte)),
        (place(), 0..8_u8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        (place(), vec(any::<u8>(), 1..5)).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        (place(), 1..9_usize).prop_map(|(at, many)| Change::Remove(at, many)),
        (place(), place()).prop_map(|(one, other)| Change::Swap(one, other)),
        (place(), 1..9_usize).prop_map(|(at, many)| Change::Repeat(at, many)),
        place().prop_map(Change::Truncate),
    ]
}

impl Change {
    fn apply(&self, text: &mut Vec<u8>) {
        let length = text.len();
        if length == 0 {
            return;
        }
        let until = |at: usize, many: usize| at..(at + many).min(length);
        match self {
            Self::Replace(at, byte) => text[at.index(length)] = *byte,
            Self::Flip(at, bit) => text[at.index(length)] ^= 1 << bit,
            Self::Insert(at, bytes) => drop(text.splice(at.index(length)..at.index(length), bytes.iter().copied())),
            Self::Remove(at, many) => drop(text.drain(until(at.index(length), *many))),
            Self::Swap(one, other) => text.swap(one.index(length), other.index(length)),
            Self::Repeat(at, many) => text.extend_from_within(until(at.index(length), *many)),
            Self::Truncate(at) => text.truncate(at.index(length)),
        }
    }
}

fn seal(sealer: &Sealer, payload: &Bytes, request: &Request, now: Timestamp) -> RequestState {
    request.bind(|binding| sealer.seal(payload, binding, now)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_is_sealed_opens_as_it_was(
        payload in vec(any::<u8>(), 0..600).prop_map(Bytes),
        request in request(),
        now in moment(),
        version in text(),
        valid_for in 1..100_000_000_u64,
        later in 0..100_000_000_u64,
    ) {
        for sealer in sealers() {
            let flow = sealer.begin(now);
            let options = SealOptions::new(flow).handler_version(&version).valid_for(Duration::from_millis(valid_for));
            let state = request.bind(|binding| sealer.seal_as(&payload, binding, options, now)).unwrap();
            let expires = flow.ends().min(now + Duration::from_millis(valid_for));
            let moment = now + Duration::from_millis(later);
            let opened = request.bind(|binding| sealer.open::<Bytes>(&state, binding, moment));
            if moment >= expires {
                let reason = if moment >= flow.ends() { Refusal::FlowEnded } else { Refusal::Expired };
                prop_assert_eq!(refused(opened), reason);
                continue;
            }
            let opened = opened.unwrap();
            prop_assert_eq!(opened.payload(), &payload);
            prop_assert_eq!(opened.progress(), flow);
            prop_assert_eq!((opened.issued(), opened.expires()), (now, expires));
            prop_assert_eq!(opened.handler_version(), &version);
            prop_assert_eq!(opened.next_round().round(), 2);
        }
    }

    #[test]
    fn it_opens_with_an_equal_request_only(one in request(), other in request(), now in moment()) {
        for sealer in sealers() {
            let state = seal(&sealer, &Bytes(vec![1]), &one, now);
            let opened = other.bind(|binding| sealer.open::<Bytes>(&state, binding, now));
            prop_assert_eq!(opened.err(), one.refuses(&other));
        }
    }

    #[test]
    fn no_changed_text_opens(
        payload in vec(any::<u8>(), 0..60).prop_map(Bytes),
        request in request(),
        changes in vec(change(), 1..4),
    ) {
        for sealer in sealers() {
            let state = seal(&sealer, &payload, &request, NOON);
            let mut bytes = state.untrusted_text().as_bytes().to_vec();
            for change in &changes {
                change.apply(&mut bytes);
            }
            let changed = RequestState::new(String::from_utf8_lossy(&bytes));
            let opened = request.bind(|binding| sealer.open::<Bytes>(&changed, binding, NOON));
            if changed == state {
                prop_assert!(opened.is_ok());
            } else {
                refused(opened);
            }
        }
    }

    #[test]
    fn no_text_that_we_did_not_write_opens(text in prop_oneof![".{0,80}", "mrtr1[xs]\\.k1\\.[A-Za-z0-9_-]{0,300}"]) {
        for sealer in sealers() {
            CALL.refusal(&sealer, &text, NOON);
        }
    }
}

#[cfg(feature = "ring")]
mod both {
    use mrtr_state::codec::{FastXChaCha, XChaCha};

    use super::*;
    use crate::common::{AUDIENCE, Fixed, ring};

    proptest! {
        #[test]
        fn the_fast_codec_writes_what_the_portable_one_writes(
            payload in vec(any::<u8>(), 0..600).prop_map(Bytes),
            request in request(),
            now in moment(),
            random in vec(any::<u8>(), 40..=40),
        ) {
            let sealer = Sealer::new(ring(), AUDIENCE).unwrap();
            let portable = sealer.clone().codec(XChaCha::default()).random(Fixed::new(random.clone()));
            let fast = sealer.codec(FastXChaCha::default()).random(Fixed::new(random));
            let state = seal(&portable, &payload, &request, now);
            let same = seal(&fast, &payload, &request, now);
            prop_assert_eq!(state.untrusted_text(), same.untrusted_text());
            for sealer in [portable, fast] {
                let opened = request.bind(|binding| sealer.open::<Bytes>(&state, binding, now)).unwrap();
                prop_assert_eq!(opened.payload(), &payload);
            }
        }
    }
}
