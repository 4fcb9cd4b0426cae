//! Opening the file: whose it is, its schema, and how it is shared.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, TransactionBehavior};

use super::super::SqliteOpenError;
use super::table::{millis, moment};
use crate::Timestamp;
use crate::database_file::DatabaseFile;

/// An open file, and since when it remembers.
pub(super) struct File {
    /// What is at its path, if that is still so.
    pub(super) place: DatabaseFile,
    pub(super) connection: Connection,
    pub(super) since: Timestamp,
}

pub(super) fn open(path: &Path, now: Timestamp) -> Result<File, SqliteOpenError> {
    // Without the flag for URIs, a path is a path.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if path != Path::new(":memory:") {
        DatabaseFile::make(path).map_err(SqliteOpenError::File)?;
    }
    let mut connection = Connection::open_with_flags(path, flags)?;
    // SQLite would open it all the same, and refuse the first write.
    if connection.is_readonly(MAIN_DB)? {
        return Err(SqliteOpenError::ReadOnly);
    }
    connection.busy_timeout(PATIENCE)?;
    let since = find_or_make_schema(&mut connection, now)?;
    keep_write_ahead_log(&connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(File { place: DatabaseFile::at(path).map_err(SqliteOpenError::File)?, connection, since })
}

fn find_or_make_schema(connection: &mut Connection, now: Timestamp) -> Result<Timestamp, SqliteOpenError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let number = |pragma| transaction.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    match (number("application_id")?, number("user_version")?) {
        (0, 0) if is_empty(&transaction)? => {
            transaction.execute_batch(SCHEMA)?;
            transaction.execute("INSERT INTO memory (only_row, since, last_fence) VALUES (0, ?1, 0)", [millis(now)])?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        (APPLICATION, 1) => {
            transaction.execute_batch(FROM_VERSION_1)?;
            // It did not note what it purged, so it may have forgotten any token from before.
            transaction.execute("UPDATE memory SET since = max(since, ?1)", [millis(now)])?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        (APPLICATION, VERSION) => {}
        (APPLICATION, found) if found > VERSION => return Err(SqliteOpenError::Newer { found, known: VERSION }),
        _ => return Err(SqliteOpenError::NotOurs),
    }
    let since = transaction.query_row("SELECT since FROM memory WHERE only_row = 0", [], |row| row.get(0))?;
    transaction.commit()?;
    Ok(moment(since))
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

/// SQLite does not wait by itself when two connections turn the log on at once, for fear of a deadlock.
fn keep_write_ahead_log(connection: &Connection) -> Result<(), SqliteOpenError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => return Err(SqliteOpenError::NotShared),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// How long a process waits for others to be done with the file.
const PATIENCE: Duration = Duration::from_secs(5);

/// "mrt1", in SQLite's place for telling files apart.
const APPLICATION: i64 = 0x6d72_7431;
const VERSION: i64 = 2;

/// Rows are found by (issued, key) or by fence, never by the key alone: keys are random, and an index on them would be
/// written all over, while these grow at their ends.
const SCHEMA: &str = "
    CREATE TABLE memory (
        only_row INTEGER PRIMARY KEY CHECK (only_row = 0),
        since INTEGER NOT NULL,
        last_fence INTEGER NOT NULL,
        -- The latest issue and the latest end among all redemptions that were ever purged.
        purged_issued INTEGER NOT NULL DEFAULT 0,
        purged_end INTEGER NOT NULL DEFAULT 0
    ) STRICT;

    CREATE TABLE redemption (
        id INTEGER PRIMARY KEY,
        issued INTEGER NOT NULL,
        key BLOB NOT NULL,
        answers BLOB NOT NULL,
        keep_until INTEGER NOT NULL,
        -- Of whoever holds it; null once it was committed or released.
        fence INTEGER,
        lapses INTEGER,
        -- Null until it was committed.
        reply BLOB,
        UNIQUE (issued, key),
        CHECK ((fence IS NULL) = (lapses IS NULL)),
        CHECK (fence IS NULL OR reply IS NULL)
    ) STRICT;
    CREATE UNIQUE INDEX redemption_by_fence ON redemption (fence) WHERE fence IS NOT NULL;
    CREATE INDEX redemption_by_end ON redemption (keep_until);

    CREATE TABLE step (
        -- Grows in the order in which the steps of a redemption started.
        id INTEGER PRIMARY KEY,
        redemption INTEGER NOT NULL REFERENCES redemption (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        -- Null until it was recorded.
        outcome BLOB,
        UNIQUE (redemption, name)
    ) STRICT;
";

const FROM_VERSION_1: &str = "
    ALTER TABLE memory ADD COLUMN purged_issued INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE memory ADD COLUMN purged_end INTEGER NOT NULL DEFAULT 0;
";

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_785_240_000_000);

    #[test]
    fn a_file_of_a_later_version_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("later.sqlite");
        open(&path, NOON).unwrap().connection.pragma_update(None, "user_version", VERSION + 1).unwrap();
        let error = open(&path, NOON).err().unwrap();
        assert_eq!(error.to_string(), "the file has version 3 of its schema; this program knows versions up to 2");
    }

    #[test]
    fn a_file_that_did_not_note_what_it_purged_remembers_since_it_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("first.sqlite");
        let schema = |connection: &Connection| {
            let columns =
                "SELECT group_concat(name || type || \"notnull\" || dflt_value) FROM pragma_table_info('memory')";
            connection.query_row(columns, [], |row| row.get::<_, String>(0)).unwrap()
        };
        let made = schema(&open(&path, NOON).unwrap().connection);
        let later = NOON + Duration::from_hours(1);
        let first = Connection::open(&path).unwrap();
        first
            .execute_batch("ALTER TABLE memory DROP COLUMN purged_issued; ALTER TABLE memory DROP COLUMN purged_end")
            .unwrap();
        first.pragma_update(None, "user_version", 1).unwrap();
        drop(first);
        let file = open(&path, later).unwrap();
        assert_eq!((file.since, schema(&file.connection)), (later, made));
        drop(file);
        assert_eq!(open(&path, later + Duration::from_hours(1)).unwrap().since, later, "once");
    }

    #[test]
    fn a_file_of_another_program_is_refused_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.sqlite");
        let other = Connection::open(&path).unwrap();
        other.execute_batch("CREATE TABLE recipe (name TEXT)").unwrap();
        assert!(matches!(open(&path, NOON), Err(SqliteOpenError::NotOurs)));
        let tables: i64 = other.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
        let journal: String = other.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!((tables, journal.as_str()), (1, "delete"));
    }

    #[test]
    fn a_database_that_no_other_process_can_open_is_refused() {
        assert!(matches!(open(Path::new(":memory:"), NOON), Err(SqliteOpenError::NotShared)));
    }

    #[test]
    fn a_file_remembers_since_when_it_was_made_and_not_since_it_was_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ours.sqlite");
        drop(open(&path, NOON).unwrap());
        assert_eq!(open(&path, NOON + Duration::from_hours(1)).unwrap().since, NOON);
    }

    #[test]
    fn of_many_who_open_a_new_file_at_once_one_makes_it_and_all_have_it() {
        for _ in 0..8 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("new.sqlite");
            let together = std::sync::Barrier::new(8);
            let since = |number| {
                together.wait();
                open(&path, NOON + Duration::from_secs(number)).unwrap().since
            };
            let since: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..8).map(|number| scope.spawn(move || since(number))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(since.iter().all(|moment| *moment == since[0]), "{since:?}");
        }
    }

    #[test]
    fn what_was_written_is_on_the_disk_and_the_log_is_shared() {
        let folder = tempfile::tempdir().unwrap();
        let File { connection, .. } = open(&folder.path().join("ours.sqlite"), NOON).unwrap();
        let journal: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        let synchronous: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
        assert_eq!((journal.as_str(), synchronous), ("wal", 2));
    }
}
