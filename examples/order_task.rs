//! A call that starts without any state on the server and becomes a task when the server has work to do.
//!
//! ```sh
//! export MRTR_STATE_KEYS="shop=k1:$(openssl rand -base64 32)"
//! cargo run -p mrtr-examples --bin order_task
//! ```
//!
//! It serves at `http://127.0.0.1:8000/mcp`, with its tasks in `order-tasks.sqlite`. A client calls `order`. A round
//! of the call asks for the address; then the task asks whether the order is a gift, while it packs. The server
//! prints:
//!
//! ```text
//! packed
//! ```

use std::time::Duration;

use mrtr::prelude::*;
use mrtr::server::TaskPolicy;

#[rustfmt::skip] #[data] struct Address { street: String }
#[rustfmt::skip] #[data] struct Gift { wrap: bool }

async fn order(flow: Flow) -> Result<String> {
    // A round: the server forgets everything while the person thinks.
    let Address { street } = flow.elicit("address", "Where should it go?").await?;
    flow.into_task().await;
    // From here on a task: it goes on without the client, and asks while it packs.
    let pack = flow.step("pack", pack());
    let (parcel, Gift { wrap }) = flow.join((pack, flow.elicit::<Gift>("gift", "Is it a gift?"))).await?;
    let wrapping = if wrap { ", wrapped" } else { "" };
    Ok(format!("{parcel} is on its way to {street}{wrapping}"))
}

async fn pack() -> Result<String> {
    tokio::time::sleep(Duration::from_millis(100)).await;
    println!("packed");
    Ok("The parcel".to_owned())
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let file = std::env::var("ORDER_TASKS").unwrap_or("order-tasks.sqlite".into());
    let server = Server::builder("shop", env!("CARGO_PKG_VERSION"))
        .sealer(Sealer::from_env("MRTR_STATE_KEYS")?)
        .tool(Tool::new("order", order).description("Orders a parcel").tasks(TaskPolicy::ByFlow))
        .extension(Tasks::new(SqliteTaskStore::open(file)?))
        .build()?;
    let address = std::env::var("ORDER_ADDRESS").unwrap_or("127.0.0.1:8000".into());
    Ok(mrtr::serve(address, server).await?)
}
