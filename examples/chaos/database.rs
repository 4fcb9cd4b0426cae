//! A PostgreSQL that is restarted, and whose connections are cut, as its parent says line by line.

use std::io;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use mrtr_postgres::testing::Cluster;

/// Brings a throw-away cluster up, which waits for the disk as one in use does, and says where a database in it is; or,
/// where PostgreSQL is not installed, that it is left out. Ends when standard input is closed.
pub(crate) fn run() -> Result<()> {
    let durable = ["fsync=on", "synchronous_commit=on", "full_page_writes=on", "max_connections=200"];
    let Some(cluster) = Cluster::start(&durable) else {
        println!("left out");
        return Ok(());
    };
    println!("database at {}", cluster.fresh_database()?);
    for line in io::stdin().lines() {
        match line?.trim() {
            "restart" => cluster.restart()?,
            "terminate" => terminate(&cluster, SOME_BACKENDS)?,
            "deafen" => terminate(&cluster, LISTENERS)?,
            other => bail!("there is no fault `{other}`"),
        }
        println!("done");
    }
    Ok(())
}

/// Ends the sessions for which this holds.
fn terminate(cluster: &Cluster, which: &str) -> Result<()> {
    let mut psql: Command = cluster.program("psql");
    let sql = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE application_name = 'mrtr' AND backend_type = 'client backend' AND {which}"
    );
    psql.arg(cluster.address("postgres")).args(["--no-psqlrc", "--quiet", "-c", &sql]);
    let status = psql.stdin(Stdio::null()).stdout(Stdio::null()).status().context("psql does not start")?;
    ensure!(status.success(), "psql failed: {status}");
    Ok(())
}

/// Every second one, whatever it is doing.
const SOME_BACKENDS: &str = "random() < 0.5";
/// A session that listens has done nothing else.
const LISTENERS: &str = "query LIKE 'LISTEN %'";
