//! A file of tasks that an earlier version wrote opens, and its tasks go on.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "tasks/support.rs"]
#[allow(dead_code, reason = "other tests of tasks need more of it")]
mod site;
#[path = "earlier/tasks.rs"]
mod tasks;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mrtr_server::testing::FixedClock;
use mrtr_tasks::TaskStore;
use mrtr_tasks::store::SqliteTaskStore;

#[tokio::test]
async fn tasks_in_a_file_of_the_first_version_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasks.sqlite");
    std::fs::write(&file, include_bytes!("earlier/tasks-1.sqlite")).unwrap();
    let clock = FixedClock::default();
    clock.advance(Duration::from_hours(1));
    tasks::go_on(Arc::new(SqliteTaskStore::open_with_clock(file, Arc::new(clock)).unwrap())).await;
}

/// Not a test: leaves a file of this version in the target folder, for later ones to open.
#[test]
#[ignore = "it makes what tests of later versions read"]
fn leave_a_file() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tasks.sqlite");
    tasks::leave(async {
        let store: Arc<dyn TaskStore> =
            Arc::new(SqliteTaskStore::open_with_clock(&file, Arc::new(FixedClock::default())).unwrap());
        store
    });
    // So that it is one file.
    drop(SqliteTaskStore::open(file).unwrap());
}
