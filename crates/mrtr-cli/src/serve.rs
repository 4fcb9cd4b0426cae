//! `mrtr serve`: the demo tools, for any client, over HTTP or standard input and output.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow};
use axum::Router;
use mrtr::http::{Endpoint, router_at};
use mrtr::server::{Guard, Server};
use mrtr::tasks::{MemoryTaskStore, Tasks};
use mrtr::{SqliteDatabase, SqliteSingleUse, SqliteTaskStore};
use mrtr_state::{KeyError, MemorySingleUse, Sealer};
use tokio::net::TcpListener;

use crate::demo;
use crate::demo::{Parts, Visits};
use crate::failure::Failure;
use crate::shown::{NAME, QUIET, styled};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Listen on this port of this machine; 0 takes any free port
    #[arg(long, default_value_t = 8000, value_name = "PORT")]
    port: u16,
    /// Serve on standard input and output instead
    #[arg(long, conflicts_with = "port")]
    stdio: bool,
    /// Keep tasks, and which states were used, in this SQLite file, which is made if there is none
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Seal states with the keys in this file; otherwise with those in `MRTR_STATE_KEYS`, or a key of this process alone
    #[arg(long, value_name = "FILE")]
    state_keys: Option<PathBuf>,
}

pub(crate) async fn run(options: Options) -> Result<ExitCode> {
    // A key that was made up is reported below, in plainer words than the log's.
    if std::env::var_os("RUST_LOG").is_some() {
        mrtr::init_logging();
    }
    let keys = Keys::of(options.state_keys.as_deref())?;
    let (tasks, single_use) = stores(options.db.as_deref())?;
    let port = if options.stdio { 0 } else { options.port };
    let listener = listen(port).await?;
    let address = listener.local_addr()?;
    let visits = Visits::at(format!("http://{address}"));
    let page = visits.clone().page();
    let parts = Parts { sealer: keys.sealer.clone(), tasks: tasks.clone(), single_use, visits };
    let server = demo::server(parts).map_err(|error| anyhow!("the demo server cannot be built: {error:?}"))?;
    if options.stdio {
        anstream::eprintln!("{}", styled(QUIET, "mrtr-demo serves on standard input and output"));
        tokio::spawn(axum::serve(listener, page).into_future());
        mrtr::stdio::serve(server).await?;
    } else {
        // Ctrl-C must work before the introduction says that it does.
        let ending = Ending::listen()?;
        introduce(address, &keys, &options);
        let site = page.merge(router_at("/mcp", Endpoint::anonymous(server.clone())));
        until_told_to_end(ending, listener, site, &server).await?;
    }
    tasks.shut_down().await;
    Ok(ExitCode::SUCCESS)
}

async fn listen(port: u16) -> Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => Failure::new(format!("port {port} is in use by another program"))
            .next("take another, or any that is free: --port 0")
            .into(),
        _ => anyhow!(error).context(format!("this command cannot listen on port {port}")),
    })
}

/// The keys, and their source.
struct Keys {
    sealer: Sealer,
    from: String,
}

impl Keys {
    fn of(file: Option<&Path>) -> Result<Self> {
        let (sealer, from) = match file {
            Some(path) => (Sealer::from_file(path), path.display().to_string()),
            None => match Sealer::from_env(VARIABLE) {
                Err(KeyError::NoVariable(_)) => {
                    return Ok(Self {
                        sealer: Sealer::this_process_only(),
                        from: "made for this process only: after a restart, waiting calls cannot be resumed (mrtr \
                               keys new FILE, and --state-keys FILE)"
                            .to_owned(),
                    });
                }
                other => (other, format!("from {VARIABLE}")),
            },
        };
        Ok(Self { sealer: sealer.map_err(|error| unusable(&error))?, from })
    }
}

/// The failure for keys that cannot be used.
pub(crate) fn unusable(error: &KeyError) -> Failure {
    Failure::new(format!("the keys cannot be used: {error}")).next("make a file of keys: mrtr keys new FILE")
}

