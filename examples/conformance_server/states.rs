//! Tools about the state itself: one that can be redeemed once, and rounds that carry it and ask nothing.

use std::convert::Infallible;

use mrtr_server::extend::{Clock, ShedAbove, SystemClock};
use mrtr_server::{Builder, Flow, Tool};
use mrtr_state::MemorySingleUse;

use crate::input_required::confirmed;

pub(crate) fn offer(builder: Builder) -> Builder {
    let store = MemorySingleUse::new(SystemClock::default().now());
    let single_use = Tool::new("test_single_use", confirmed).single_use(store);
    builder
        .tool(single_use.description("Asks, and has a state carried that can be redeemed once"))
        .tool(Tool::new("test_state_only", state_only).description("Has a state carried twice, and asks nothing"))
        // More than no round at all runs whenever one does: each yield point puts its flow down.
        .shedder(ShedAbove(0))
}

async fn state_only(flow: Flow) -> Result<&'static str, Infallible> {
    let before = flow.resumed_from().unwrap_or(0);
    for page in before + 1..=2 {
        flow.yield_point(&page).await;
    }
    Ok("done after two rounds that only carried a state")
}
