//! The tracker of the proposal: to resolve a bug, it asks how, and for a duplicate it asks which bug is the original.
//!
//! ```sh
//! MRTR_STATE_KEYS="tracker=k1:$(openssl rand -base64 32)" cargo run -p mrtr-examples --bin azure_devops
//! ```
//!
//! It serves clients of every era at `http://127.0.0.1:8000/mcp`, and with `--stdio` on standard input and output. A
//! call of `update_work_item` for a duplicate asks twice, and the server prints once that it links the two bugs.

use mrtr::prelude::*;
use mrtr::serde_json::Map;

#[rustfmt::skip] #[data] #[serde(rename_all = "camelCase")]
struct Update { work_item_id: u64, fields: Map<String, Value> }
#[rustfmt::skip] #[data] #[derive(PartialEq)]
enum Resolution { Fixed, #[serde(rename = "Won't Fix")] WontFix, Duplicate, #[serde(rename = "By Design")] ByDesign }
#[rustfmt::skip] #[data]
struct Resolved { resolution: Resolution }
#[rustfmt::skip] #[data] #[serde(rename_all = "camelCase")]
struct Original { duplicate_of_id: u64 }

async fn update_work_item(flow: Flow, args: Update) -> Result<String> {
    let tracker = flow.state::<Tracker>();
    let Resolved { resolution } = flow.elicit("resolution", "How was this bug resolved?").await?;
    if resolution != Resolution::Duplicate {
        return Ok(tracker.close(args.work_item_id, &args.fields));
    }
    let dup: Original = flow.elicit("duplicate_of", "Which work item is the original?").await?;
    flow.step("link", tracker.link(args.work_item_id, dup.duplicate_of_id)).await?;
    Ok(format!("Bug #{} resolved as duplicate of #{}", args.work_item_id, dup.duplicate_of_id))
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let server = Server::builder("tracker", env!("CARGO_PKG_VERSION"))
        .sealer(Sealer::from_env("MRTR_STATE_KEYS")?)
        .state(Tracker::default())
        .tool(Tool::new("update_work_item", update_work_item).description("Updates a work item"))
        .build()?;
    if std::env::args().any(|argument| argument == "--stdio") {
        return Ok(mrtr::stdio::serve(server).await?);
    }
    let address = std::env::var("TRACKER_ADDRESS").unwrap_or("127.0.0.1:8000".into());
    Ok(mrtr::serve(address, server).await?)
}

// ---- What plays the tracker.

/// Stands in for Azure DevOps.
#[derive(Default)]
struct Tracker {
    links: std::sync::Mutex<Vec<(u64, u64)>>,
}

impl Tracker {
    #[expect(clippy::unused_self, reason = "a real tracker has a connection")]
    fn close(&self, work_item: u64, fields: &Map<String, Value>) -> String {
        format!("Bug #{work_item} resolved, {} fields set", fields.len())
    }

    #[expect(clippy::unused_async, reason = "a real tracker is asked over the network")]
    async fn link(&self, duplicate: u64, original: u64) -> Result<()> {
        let mut links = self.links.lock().map_err(|_| "the list of links is broken")?;
        links.push((duplicate, original));
        println!("tracker: #{duplicate} is linked to #{original} ({} links made)", links.len());
        Ok(())
    }
}
