//! The reason of a refusal goes to the caller, for its log, and nothing of the state does.
//!
//! A program of its own: a process remembers whether its log has a listener, and other tests have none.

#![allow(clippy::unwrap_used, reason = "a panic is the report")]

mod common;

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mrtr_state::{AnswersDigest, MemorySingleUse, Sealer, SingleUse};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use common::{AUDIENCE, Asked, CALL, NOON, ring};

/// Keeps what events say.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<String>>);

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Fields(&mut self.0.lock().unwrap()));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Runs on this thread, whose log it is.
#[test]
fn a_clock_that_was_set_back_is_named_in_the_log() {
    let sealer = Sealer::new(ring(), AUDIENCE).unwrap();
    let token_use = || {
        let opened = CALL.open(&sealer, &CALL.seal(&sealer, NOON), NOON).unwrap();
        opened.token_use(AnswersDigest::of(None).unwrap())
    };
    let (spent, other) = (token_use(), token_use());
    let store = MemorySingleUse::new(NOON);
    let lease = Duration::from_secs(30);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let reserve = |token_use, now| runtime.block_on(store.reserve(token_use, lease, now));
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), || {
        reserve(&spent, NOON).unwrap();
        // It is too late for the other one, and the first is purged.
        reserve(&other, spent.keep_until()).unwrap_err();
        assert_eq!(*lines.0.lock().unwrap(), "", "an old token is nothing to tell of");
        reserve(&spent, NOON).unwrap_err();
    });
    let said = lines.0.lock().unwrap().clone();
    assert!(said.contains("the clock was set back"), "{said}");
    assert!(said.contains(&format!("now={NOON} purged_until={}", spent.keep_until())), "{said}");
}

#[test]
fn the_caller_learns_the_reason_and_nothing_tells_of_the_state() {
    let sealer = Sealer::new(ring(), AUDIENCE).unwrap();
    let state = CALL.seal(&sealer, NOON);
    let lines = Lines::default();
    let refusal = tracing::subscriber::with_default(lines.clone(), || {
        assert!(CALL.open(&sealer, &state, NOON).is_ok());
        Asked { tenant: None, ..CALL }.open(&sealer, &state, NOON).unwrap_err()
    });
    assert_eq!(refusal.label(), "other_tenant");
    assert_eq!(*lines.0.lock().unwrap(), "", "a caller that knows the request writes the line, and one is enough");
    let said = format!("{refusal} {refusal:?}");
    for secret in [state.untrusted_text(), "buy tea", "Ann", "ann", "acme"] {
        assert!(!said.contains(secret), "{said}");
    }
}
