//! Random flows against random clients: what must hold of every run, whatever is answered, replayed or made up.
#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

#[path = "flow_properties/client.rs"]
mod client;
#[path = "flow_properties/program.rs"]
mod program;
#[path = "flow_properties/rules.rs"]
mod rules;
#[path = "flow_properties/world.rs"]
mod world;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_flow_keeps_the_rules_with_every_client(
        program in program::any_program(),
        moves in client::any_moves(),
        when_needed in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(client::play(program, moves, when_needed))?;
    }
}
