//! A connection to a file of tasks, with the settings that the store has.

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use mrtr_sqlite::SqliteTaskStore;
use rusqlite::Connection;

/// The store makes the tables, so that both sides always have the same.
pub(super) fn open(path: &Path) -> Result<Connection> {
    drop(SqliteTaskStore::open(path)?);
    let mut connection = Connection::open(path)?;
    connection.busy_handler(Some(wait_for_others))?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "secure_delete", "FAST")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

fn wait_for_others(times: i32) -> bool {
    thread::sleep(Duration::from_micros(300));
    times < 30_000
}
