//! A worker: a server whose tools run as tasks, over a store that it shares with other workers.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use mrtr_http::{Endpoint, Serve};
use mrtr_server::{Sealer, Server};
use mrtr_state::KeyRing;
use mrtr_tasks::{TaskOptions, Tasks};
use tokio::sync::oneshot;

use crate::store::StoreAt;
use crate::tools;
use crate::trace::Trace;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The port on this machine
    #[arg(long)]
    port: u16,
    /// The file of tasks, or the address of the database that has them
    #[arg(long)]
    store: StoreAt,
    /// The file that says what really ran
    #[arg(long)]
    trace: PathBuf,
    /// The keys that tasks are sealed with
    #[arg(long, value_name = "KID:BASE64[,…]")]
    keys: KeyRing,
    /// For how long a run has its task, unless it says again that it lives
    #[arg(long, default_value_t = 1_500)]
    lease_ms: u64,
    /// How long clients are asked to wait between two polls
    #[arg(long, default_value_t = 500)]
    poll_ms: u64,
    /// The tools that it serves
    #[arg(long, value_delimiter = ',', default_value = "order")]
    tools: Vec<String>,
    /// A file that says by how many seconds the clock of a file of tasks is ahead
    #[arg(long)]
    clock: Option<PathBuf>,
}

/// Serves until it is killed or its standard input is closed: then it hands over what it runs.
pub(crate) async fn run(options: Options) -> Result<()> {
    mrtr::init_logging();
    let store = options.store.open(options.clock).await?;
    let settings = TaskOptions::default()
        .lease(Duration::from_millis(options.lease_ms))
        .poll_interval(Duration::from_millis(options.poll_ms))
        .look_interval(Duration::from_millis(200))
        .most_open(1_000_000);
    let tasks = Tasks::with_options(store, settings);
    let builder = Server::builder("mrtr-chaos", env!("CARGO_PKG_VERSION"))
        .sealer(Sealer::new(options.keys, "chaos")?)
        .state(Trace::append_to(&options.trace)?)
        .extension(tasks.clone());
    let server = tools::offer(builder, &options.tools).build()?;
    let bound = Serve::new(Endpoint::anonymous(server)).bind(("127.0.0.1", options.port))?;
    println!("listening on http://{}{}", bound.address()?, mrtr_http::PATH);
    // At the end no task is begun any more and what waits for a result is answered; then HTTP ends.
    bound.run(told_to_end()).await?;
    // Last, what still runs is handed over.
    tasks.shut_down().await;
    Ok(())
}

/// Standard input is closed by the process that started this one, or by its death.
async fn told_to_end() {
    let (closed, is_closed) = oneshot::channel();
    std::thread::spawn(move || {
        drop(std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
        let _ = closed.send(());
    });
    drop(is_closed.await);
}
