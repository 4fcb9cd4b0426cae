//! `mrtr serve`: the demo tools, for any client, over HTTP or standard input and output.

mod addresses;
mod banner;
mod ending;
mod log;
mod stores;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use axum::http::StatusCode;
use mrtr::http::{Endpoint, router_at};
use mrtr::server::transport::end_signal;
use mrtr_state::{KeyError, Sealer};

use crate::demo;
use crate::demo::{Parts, Visits};
use crate::failure::{Failure, with_cause};
use crate::shown::{QUIET, styled};
use banner::Introduction;
use ending::{Readiness, Times, until_told_to_end};
use stores::Stores;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Listen on this port; 0 takes any free port
    #[arg(long, default_value_t = 8000, value_name = "PORT")]
    port: u16,
    /// Listen on this IP address, such as 0.0.0.0 in a container; every caller who reaches it is let in
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS", conflicts_with = "stdio")]
    listen: String,
    /// Accept requests for this host too, without scheme and port, such as mcp.example.com; may be given more than once
    #[arg(long, value_name = "HOST", conflicts_with = "stdio")]
    allow_host: Vec<String>,
    /// Serve on standard input and output instead
    #[arg(long, conflicts_with = "port")]
    stdio: bool,
    /// Answer probes under any host: /healthz says that it runs, /readyz that it takes requests
    #[arg(long, conflicts_with = "stdio")]
    probes: bool,
    /// Once told to end, take requests for this long while /readyz fails
    #[arg(long, default_value_t = 0, value_name = "SECONDS", conflicts_with = "stdio")]
    shutdown_notice: u64,
    /// Once told to end, give what runs this long, the notice included
    #[arg(long, default_value_t = 5, value_name = "SECONDS", conflicts_with = "stdio")]
    shutdown_timeout: u64,
    /// Keep tasks, and which states were used, in this SQLite file, which is made if there is none; give --state-keys too
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Seal states and tasks with the keys in this file, which is read at the start only; otherwise with those in `MRTR_STATE_KEYS`, or a key of this process alone
    #[arg(long, value_name = "FILE")]
    state_keys: Option<PathBuf>,
}

pub(crate) async fn run(options: Options) -> Result<ExitCode> {
    let ip = addresses::address(&options.listen)?;
    options.allow_host.iter().try_for_each(|host| addresses::check_host(host))?;
    let times = Times::new(options.shutdown_notice, options.shutdown_timeout)?;
    log::init();
    let keys = Keys::of(options.state_keys.as_deref())?;
    let db = options.db.as_deref();
    let Stores { tasks, single_use, of_others } = stores::open(db, keys.sealer.audience()).await?;
    let port = if options.stdio { 0 } else { options.port };
    let listener = addresses::listen(ip, port).await?;
    let address = addresses::reachable(listener.local_addr()?);
    let visits = Visits::at(format!("http://{address}"));
    let page = visits.clone().page();
    let parts = Parts { sealer: keys.sealer.clone(), tasks, single_use, visits };
    let server = demo::server(parts).map_err(|error| anyhow!("the demo server cannot be built: {error:?}"))?;
    if options.stdio {
        anstream::eprintln!("{}", styled(QUIET, "mrtr-demo serves on standard input and output"));
        banner::warn_of_tasks(&keys, db, &of_others);
        tokio::spawn(axum::serve(listener, page).into_future());
        mrtr::stdio::serve(server).await?;
    } else {
        // Ctrl-C must work before the introduction says that it does.
        let told_to_end = end_signal()?;
        let (inventory, hosts) = (server.inventory(), &*options.allow_host);
        Introduction { address, listen: ip, hosts, inventory, keys: &keys, db, of_others: &of_others }.show();
        let readiness = Readiness::new();
        let endpoint = options.allow_host.iter().fold(Endpoint::anonymous(server.clone()), Endpoint::allow_host);
        let mut site = page.merge(router_at("/mcp", endpoint));
        if options.probes {
            site = site.merge(readiness.clone().probes());
        }
        // The words of `mrtr_http::Serve`.
        let site = site.fallback(async || (StatusCode::NOT_FOUND, "There is nothing here.\n"));
        until_told_to_end(told_to_end, readiness, times, listener, site, &server).await?;
    }
    Ok(ExitCode::SUCCESS)
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

    fn end_with_process(&self) -> bool {
        !self.sealer.outlives_process()
    }
}

/// The failure for keys that cannot be used.
pub(crate) fn unusable(error: &KeyError) -> Failure {
    let failure = Failure::new(format!("the keys cannot be used: {}", with_cause(error)));
    match error {
        KeyError::Unreadable { path, source } if source.kind() == io::ErrorKind::NotFound => {
            failure.next(format!("check the path, or make the file: mrtr keys new {}", path.display()))
        }
        KeyError::Unreadable { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            failure.next("give this process the right to read the file")
        }
        _ => failure.next("make a file of keys: mrtr keys new FILE"),
    }
}

const VARIABLE: &str = "MRTR_STATE_KEYS";

/// The audience of servers whose key ends with their process, as `Sealer::this_process_only` has it.
pub(crate) const THIS_PROCESS: &str = "this-process";

const EXAMPLES: &str = "\
Examples:
  mrtr serve
  mrtr serve --port 9000 --db tasks.sqlite --state-keys keys
  mrtr call --stdio 'mrtr serve --stdio' weather city=Oslo

It listens on this machine only (127.0.0.1), unless --listen says otherwise, and lets every caller in.
Requests must name a loopback host, such as localhost, or one of --allow-host.
It logs failures, refused hosts and refused states to standard error; RUST_LOG=info or RUST_LOG=debug shows more.";
