//! The log of the demo server, on standard error.

use std::io::{self, IsTerminal};

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Shows what `RUST_LOG` says; without it, failures, and the requests that were refused.
pub(super) fn init() {
    let wanted = std::env::var("RUST_LOG").ok().and_then(|text| text.parse::<Targets>().ok());
    let filter = wanted.or_else(|| DEFAULT.parse().ok()).unwrap_or_default();
    let colours = io::stderr().is_terminal();
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(colours).with_target(false).compact();
    tracing_subscriber::registry().with(filter).with(lines).init();
}

/// Refused hosts and refused states are at INFO. The introduction says in plainer words that tasks are not sealed.
const DEFAULT: &str = "warn,mrtr_http::server::refusals=info,mrtr_server::round=info,mrtr_tasks::vault=error";
