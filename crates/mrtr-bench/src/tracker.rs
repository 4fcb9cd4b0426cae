//! The tracker of the proposal on our server: the tools that every candidate has.

use std::time::SystemTime;

use anyhow::{Context as _, Result};
use mrtr_fixtures::work_item::{Update, closed, resolve};
use mrtr_server::{Builder, Context, Failure, Flow, Server, StatePolicy, Tool};
use mrtr_state::{Key, KeyRing, MemorySingleUse, Sealer};
use mrtr_tasks::Tasks;

use crate::server::exchange::Exchange;

async fn update_work_item(flow: Flow, args: Update) -> Result<String, Failure> {
    resolve(&flow, &args, link).await
}

/// A tool that asks nothing.
pub(crate) async fn close_work_item(_: Flow, args: Update) -> Result<String, Failure> {
    Ok(closed(&args))
}

async fn link(_duplicate: u64, _original: u64) -> Result<(), Failure> {
    Ok(())
}

/// Builds the tracker, with a sealer of known keys.
pub(crate) fn server() -> Result<Server> {
    Ok(builder()?.build()?)
}

/// The tracker, where calls could become tasks, and do not.
pub(crate) fn server_with(tasks: Tasks) -> Result<Server> {
    Ok(builder()?.extension(tasks).build()?)
}

fn builder() -> Result<Builder> {
    let without_state = Tool::new("update_without_state", update_work_item).state_policy(StatePolicy::WhenNeeded);
    let builder = Server::builder("tracker", "1.0.0")
        .sealer(sealer()?)
        .tool(Tool::new("close_work_item", close_work_item).description("Closes a work item"))
        .tool(Tool::new("update_work_item", update_work_item).description("Updates a work item"))
        .tool(without_state.description("Updates a work item"));
    Ok(builder)
}

/// The tracker, where each state of its asking tool counts once.
pub(crate) fn guarded_server() -> Result<Server> {
    let store = MemorySingleUse::new(SystemTime::now().into());
    let builder = Server::builder("tracker", "1.0.0")
        .sealer(sealer()?)
        .tool(Tool::new("update_work_item", update_aloud).description("Updates a work item").single_use(store));
    Ok(builder.build()?)
}

/// A tracker whose one tool reports its progress.
pub(crate) fn notifying_server() -> Result<Server> {
    let builder = Server::builder("tracker", "1.0.0").sealer(sealer()?).tool(Tool::new("close_work_item", close_aloud));
    Ok(builder.build()?)
}

async fn update_aloud(flow: Flow, args: Update) -> Result<String, Failure> {
    flow.progress(1, Some(2), "half way").await;
    update_work_item(flow, args).await
}

async fn close_aloud(flow: Flow, args: Update) -> Result<String, Failure> {
    flow.progress(1, Some(2), "half way").await;
    Ok(closed(&args))
}

/// A request from a client that wants to hear of the call's progress.
pub(crate) fn notified(request: &str) -> String {
    request.replacen(r#""_meta":{"#, r#""_meta":{"progressToken":1,"#, 1)
}

fn sealer() -> Result<Sealer> {
    Ok(Sealer::new(KeyRing::new(Key::new("2026-11", [7; 32])?), "bench")?)
}

/// Returns the tracker's reply to an exchange.
pub(crate) async fn reply_to(exchange: Exchange) -> Result<String> {
    let server = server()?;
    let body = exchange.body(async |body| answer(&server, body.to_owned()).await).await?;
    answer(&server, body).await
}

/// Returns a server's answer to a message.
pub(crate) async fn answer(server: &Server, body: String) -> Result<String> {
    server.handle(body.into(), Context::new()).await.last().await.context("nothing is answered")
}
