//! Steps that block their thread for longer than a lease, between real processes: each takes effect once.
#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the report")]

#[path = "../../mrtr-sqlite/tests/blocking/play.rs"]
mod play;
#[path = "../../mrtr-tasks/tests/tasks/support.rs"]
#[allow(dead_code, reason = "other tests of tasks need more of it")]
mod site;

use mrtr_postgres::PostgresStore;
use mrtr_postgres::testing::Cluster;

#[test]
fn a_task_in_a_database_runs_once_though_its_step_blocks_for_five_leases() {
    let Some(cluster) = Cluster::shared() else { return };
    play::a_task_runs_once(&cluster.fresh_database().unwrap());
}

#[test]
fn a_token_in_a_database_is_used_once_though_its_step_blocks_for_longer_than_a_lease() {
    let Some(cluster) = Cluster::shared() else { return };
    play::a_token_is_used_once(&cluster.fresh_database().unwrap());
}

/// Not a test of its own: the others start this program again with a part for it to play.
#[test]
fn a_part_is_played_by_a_child_process() {
    play::play(&connect, &connect);
}

async fn connect(address: &str) -> PostgresStore {
    PostgresStore::connect(address).await.unwrap()
}
