//! `mrtr serve`: the demo tools, for any client, over HTTP or standard input and output.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, anyhow};
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use mrtr::http::{Endpoint, router_at};
use mrtr::server::transport::{Inventory, end_signal};
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
    /// Listen on this port; 0 takes any free port
    #[arg(long, default_value_t = 8000, value_name = "PORT")]
    port: u16,
    /// Listen on this address, such as 0.0.0.0 in a container; every caller who reaches it is let in
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "ADDRESS", conflicts_with = "stdio")]
    listen: IpAddr,
    /// Accept requests for this host too, such as a name of the container; may be given more than once
    #[arg(long, value_name = "HOST", conflicts_with = "stdio")]
    allow_host: Vec<String>,
    /// Serve on standard input and output instead
    #[arg(long, conflicts_with = "port")]
    stdio: bool,
    /// Answer probes too: /healthz says that it runs, /readyz that it takes requests
    #[arg(long, conflicts_with = "stdio")]
    probes: bool,
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
    let listener = listen(options.listen, port).await?;
    let address = reachable(listener.local_addr()?);
    let visits = Visits::at(format!("http://{address}"));
    let page = visits.clone().page();
    let parts = Parts { sealer: keys.sealer.clone(), tasks, single_use, visits };
    let server = demo::server(parts).map_err(|error| anyhow!("the demo server cannot be built: {error:?}"))?;
    if options.stdio {
        anstream::eprintln!("{}", styled(QUIET, "mrtr-demo serves on standard input and output"));
        tokio::spawn(axum::serve(listener, page).into_future());
        mrtr::stdio::serve(server).await?;
    } else {
        // Ctrl-C must work before the introduction says that it does.
        let told_to_end = end_signal()?;
        introduce(address, &server.inventory(), &keys, &options);
        let readiness = Readiness(Arc::new(AtomicBool::new(true)));
        let endpoint = options.allow_host.iter().fold(Endpoint::anonymous(server.clone()), Endpoint::allow_host);
        let mut site = page.merge(router_at("/mcp", endpoint));
        if options.probes {
            site = site.merge(probes(readiness.clone()));
        }
        until_told_to_end(told_to_end, readiness, listener, site, &server).await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns an address at which this machine reaches a server that listens on that one.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

async fn listen(ip: IpAddr, port: u16) -> Result<TcpListener> {
    TcpListener::bind((ip, port)).await.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => Failure::new(format!("port {port} is in use by another program"))
            .next("take another, or any that is free: --port 0")
            .into(),
        io::ErrorKind::AddrNotAvailable => Failure::new(format!("this machine does not have the address {ip}"))
            .next("127.0.0.1 is this machine alone, 0.0.0.0 all of its addresses")
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
fn introduce(address: SocketAddr, inventory: &Inventory, keys: &Keys, options: &Options) {
    use anstream::eprintln;
    let url = format!("http://{address}/mcp");
    let Inventory { name, version, tools, .. } = inventory;
    eprintln!("{} {version} serves at {}", styled(NAME, name), styled(NAME, &url));
    eprintln!("  {tools} tools: {}", demo::TOOLS.join(", "));
    let callers = if options.listen.is_loopback() { "every program on this machine" } else { "whoever reaches it" };
    eprintln!("  callers: anonymous, {callers}");
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

/// Serves until the process is told to end, and then ends in order: open requests have some time, those that would wait
/// for longer are answered first, and tasks are handed over last.
async fn until_told_to_end(
    told_to_end: impl Future<Output = ()>,
    readiness: Readiness,
    listener: TcpListener,
    site: Router,
    server: &Server,
) -> Result<()> {
    let (told, is_told) = tokio::sync::oneshot::channel::<()>();
    let serving = axum::serve(listener, site).with_graceful_shutdown(async { drop(is_told.await) });
    let serving = tokio::spawn(serving.into_future());
    told_to_end.await;
    let begun = Instant::now();
    readiness.0.store(false, Ordering::Relaxed);
    anstream::eprintln!("Ending: open requests have {} s. Ctrl-C again ends it at once.", GRACE.as_secs());
    server.begin_shutdown();
    drop(told);
    let ended = match tokio::time::timeout(GRACE, serving).await {
        Ok(ended) => ended?.context("the server failed"),
        // A client has left its stream open.
        Err(_) => Ok(()),
    };
    // A step that has begun is worth some time, whatever the requests have taken of it.
    let left = GRACE.saturating_sub(begun.elapsed()).max(LEAST_FOR_TASKS);
    if tokio::time::timeout(left, server.shut_down()).await.is_err() {
        anstream::eprintln!("Ended, although a task still ran: another process continues it once its lease is over.");
    } else {
        anstream::eprintln!("Ended: no request is open, and no task runs.");
    }
    ended
}

/// False once the process is told to end.
#[derive(Clone)]
struct Readiness(Arc<AtomicBool>);

/// The routes for probes, as `mrtr_http::Serve` has them.
fn probes(readiness: Readiness) -> Router {
    let is_ready = async move || {
        if readiness.0.load(Ordering::Relaxed) {
            (StatusCode::OK, "ready\n")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "shutting down\n")
        }
    };
    Router::new().route("/healthz", get(async || "alive\n")).route("/readyz", get(is_ready))
}

const VARIABLE: &str = "MRTR_STATE_KEYS";

/// The time that open requests have once the server is told to end.
const GRACE: Duration = Duration::from_secs(5);

/// The time that tasks have at least, when requests have taken all of it.
const LEAST_FOR_TASKS: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  mrtr serve
  mrtr serve --port 9000 --db tasks.sqlite --state-keys keys
  mrtr call --stdio 'mrtr serve --stdio' weather city=Oslo

It listens on this machine only (127.0.0.1), unless --listen says otherwise, and lets every caller in.
Requests must name a loopback host, such as localhost, or one of --allow-host.";