fn stores(db: Option<&Path>) -> Result<(Tasks, Guard)> {
    let now = SystemTime::now().into();
    let Some(path) = db else {
        let single_use = Guard::new(Arc::new(MemorySingleUse::new(now)));
        return Ok((Tasks::new(MemoryTaskStore::default()), single_use));
    };
    let unusable = |path: &Path, error: &dyn std::error::Error| {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        Failure::new(format!("{} cannot be used: {error}{cause}", path.display()))
            .next("give --db a file that mrtr made, or one that does not exist yet")
    };
    let mut beside = path.as_os_str().to_owned();
    beside.push("-single-use");
    let beside = PathBuf::from(beside);
    // An earlier version kept a file for it, and only that file knows which states were used.
    if beside.exists() {
        let tasks = SqliteTaskStore::open(path).map_err(|error| unusable(path, &error))?;
        let single_use = SqliteSingleUse::open(&beside, now).map_err(|error| unusable(&beside, &error))?;
        return Ok((Tasks::new(tasks), Guard::new(Arc::new(single_use))));
    }
    let database = SqliteDatabase::open(path).map_err(|error| unusable(path, &error))?;
    Ok((Tasks::new(database.tasks()), Guard::new(Arc::new(database.single_use()))))
}

/// Tells the person what the server offers, and what to try.
fn introduce(address: SocketAddr, keys: &Keys, options: &Options) {
    use anstream::eprintln;
    let url = format!("http://{address}/mcp");
    eprintln!("{} serves at {}", styled(NAME, "mrtr-demo"), styled(NAME, &url));
    eprintln!("  tools: {}", demo::TOOLS.join(", "));
    eprintln!("  keys:  {}", keys.from);
    match &options.db {
        Some(path) => eprintln!("  tasks: {} (mrtr tasks list --db {})", path.display(), path.display()),
        None => eprintln!("  tasks: in memory, gone with this process (--db FILE keeps them)"),
    }
    eprintln!("Try, in another terminal:");
    for call in [
        "weather city=Oslo",
        "update_work_item workItemId=4522 --trace",
        "book_table",
        "echo",
        "summarise text=… --sample-with Brief",
    ] {
        eprintln!("  mrtr call {url} {call}");
    }
    eprintln!("Ctrl-C ends it.");
}

/// Serves until the process is told to end, and then gives open requests some time. Requests that would wait for longer
/// are answered first, and no new task begins; tasks are handed over after HTTP has ended.
async fn until_told_to_end(ending: Ending, listener: TcpListener, site: Router, server: &Server) -> Result<()> {
    let (told, is_told) = tokio::sync::oneshot::channel::<()>();
    let serving = axum::serve(listener, site).with_graceful_shutdown(async { drop(is_told.await) });
    let serving = tokio::spawn(serving.into_future());
    ending.told().await;
    server.begin_shutdown();
    drop(told);
    match tokio::time::timeout(GRACE, serving).await {
        Ok(ended) => ended?.context("the server failed"),
        // A client has left its stream open.
        Err(_) => Ok(()),
    }
}

/// The signals by which a person (Ctrl-C) or the platform ends the server. It listens from the moment when it is made.
struct Ending {
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 2],
}

impl Ending {
    #[cfg(unix)]
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { signals: [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?] })
    }

    #[cfg(unix)]
    async fn told(mut self) {
        let [interrupt, terminate] = &mut self.signals;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }

    #[cfg(not(unix))]
    fn listen() -> io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    async fn told(self) {
        drop(tokio::signal::ctrl_c().await);
    }
}

const VARIABLE: &str = "MRTR_STATE_KEYS";

/// The time that open requests have once the server is told to end.
const GRACE: Duration = Duration::from_secs(5);

const EXAMPLES: &str = "\
Examples:
  mrtr serve
  mrtr serve --port 9000 --db tasks.sqlite --state-keys keys
  mrtr call --stdio 'mrtr serve --stdio' weather city=Oslo

It listens on this machine only (127.0.0.1), and lets every caller in.";
