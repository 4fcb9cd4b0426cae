//! Steps that block their thread for longer than a lease, between real processes: each takes effect once.
#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the report")]

#[path = "blocking/play.rs"]
mod play;
#[path = "../../mrtr-tasks/tests/tasks/support.rs"]
#[allow(dead_code, reason = "other tests of tasks need more of it")]
mod site;

use mrtr_sqlite::SqliteDatabase;

#[test]
fn a_task_in_a_file_runs_once_though_its_step_blocks_for_five_leases() {
    let folder = tempfile::tempdir().unwrap();
    play::a_task_runs_once(&folder.path().join("tasks.sqlite").display().to_string());
}

#[test]
fn a_token_in_a_file_is_used_once_though_its_step_blocks_for_longer_than_a_lease() {
    let folder = tempfile::tempdir().unwrap();
    play::a_token_is_used_once(&folder.path().join("tokens.sqlite").display().to_string());
}

/// Not a test of its own: the others start this program again with a part for it to play.
#[test]
fn a_part_is_played_by_a_child_process() {
    let open = |file: &str| SqliteDatabase::open(file).unwrap();
    play::play(&async |file: &str| open(file).tasks(), &async |file: &str| open(file).single_use());
}
