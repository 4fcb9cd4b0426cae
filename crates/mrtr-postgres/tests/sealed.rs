//! The content of a task is sealed before the database sees it: nothing of it is in a dump.
#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the report")]

#[path = "../../mrtr-tasks/tests/tasks/support.rs"]
#[allow(dead_code, reason = "other tests of tasks need more of it")]
mod site;

use std::sync::Arc;

use mrtr_postgres::PostgresStore;
use mrtr_postgres::testing::Cluster;
use mrtr_tasks::{TaskOptions, TaskStore};
use serde_json::json;

use site::{Name, Outside, Site, sealer, tool};

#[tokio::test]
async fn a_marker_that_was_answered_is_found_nowhere_in_a_dump() {
    let Some(cluster) = Cluster::shared() else { return };
    for is_sealed in [true, false] {
        let address = cluster.fresh_database().unwrap();
        let store: Arc<dyn TaskStore> = Arc::new(PostgresStore::connect(&address).await.unwrap());
        let outside = Outside::default();
        let asking = tool(&outside, async |flow, outside| {
            let Name { name } = flow.elicit("name", "Who are you?").await?;
            flow.step("ship", outside.happen_after_gate("ship")).await?;
            Ok(format!("Hello, {name}"))
        });
        let site = Site::sealed_by(is_sealed.then(sealer), store, TaskOptions::default(), [asking]);
        let task = site.start().await;
        task.until_asked(&["name"]).await;
        task.accept("name", json!({ "name": MARKER })).await;
        outside.until("at the gate", 1).await;
        let answered = dump(cluster, &address);
        outside.open_gate();
        assert_eq!(task.text().await, format!("Hello, {MARKER}"));
        let completed = dump(cluster, &address);
        for dumped in [&answered, &completed] {
            assert!(dumped.contains("name"), "keys and tools are searched, and are plain");
            // Without a sealer it is there, so that this test can find it.
            assert_eq!(is_found(dumped), !is_sealed);
        }
        site.tasks.shut_down().await;
    }
}

fn dump(cluster: &Cluster, address: &str) -> String {
    let dumped = cluster.program("pg_dump").args(["--inserts", address]).output().unwrap();
    assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
    String::from_utf8(dumped.stdout).unwrap()
}

/// Looks for the marker as it is, or in hexadecimal, which is how a dump has bytes.
fn is_found(dump: &str) -> bool {
    let in_hex = MARKER.bytes().flat_map(|byte| [byte >> 4, byte & 15]);
    let in_hex: String = in_hex.filter_map(|digit| char::from_digit(digit.into(), 16)).collect();
    dump.contains(MARKER) || dump.contains(&in_hex)
}

const MARKER: &str = "zanzibar-31415";
