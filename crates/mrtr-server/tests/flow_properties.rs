//! Random flows against random clients: rules that hold of every run, whatever the client answers, replays or makes up.
#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

#[path = "flow_properties/client.rs"]
mod client;
#[path = "flow_properties/program.rs"]
mod program;
#[path = "flow_properties/rules.rs"]
mod rules;
#[path = "flow_properties/tricks.rs"]
mod tricks;
#[path = "flow_properties/world.rs"]
mod world;

use proptest::prelude::*;
use proptest::test_runner::{FailurePersistence, FileFailurePersistence};

/// Cases that once failed are committed, and tried first.
#[expect(clippy::unnecessary_wraps, reason = "it is what the configuration takes")]
fn kept() -> Option<Box<dyn FailurePersistence>> {
    Some(Box::new(FileFailurePersistence::Direct("tests/flow_properties/regressions.txt")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: kept(), ..ProptestConfig::default() })]

    #[test]
    fn every_flow_keeps_the_rules_with_every_client(
        program in program::any_program(),
        moves in client::any_moves(),
        when_needed in any::<bool>(),
        strict in prop::bool::weighted(0.3),
    ) {
        quieten();
        // Time passes by itself when every task waits for it.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(client::play(program, moves, when_needed, strict))?;
    }
}

/// Keeps panics that belong to a program out of the test's output.
fn quieten() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload_as_str() != Some(tricks::ON_PURPOSE) {
                usual(info);
            }
        }));
    });
}
