//! A server as it is deployed: keys of its own, behind a proxy, with probes, and with an end in order on SIGTERM.
//!
//! ```sh
//! export MRTR_STATE_KEYS="shop=k1:$(openssl rand -base64 32)"
//! cargo run -p mrtr-examples --bin draining
//! ```
//!
//! It listens on 127.0.0.1:8000, or on `SHOP_ADDRESS`, and takes its keys from the file `SHOP_KEYS` if that is set. On
//! SIGTERM or Ctrl-C, `/readyz` says 503 at once, so that requests go to other instances. After the notice the server
//! accepts no more connections, answers the calls that run, hands over its tasks, and ends with status 0.
//!
//! `examples/deployment` has a container, a unit of systemd, manifests for Kubernetes, and two proxies for it.

use std::env;
use std::net::Ipv4Addr;
use std::time::Duration;

use mrtr::prelude::*;

/// Collects the orders of a day, for as long as the warehouse takes.
async fn export(flow: Flow) -> Result<String> {
    flow.progress(0, Some(1), "asking the warehouse").await;
    let orders = flow.step("collect", warehouse()).await?;
    Ok(format!("{orders} orders are exported"))
}

async fn warehouse() -> Result<u32> {
    tokio::time::sleep(milliseconds("WAREHOUSE_MS", 5000)?).await;
    Ok(12)
}

/// The keys: in a file, such as a secret that the platform mounts, or in the environment.
fn keys() -> Result<Sealer> {
    Ok(match env::var_os("SHOP_KEYS") {
        Some(file) => Sealer::from_file(file)?,
        None => Sealer::from_env("MRTR_STATE_KEYS")?,
    })
}

/// The address of the proxy, as a network of one machine, and the name that clients have for it.
fn behind_proxy(server: Server) -> Endpoint {
    Endpoint::anonymous(server).allow_host("mcp.example.com").trusted_proxy(Ipv4Addr::LOCALHOST, 32)
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let export = Tool::new("export", export).description("Exports the orders of today");
    let server = Server::builder("shop", env!("CARGO_PKG_VERSION")).sealer(keys()?).tool(export).build()?;
    let address = env::var("SHOP_ADDRESS").unwrap_or("127.0.0.1:8000".into());

    Serve::new(behind_proxy(server))
        .probes() // GET /healthz and /readyz
        .shutdown_notice(milliseconds("SHOP_NOTICE_MS", 5000)?) // two periods of the readiness probe, and a little
        .shutdown_timeout(Duration::from_secs(30)) // from the signal to the end; the platform waits longer
        .bind(address)?
        .run_until_signal()
        .await?;
    Ok(())
}

fn milliseconds(variable: &str, otherwise: u64) -> Result<Duration> {
    let set = env::var(variable).ok().map(|text| text.parse()).transpose()?;
    Ok(Duration::from_millis(set.unwrap_or(otherwise)))
}
