//! Many at once on one task, on several threads: of those that compare and set, one wins.

use std::sync::Arc;

use mrtr_flow::Clock;
use mrtr_tasks::TaskStore;

use crate::clock::{NOON, SetClock};
use crate::hammer::{hammer, many_tasks};
use crate::{Files, open, within_a_minute};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_on_a_task_in_sqlite_one_wins() {
    let files = Files::new();
    let store: Arc<dyn TaskStore> = Arc::new(open(files.fresh(), &clock()));
    within_a_minute(hammer(&[store])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_in_three_stores_on_one_file_one_wins() {
    let files = Files::new();
    let (path, clock) = (files.fresh(), clock());
    let stores: Vec<_> = (0..3).map(|_| Arc::new(open(&path, &clock)) as Arc<dyn TaskStore>).collect();
    within_a_minute(hammer(&stores)).await;
}

/// Verbs that arrive together are written together: what is refused spoils nothing beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn verbs_of_many_tasks_that_arrive_together_do_not_mix() {
    let files = Files::new();
    within_a_minute(many_tasks(Arc::new(open(files.fresh(), &clock())))).await;
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(SetClock::at(NOON))
}
