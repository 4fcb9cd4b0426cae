//! A subscriber for programs that have none of their own.

use std::io::IsTerminal;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{fmt, registry};

/// Shows what servers and clients log, on standard error: from `info` up, or what `RUST_LOG` says, such as `debug` or
/// `mrtr_server=trace,warn`.
///
/// If the program has a subscriber already, this does nothing. Standard output stays free, since it may be the wire.
///
/// ```
/// mrtr::init_logging();
/// mrtr::init_logging(); // once is enough, twice does no harm
/// ```
pub fn init_logging() {
    let wanted = std::env::var("RUST_LOG").ok().and_then(|text| text.parse::<Targets>().ok());
    let filter = wanted.unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO));
    let colours = std::io::stderr().is_terminal();
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(colours).with_target(false).compact();
    // Another subscriber is there already: it is the program's, and stays.
    let _ = registry().with(filter).with(lines).try_init();
}
