//! Three instances of one server behind a round-robin proxy, with one key and one PostgreSQL: any of them may serve the
//! next request, and any of them may die.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin fleet
//! ```
//!
//! PostgreSQL must be installed: the example starts a server of its own, and stops it at the end. Each instance is a
//! process. Questions within a call need only the key, which all instances have; tasks and single-use tokens are in the
//! database.
//!
//! ```text
//! a call of three rounds: served by 3 instances
//! a task: instance … works on it, and is killed with -9
//! the task: instance … went on with it; downloads: 1
//! 30 copies of one answer, over all instances: 30 replies; charges: 1
//! ```

#[path = "fleet/instance.rs"]
mod instance;
#[path = "fleet/processes.rs"]
mod processes;
#[path = "fleet/proxy.rs"]
mod proxy;

use std::collections::BTreeSet;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use mrtr::client::Limits;
use mrtr::prelude::*;
use mrtr::state::{ProcessRandom, Random};
use mrtr_postgres::testing::Cluster;
use processes::Fleet;
use proxy::Proxy;
use tokio::task::JoinSet;

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    if let Some(name) = std::env::args().nth(1) {
        return instance::serve(name).await;
    }
    let Some(cluster) = Cluster::start(&["fsync=on"]) else { return Ok(()) };
    let mut fleet = Fleet::start(&cluster.fresh_database()?, &key()).await?;
    let proxy = Proxy::start(fleet.urls()).await?;
    let answer = async |form: FormRequest| form.accept(&json!({ "yes": true }));
    let limits = Limits { rounds: 100, ..Limits::default() };
    let client = Client::builder(HttpTransport::new(proxy.url())?).on_elicit(answer).limits(limits).build();

    rounds_over_all(&client).await?;
    a_task_moves(&client, &mut fleet).await?;
    fleet.replace_those_killed().await?;
    proxy.serve_by(fleet.urls());
    let replies = redeem_often(&client).await?;
    let charges = fleet.end().await?.into_iter().filter(|line| line == "charges").count();
    println!("30 copies of one answer, over all instances: {replies} replies; charges: {charges}");
    Ok(())
}

async fn rounds_over_all(client: &Client) -> Result<()> {
    let result = client.call_tool("survey", json!({})).await?.text();
    let instances: BTreeSet<_> = result.split(' ').collect();
    println!("a call of three rounds: served by {} instances", instances.len());
    Ok(())
}

async fn a_task_moves(client: &Client, fleet: &mut Fleet) -> Result<()> {
    let created = client.call_tool_once("import", json!({})).await?;
    let RoundOutcome::Task(task, _) = created else { return Err(format!("no task: {created:?}").into()) };
    let name = fleet.wait_for("imports").await?;
    println!("a task: instance {name} works on it, and is killed with -9");
    fleet.kill(&name)?;
    let result = client.resume(task).await?;
    // What it says before that has been heard then.
    fleet.wait_for("imports").await?;
    println!("the task: instance {} went on with it; downloads: {}", result.text(), fleet.count("downloads"));
    Ok(())
}

/// Answers once, and sends that to all instances at once, many times.
async fn redeem_often(client: &Client) -> Result<usize> {
    let asked = client.call_tool_once("pay", json!({})).await?;
    let RoundOutcome::Asked(mut call) = asked else { return Err(format!("nothing is asked: {asked:?}").into()) };
    call.accept("confirm", &json!({ "yes": true }))?;
    let mut copies = JoinSet::new();
    for _ in 0..30 {
        let (client, call) = (client.clone(), call.clone());
        copies.spawn(async move { client.advance(call).await });
    }
    let replies = copies.join_all().await;
    Ok(replies.iter().filter(|reply| matches!(reply, Ok(RoundOutcome::Complete(_)))).count())
}

/// A key that all instances are given, in the form in which they take it from their environment.
fn key() -> String {
    let mut secret = [0; 32];
    ProcessRandom::new().fill(&mut secret);
    format!("fleet=k1:{}", BASE64_STANDARD.encode(secret))
}
