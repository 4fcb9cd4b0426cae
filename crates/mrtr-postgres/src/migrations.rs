//! The schema, as numbered files from nothing to the newest version, and the script that applies them.

use deadpool_postgres::PoolError;
use tokio_postgres::SimpleQueryMessage;

use crate::database::Database;
use crate::{ConnectError, Schema};

/// The newest version of the schema that this program knows.
///
/// ```
/// assert_eq!(mrtr_postgres::migrations::NEWEST, 4);
/// ```
pub const NEWEST: i32 = 4;

/// The files that bring a schema from each version to the next. An empty schema has version 0. A released file stays as
/// it is: databases have been through it.
const FILES: [&str; 4] = [
    include_str!("../migrations/0001_first.sql"),
    include_str!("../migrations/0002_trials.sql"),
    include_str!("../migrations/0003_turns.sql"),
    include_str!("../migrations/0004_accounts.sql"),
];

/// Returns the script that brings a schema of any version to the newest, for an operator to read and to run with
/// `psql`. [`PostgresOptions::connect`](crate::PostgresOptions::connect) runs it too, unless
/// [`migrate_at_start`](crate::PostgresOptions::migrate_at_start) is off.
///
/// Operators may run it again, and at the same time: the first run applies what is missing.
///
/// ```
/// use mrtr_postgres::{Schema, migrations};
///
/// let script = migrations::sql(&Schema::default());
/// assert!(script.contains(r#"CREATE SCHEMA IF NOT EXISTS "mrtr""#));
/// ```
pub fn sql(schema: &Schema) -> String {
    let name = schema.as_str();
    let mut script = format!(
        "BEGIN;\n\
         -- Held until the end of the transaction, so one applies and the others wait; pgbouncer lets it through.\n\
         SELECT pg_advisory_xact_lock(hashtext('mrtr migrations'), hashtext('{name}'));\n\
         CREATE SCHEMA IF NOT EXISTS \"{name}\";\n\
         CREATE TABLE IF NOT EXISTS \"{name}\".migration (\n    \
             number integer PRIMARY KEY,\n    \
             applied timestamptz NOT NULL DEFAULT now()\n\
         );\n"
    );
    for (number, file) in (1..).zip(FILES) {
        let statements = file.replace("{schema}", name);
        let step = format!(
            "DO $migration$ BEGIN\nIF NOT EXISTS (SELECT FROM \"{name}\".migration WHERE number = {number}) THEN\n\n\
             {statements}\n\
             INSERT INTO \"{name}\".migration (number) VALUES ({number});\n\
             END IF;\nEND $migration$;\n"
        );
        script.push_str(&step);
    }
    script + "COMMIT;\n"
}

/// Finds the tables, or makes them, in a database that can be used.
pub(crate) async fn find_or_make(database: &Database, schema: &Schema, migrates: bool) -> Result<(), ConnectError> {
    let object = database.pool.get().await.map_err(unreachable)?;
    let state = STATE.replace("{schema}", schema.as_str());
    let found = object.simple_query(&state).await.map_err(|error| ConnectError::Database(error.into()))?;
    let row =
        found.iter().find_map(|message| if let SimpleQueryMessage::Row(row) = message { Some(row) } else { None });
    let column = |name| row.and_then(|row| row.try_get(name).ok().flatten()).unwrap_or_default();
    if column("number").parse().unwrap_or(0) < OLDEST_SERVER {
        return Err(ConnectError::OldServer { found: column("version").to_owned() });
    }
    if column("is_replica") != "f" || column("is_read_only") != "off" {
        return Err(ConnectError::ReadOnly);
    }
    let found = if column("is_there") == "t" { applied(&object, schema).await? } else { 0 };
    match found {
        NEWEST => Ok(()),
        _ if found > NEWEST => Err(ConnectError::NewerSchema { schema: schema.clone(), found, known: NEWEST }),
        _ if !migrates => Err(ConnectError::OlderSchema { schema: schema.clone(), found, needed: NEWEST }),
        _ => {
            let done = object.batch_execute(&sql(schema)).await;
            if done.is_err() {
                // It is in the middle of a transaction that failed.
                drop(deadpool_postgres::Object::take(object));
            }
            done.map_err(|error| ConnectError::Migration { schema: schema.clone(), source: error.into() })
        }
    }
}

async fn applied(object: &deadpool_postgres::Object, schema: &Schema) -> Result<i32, ConnectError> {
    let sql = format!("SELECT coalesce(max(number), 0) AS number FROM \"{schema}\".migration");
    let found = object.simple_query(&sql).await.map_err(|error| ConnectError::Database(error.into()))?;
    let number = found.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).and_then(|number| number.parse().ok()),
        _ => None,
    });
    Ok(number.unwrap_or(0))
}

fn unreachable(error: PoolError) -> ConnectError {
    ConnectError::Unreachable(error.into())
}

/// PostgreSQL 15, as `server_version_num` gives it.
const OLDEST_SERVER: i32 = 150_000;

const STATE: &str = "SELECT current_setting('server_version_num') AS number, current_setting('server_version') AS version, \
                     pg_is_in_recovery() AS is_replica, current_setting('transaction_read_only') AS is_read_only, \
                     to_regclass('\"{schema}\".migration') IS NOT NULL AS is_there";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_that_of_the_last_file() {
        assert_eq!(FILES.len(), usize::try_from(NEWEST).unwrap());
        for file in FILES {
            assert!(!file.contains("$migration$") && !file.contains("COMMIT"));
        }
    }
}
