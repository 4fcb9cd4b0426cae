//! A tool of single use: a state that a client sends twenty times at once counts once.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin single_use
//! ```
//!
//! A client cannot change a sealed state, but it can copy one. Without single use each copy runs the handler; with it
//! one copy runs the handler, and the others get its reply.
//!
//! ```text
//! pay_carelessly: 20 replies; charges: 20
//! pay: 20 replies; charges: 1
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use mrtr::prelude::*;
use mrtr::state::MemorySingleUse;
use tokio::task::JoinSet;

#[rustfmt::skip] #[data] struct Confirmed { yes: bool }

#[derive(Default)]
struct Charges(AtomicU32);

async fn pay(flow: Flow) -> Result<String> {
    let Confirmed { yes } = flow.elicit("confirm", "Shall 100 euros be paid?").await?;
    if !yes {
        return Ok("Nothing was paid".into());
    }
    let charges = flow.state::<Arc<Charges>>();
    let receipt = flow.step("charge", async { Ok::<_, Failure>(charges.0.fetch_add(1, Ordering::SeqCst) + 1) }).await?;
    Ok(format!("Paid: receipt {receipt}"))
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let charges = Arc::new(Charges::default());
    // For one process. `SqliteSingleUse` is for several on one machine.
    let store = MemorySingleUse::new(SystemTime::now().into());
    let server = Server::builder("shop", "1.0.0")
        .state(Arc::clone(&charges))
        .tool(Tool::new("pay_carelessly", pay))
        .tool(Tool::new("pay", pay).single_use(store))
        .build()?;
    let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
    let transport = HttpTransport::new(&format!("http://{}/mcp", bound.address()?))?;
    tokio::spawn(bound.run(std::future::pending()));

    // The handler says that this client can be asked; here the answer is given by hand.
    let client = Client::builder(transport).on_elicit(async |form: FormRequest| form.decline()).build();
    for tool in ["pay_carelessly", "pay"] {
        let replies = replay(&client, tool).await?;
        println!("{tool}: {replies} replies; charges: {}", charges.0.swap(0, Ordering::SeqCst));
    }
    Ok(())
}

/// Answers once, sends that twenty times at once, and counts the replies.
async fn replay(client: &Client, tool: &str) -> Result<usize> {
    let asked = client.call_tool_once(tool, json!({})).await?;
    let RoundOutcome::Asked(mut call) = asked else { return Err(format!("nothing is asked: {asked:?}").into()) };
    call.accept("confirm", &json!({ "yes": true }))?;
    let mut copies = JoinSet::new();
    for _ in 0..20 {
        let (client, call) = (client.clone(), call.clone());
        copies.spawn(async move { client.advance(call).await });
    }
    let replies = copies.join_all().await;
    Ok(replies.iter().filter(|reply| matches!(reply, Ok(RoundOutcome::Complete(_)))).count())
}
