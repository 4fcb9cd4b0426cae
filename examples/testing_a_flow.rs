//! A flow with its tests in the same file: accepted, declined, and answered too late by a clock that the test moves.
//!
//! ```sh
//! cargo test -p mrtr-examples --bin testing_a_flow
//! ```
//!
//! The tests need no network and no waiting: the client is in memory, and the clock moves only when a test moves it.
//! `cargo run` starts the server instead, at the address that is its argument or at 127.0.0.1:8000.

use std::time::Duration;

use mrtr::prelude::*;
use mrtr::server::extend::{Clock, SystemClock};

#[rustfmt::skip] #[data] struct Transfer { to: String, euros: u64 }
#[rustfmt::skip] #[data] struct Confirmed { yes: bool }

async fn transfer(flow: Flow, Transfer { to, euros }: Transfer) -> Result<String> {
    let question = format!("Shall {to} get {euros} euros?");
    let Confirmed { yes } = flow.elicit("confirm", question).pinned().valid_for(Duration::from_mins(10)).await?;
    if !yes {
        return Ok("Nothing was sent".into());
    }
    let number = flow.step("send", send(&to, euros)).await?;
    Ok(format!("{to} gets {euros} euros (transfer {number})"))
}

#[expect(clippy::unused_async, reason = "a real bank is asked over the network")]
async fn send(_to: &str, _euros: u64) -> Result<u32> {
    Ok(1)
}

fn server(clock: impl Clock) -> Result<Server> {
    Ok(Server::builder("bank", "1.0.0").clock(clock).tool(Tool::new("transfer", transfer)).build()?)
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8000".into());
    Ok(mrtr::serve(address, server(SystemClock::default())?).await?)
}

#[cfg(test)]
mod tests {
    use mrtr::server::testing::{self, Conversation, FixedClock};

    use super::*;

    async fn begun(clock: &FixedClock) -> Conversation {
        let server = server(clock.clone()).unwrap();
        let call = testing::Client::new(&server).call_tool("transfer", json!({ "to": "Bob", "euros": 5 })).await;
        call.expect_asked(&["confirm"]);
        call
    }

    #[tokio::test]
    async fn a_confirmed_transfer_is_made() {
        let call = begun(&FixedClock::default()).await.accept("confirm", json!({ "yes": true })).send().await;
        assert_eq!(call.expect_text(), "Bob gets 5 euros (transfer 1)");
    }

    #[tokio::test]
    async fn a_declined_transfer_is_not_made() {
        let call = begun(&FixedClock::default()).await.decline("confirm").send().await;
        assert_eq!(call.expect_tool_error(), "`confirm` was declined");
    }

    #[tokio::test]
    async fn an_answer_after_ten_minutes_does_not_count() {
        let clock = FixedClock::default();
        let call = begun(&clock).await.accept("confirm", json!({ "yes": true }));
        clock.advance(Duration::from_mins(10));
        assert_eq!(call.send().await.expect_error().message, "The request state is not valid");
    }
}
