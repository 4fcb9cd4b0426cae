//! The plans of the statements: each finds its rows by an index. Apart from them, since the benchmark includes their
//! file.

use rusqlite::Connection;

use super::statements::*;
use crate::open::open;
use crate::schema::Needed;

#[test]
fn every_statement_finds_its_rows_by_an_index_and_sorts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let connection = open(&folder.path().join("plans.sqlite"), Needed::Tasks).unwrap().connection;
    for sql in STATEMENTS {
        let plan = plan(&connection, sql);
        let searched = plan.iter().any(|step| step.starts_with("SEARCH"));
        assert!(searched || sql.starts_with("INSERT"), "{sql}: {plan:?}");
        for step in plan {
            assert!(!step.starts_with("SCAN") || step == "SCAN CONSTANT ROW", "{sql}: {step}");
            assert!(!step.contains("TEMP B-TREE"), "{sql}: {step}");
        }
    }
}

#[test]
fn due_work_is_found_in_the_index_that_waiting_tasks_are_not_in() {
    let folder = tempfile::tempdir().unwrap();
    let connection = open(&folder.path().join("plans.sqlite"), Needed::Tasks).unwrap().connection;
    let indexes = [
        (FIRST, "COVERING INDEX task_by_attention (tool=? AND attention>?)"),
        (FIRST_OF_ACCOUNT, "COVERING INDEX task_by_turn (tool=? AND account=? AND attention>?)"),
        (NEXT_ACCOUNT, "COVERING INDEX task_by_turn (tool=? AND account>?)"),
        (EXPIRED_OF_ACCOUNT, "COVERING INDEX task_by_account (account=? AND expires<?)"),
        (TRIALS, "INDEX task_by_trial (tool=? AND trial<?)"),
        (NEXT_TRIAL, "INDEX task_by_trial (tool=? AND trial>?)"),
        (WAITING, "INDEX task_by_attention (tool=? AND attention>?)"),
        (WAITING_ON_TRIAL, "INDEX task_by_trial (tool=? AND trial>?)"),
        (RESERVED, "COVERING INDEX task_by_reservation"),
    ];
    for (sql, index) in indexes {
        let plan = plan(&connection, sql);
        assert!(plan[0].contains(index), "{sql}: {plan:?}");
    }
    for (sql, index) in [(EXPIRED, "task_by_expiry"), (REMOVABLE, "task_by_removal")] {
        let plan = plan(&connection, sql);
        assert!(plan[0].contains(index), "{sql}: {plan:?}");
    }
}

fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    for at in 1..=explain.parameter_count() {
        explain.raw_bind_parameter(at, 0).unwrap();
    }
    let mut rows = explain.raw_query();
    let mut plan = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        plan.push(row.get("detail").unwrap());
    }
    plan
}
