//! A database that an earlier version wrote is migrated, and its tasks and tokens go on.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "../../mrtr-state/tests/single_use/earlier.rs"]
mod earlier;
#[path = "../../mrtr-tasks/tests/tasks/support.rs"]
#[allow(dead_code, reason = "other tests of tasks need more of it")]
mod site;
#[path = "../../mrtr-tasks/tests/earlier/tasks.rs"]
mod tasks;
#[path = "../../mrtr-state/tests/single_use/tokens.rs"]
#[allow(dead_code, reason = "other tests of single use need more of it")]
mod tokens;

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use mrtr_postgres::testing::Cluster;
use mrtr_postgres::{PostgresOptions, PostgresStore};
use mrtr_server::testing::FixedClock;
use mrtr_tasks::TaskStore;

#[tokio::test]
async fn tasks_and_tokens_in_a_database_of_the_first_version_go_on() {
    let Some(cluster) = Cluster::shared() else { return };
    let address = cluster.fresh_database().unwrap();
    restore(cluster, &address, include_str!("earlier/database-1.sql"));
    let clock = FixedClock::default();
    clock.advance(Duration::from_hours(1));
    let store = connect(&address, clock).await;
    earlier::go_on(&*store, include_str!("earlier/database-1.txt")).await;
    tasks::go_on(store).await;
}

/// Not a test: leaves a dump of this version in the target folder, for later ones to read.
#[test]
#[ignore = "it makes what tests of later versions read"]
fn leave_a_database() {
    let cluster = Cluster::shared().unwrap();
    let address = cluster.fresh_database().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tasks::leave(async {
        let store = connect(&address, FixedClock::default()).await;
        std::fs::write(folder.join("database.txt"), earlier::leave(&*store).await).unwrap();
        let store: Arc<dyn TaskStore> = store;
        store
    });
    let dumped = cluster.program("pg_dump").args(["--inserts", "--no-owner", &address]).output().unwrap();
    assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
    std::fs::write(folder.join("database.sql"), dumped.stdout).unwrap();
}

async fn connect(address: &str, clock: FixedClock) -> Arc<PostgresStore> {
    let options = PostgresOptions::new(address).unwrap().clock(Arc::new(clock));
    Arc::new(options.connect().await.unwrap())
}

fn restore(cluster: &Cluster, address: &str, dump: &str) {
    let mut psql = cluster.program("psql");
    psql.args(["-q", "-v", "ON_ERROR_STOP=1", address]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut psql = psql.spawn().unwrap();
    psql.stdin.take().unwrap().write_all(dump.as_bytes()).unwrap();
    assert!(psql.wait().unwrap().success());
}
