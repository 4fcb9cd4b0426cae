//! A busy instance interrupts a call at a yield point, and an idle instance continues it from there.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin load_shedding
//! ```
//!
//! Two instances have the same keys, and one is busy with another call. Its shedder turns the next yield point into a
//! reply that carries a state and asks nothing; the client retries, and reaches the idle instance.
//!
//! ```text
//! busy: files 1 to 3
//! the call was deferred
//! idle: files 4 to 6
//! idle: files 7 to 9
//! 9 files are indexed
//! ```

use std::sync::Arc;

use mrtr::prelude::*;
use mrtr::server::extend::ShedAbove;
use tokio::sync::Barrier;

async fn index(flow: Flow) -> Result<String> {
    let Instance { name, .. } = flow.state();
    let from = flow.resumed_from().unwrap_or(1);
    for first in (from..10).step_by(3) {
        println!("{name}: files {first} to {}", first + 2);
        flow.yield_point(&(first + 3)).await;
    }
    Ok("9 files are indexed".into())
}

/// Takes up its instance, from when it meets the caller until it meets the caller again.
async fn occupy(flow: Flow) -> Result<String> {
    let Instance { meeting, .. } = flow.state();
    meeting.wait().await;
    meeting.wait().await;
    Ok("done".into())
}

struct Instance {
    name: &'static str,
    meeting: Arc<Barrier>,
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let (sealer, meeting) = (Sealer::this_process_only(), Arc::new(Barrier::new(2)));
    let busy = serve(&sealer, Instance { name: "busy", meeting: Arc::clone(&meeting) })?;
    let idle = serve(&sealer, Instance { name: "idle", meeting: Arc::clone(&meeting) })?;

    let occupying = tokio::spawn({
        let busy = busy.clone();
        async move { busy.call_tool("occupy", json!({})).await }
    });
    meeting.wait().await;

    let RoundOutcome::BackOff(call, pause) = busy.call_tool_once("index", json!({})).await? else {
        return Err("the call was not deferred".into());
    };
    println!("the call was deferred");
    tokio::time::sleep(pause).await;
    // Behind a balancer both instances have one URL, and this is `call_tool` alone.
    println!("{}", idle.resume(call.trust_other_server(idle.server())).await?.text());
    meeting.wait().await;
    occupying.await??;
    Ok(())
}

/// Serves an instance on a free port of this machine, and gives a client of it.
fn serve(sealer: &Sealer, instance: Instance) -> Result<Client> {
    let server = Server::builder("indexer", "1.0.0").sealer(sealer.clone()).state(instance).shedder(ShedAbove(1));
    let server = server.tool(Tool::new("index", index)).tool(Tool::new("occupy", occupy)).build()?;
    let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
    let transport = HttpTransport::new(&format!("http://{}/mcp", bound.address()?))?;
    tokio::spawn(bound.run(std::future::pending()));
    Ok(Client::builder(transport).build())
}
