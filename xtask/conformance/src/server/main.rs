//! A server for the official conformance suite: every fixture that it asks for, written as a flow, and some of our own.
//!
//! The suite is run by `cargo xtask conformance`. What it does not look at is here as well, for tests of ours: states
//! that expire, principals, single use, rounds that only carry a state, and inputs beyond the three standard ones.

mod content;
mod questions;
mod sessions;

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use mrtr_http::{Endpoint, Serve};
use mrtr_schema::Revision;
use mrtr_server::{Sealer, Server};
use mrtr_state::{KeyRing, Lifetimes};
use mrtr_tasks::store::MemoryTaskStore;
use mrtr_tasks::{TaskOptions, Tasks};

use content::BearerPrincipals;

/// Serves the fixtures of the official conformance suite.
#[derive(Parser)]
struct Options {
    /// The port on this machine; 0 takes any free port
    #[arg(long, default_value_t = 4104)]
    port: u16,
    /// The keys that seal states, the sealing one first; one of this process if none are given
    #[arg(long, value_name = "KID:BASE64[,…]")]
    state_keys: Option<KeyRing>,
    /// The time within which a client must come back with a state
    #[arg(long, value_name = "MILLISECONDS")]
    state_ttl_ms: Option<u64>,
    /// Take the text of a bearer token for the caller's name
    #[arg(long)]
    bearer_principals: bool,
    /// Serve the older revisions too, each at a path of its own
    #[arg(long)]
    older: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    let server = server(options.sealer()?)?;
    let mut serve = Serve::new(options.endpoint(&server));
    if options.older {
        for revision in [Revision::Draft202602, Revision::Sep2322] {
            serve = serve.endpoint(format!("/{revision}"), options.endpoint(&server).revision(revision));
        }
    }
    let bound = serve.bind(("127.0.0.1", options.port))?;
    println!("listening on http://{}{}", bound.address()?, mrtr_http::PATH);
    Ok(bound.run(pending()).await?)
}

fn server(sealer: Sealer) -> Result<Server> {
    let builder = Server::builder("mrtr-conformance", env!("CARGO_PKG_VERSION")).sealer(sealer);
    // The content comes first: the suite calls the first tool of the list without arguments, and expects no question.
    let builder = content::offer_diagnostics(content::offer(builder))?;
    let builder = sessions::offer(questions::offer(builder));
    let builder = questions::offer_inputs(questions::offer_states(builder));
    let kept = TaskOptions::default().poll_interval(Duration::from_millis(100));
    let runner = Tasks::with_options(Arc::new(MemoryTaskStore::default()), kept);
    let builder = sessions::offer_tasks(builder).extension(runner);
    Ok(content::offer_resources(content::offer_prompts(builder)).build()?)
}

impl Options {
    fn sealer(&self) -> Result<Sealer> {
        let sealer = match &self.state_keys {
            Some(keys) => Sealer::new(keys.clone(), "conformance")?,
            None => Sealer::this_process_only(),
        };
        Ok(match self.state_ttl_ms {
            Some(ttl) => sealer.lifetimes(Lifetimes { round: Duration::from_millis(ttl), ..Lifetimes::default() }),
            None => sealer,
        })
    }

    fn endpoint(&self, server: &Server) -> Endpoint {
        if self.bearer_principals {
            Endpoint::new(server.clone(), BearerPrincipals)
        } else {
            Endpoint::anonymous(server.clone())
        }
    }
}
