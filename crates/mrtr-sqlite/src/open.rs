//! Opening the file: for whom it is made, how it is shared, and whether it is still there.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::SqliteOpenErrorKind;
use crate::database_file::DatabaseFile;
use crate::schema::{self, Needed};

/// A file with a connection that writes.
#[derive(Debug)]
pub(crate) struct File {
    /// The file at its path, if it is still there.
    pub(crate) place: DatabaseFile,
    pub(crate) connection: Connection,
}

/// Opens a file, or makes one, and brings the needed kinds to their newest versions.
pub(crate) fn open(path: &Path, needed: Needed) -> Result<File, SqliteOpenErrorKind> {
    if path != Path::new(":memory:") {
        DatabaseFile::make(path).map_err(SqliteOpenErrorKind::File)?;
    }
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    migrate(&mut connection, needed)?;
    keep_write_ahead_log(&connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // What is erased is overwritten where that costs no writing of its own.
    connection.pragma_update(None, "secure_delete", "FAST")?;
    Ok(File { place: DatabaseFile::at(path).map_err(SqliteOpenErrorKind::File)?, connection })
}

/// The way in which a connection that only reads opens a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Beside processes that write, with the files that SQLite keeps beside the database.
    Shared,
    /// By itself: no process has the file open, and none of those files is there or may be made.
    Alone,
}

/// Opens a connection that only reads, to a file that was opened before.
pub(crate) fn open_reader(path: &Path, reading: Reading) -> rusqlite::Result<Connection> {
    let connection = match reading {
        Reading::Shared => connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?,
        Reading::Alone => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            connect(Path::new(&immutable(path)), flags)?
        }
    };
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// Opens an existing file without a right to write it. Its tables must have their newest versions.
pub(crate) fn open_to_read(path: &Path, needed: Needed) -> Result<(File, Reading), SqliteOpenErrorKind> {
    let place = DatabaseFile::at(path).map_err(SqliteOpenErrorKind::File)?;
    let opened = |reading| {
        let connection = open_reader(path, reading).map_err(unwritable)?;
        schema::check(&connection, needed)?;
        Ok((File { place: place.clone(), connection }, reading))
    };
    match opened(Reading::Shared) {
        Err(SqliteOpenErrorKind::ReadOnly) if !has_log(path) => opened(Reading::Alone),
        opened => opened,
    }
}

/// Returns true if there is a write-ahead log beside the file: another process writes, or ended without a last word.
fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|log| log.len() > 0)
}

/// Writes the URI by which SQLite opens a file that does not change meanwhile.
fn immutable(path: &Path) -> String {
    let path = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    format!("file:{path}?immutable=1")
}

/// Opens every connection, so that all wait for others in the same way.
fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    // Without the flag for URIs, a path is a path.
    let mut connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    wait_by_glances(&mut connection)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    Ok(connection)
}

fn wait_by_glances(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(wait_for_others))
}

fn migrate(connection: &mut Connection, needed: Needed) -> Result<(), SqliteOpenErrorKind> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(unwritable)?;
    schema::migrate(&transaction, needed)?;
    transaction.commit()?;
    check_writable(connection).map_err(unwritable)
}

/// Tries a write, and takes it back: SQLite opens even a file that it cannot write, and refuses only the first write.
fn check_writable(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    transaction.pragma_update(None, "user_version", version)?;
    transaction.rollback()
}

/// The error for a file that was opened but cannot be used: either it cannot be written, or the log beside it cannot be
/// made.
pub(crate) fn unwritable(error: rusqlite::Error) -> SqliteOpenErrorKind {
    match error.sqlite_error_code() {
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) => SqliteOpenErrorKind::ReadOnly,
        _ => error.into(),
    }
}

/// Turns the write-ahead log on, and tries again for five seconds: when two connections turn it on at once, SQLite
/// fails instead of waiting, since waiting could deadlock.
fn keep_write_ahead_log(connection: &Connection) -> Result<(), SqliteOpenErrorKind> {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => return Err(SqliteOpenErrorKind::NotShared),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(2));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sleeps for a glance, and returns false after 30 000 of them, which take about ten seconds: then SQLite stops waiting
/// for other processes.
///
/// SQLite's own waiting soon sleeps a tenth of a second at a time, and a process that writes without a pause leaves
/// gaps of microseconds: a process that sleeps that long hardly ever meets one.
fn wait_for_others(times: i32) -> bool {
    thread::sleep(GLANCE);
    times < MOST_GLANCES
}

const GLANCE: Duration = Duration::from_micros(300);
const MOST_GLANCES: i32 = 30_000;

/// The number of prepared statements that a connection keeps: as many as both kinds have, so that none is prepared
/// twice.
const STATEMENTS_KEPT: usize = 96;

#[cfg(test)]
mod tests {
    use mrtr_state::Timestamp;

    use super::*;
    use crate::schema::moment;

    #[test]
    fn a_file_of_a_later_version_is_refused() {
        for (needed, of, known) in [(Needed::Tasks, "tasks", 4), (SINGLE_USE, "single use", 2)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("later.sqlite");
            let later = known + 1;
            open(&path, needed).unwrap().connection.pragma_update(None, "user_version", later).unwrap();
            let error = open(&path, needed).unwrap_err().to_string();
            let said = format!(
                "the file has version {later} of its tables for {of}; this program knows versions up to {known}"
            );
            assert_eq!(error, said);
            assert_eq!(open(&path, BOTH).unwrap_err().to_string(), said);
        }
    }

    #[test]
    fn a_kind_that_is_not_needed_may_be_of_a_later_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("both.sqlite");
        open(&path, BOTH).unwrap().connection.execute("UPDATE part SET version = version + 1", []).unwrap();
        open(&path, Needed::Tasks).unwrap();
        let refused = open(&path, SINGLE_USE);
        assert!(
            matches!(refused, Err(SqliteOpenErrorKind::Newer { of: "single use", found: 3, known: 2 })),
            "{refused:?}"
        );
    }

    #[test]
    fn a_file_of_another_program_is_refused_and_stays_as_it_is() {
        for needed in [Needed::Tasks, SINGLE_USE, BOTH] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("other.sqlite");
            let other = Connection::open(&path).unwrap();
            other.execute_batch("CREATE TABLE recipe (name TEXT)").unwrap();
            assert!(matches!(open(&path, needed), Err(SqliteOpenErrorKind::NotOurs { .. })));
            let tables: i64 = other.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
            let journal: String = other.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
            assert_eq!((tables, journal.as_str()), (1, "delete"));
        }
    }

    #[test]
    fn a_file_of_one_kind_is_refused_where_the_other_is_asked_for_and_stays_as_it_is() {
        for (has, needed) in [(Needed::Tasks, SINGLE_USE), (SINGLE_USE, Needed::Tasks)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("one.sqlite");
            let made = tables(&open(&path, has).unwrap().connection);
            assert!(matches!(open(&path, needed), Err(SqliteOpenErrorKind::NotOurs { .. })));
            assert_eq!(tables(&open(&path, has).unwrap().connection), made);
        }
    }

    #[test]
    fn a_file_of_one_kind_gains_the_other_and_processes_that_know_one_go_on() {
        for (has, number, version) in [(Needed::Tasks, 0x6d72_7474, 4), (SINGLE_USE, 0x6d72_7431, 2)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("one.sqlite");
            drop(open(&path, has).unwrap());
            let file = open(&path, BOTH).unwrap();
            // By these alone, an earlier version knows a file that it may open.
            assert_eq!(
                (pragma(&file.connection, "application_id"), pragma(&file.connection, "user_version")),
                (number, version)
            );
            for needed in [Needed::Tasks, SINGLE_USE, BOTH] {
                open(&path, needed).unwrap();
            }
        }
    }

    #[test]
    fn a_database_that_no_other_process_can_open_is_refused() {
        for needed in [Needed::Tasks, SINGLE_USE, BOTH] {
            assert!(matches!(open(Path::new(":memory:"), needed), Err(SqliteOpenErrorKind::NotShared)));
        }
    }

    #[test]
    fn what_was_written_is_on_the_disk_and_the_log_is_shared() {
        let folder = tempfile::tempdir().unwrap();
        for (name, needed) in [("tasks", Needed::Tasks), ("single-use", SINGLE_USE), ("both", BOTH)] {
            let File { connection, .. } = open(&folder.path().join(name), needed).unwrap();
            let journal: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
            assert_eq!((journal.as_str(), pragma(&connection, "synchronous")), ("wal", 2));
        }
    }

    #[test]
    fn of_many_that_open_a_new_file_at_once_one_makes_it_and_all_have_it() {
        for (needed, expected) in [(Needed::Tasks, 7), (BOTH, 11)] {
            for _ in 0..8 {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("new.sqlite");
                let together = std::sync::Barrier::new(8);
                let tables = || {
                    together.wait();
                    tables(&open(&path, needed).unwrap().connection)
                };
                let tables: Vec<_> = thread::scope(|scope| {
                    let threads: Vec<_> = (0..8).map(|_| scope.spawn(tables)).collect();
                    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
                });
                assert_eq!(tables, [expected; 8]);
            }
        }
    }

    #[test]
    fn of_many_that_open_a_new_file_at_once_all_remember_since_the_same_moment() {
        for _ in 0..8 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("new.sqlite");
            let together = std::sync::Barrier::new(8);
            let since = |number| {
                together.wait();
                since(&open(&path, Needed::SingleUse(NOON + Duration::from_secs(number))).unwrap().connection)
            };
            let since: Vec<_> = thread::scope(|scope| {
                let threads: Vec<_> = (0..8).map(|number| scope.spawn(move || since(number))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(since.iter().all(|moment| *moment == since[0]), "{since:?}");
        }
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
        let made = schema(&open(&path, SINGLE_USE).unwrap().connection);
        let later = NOON + Duration::from_hours(1);
        let first = Connection::open(&path).unwrap();
        first
            .execute_batch("ALTER TABLE memory DROP COLUMN purged_issued; ALTER TABLE memory DROP COLUMN purged_end")
            .unwrap();
        first.pragma_update(None, "user_version", 1).unwrap();
        drop(first);
        let file = open(&path, Needed::SingleUse(later)).unwrap();
        assert_eq!((since(&file.connection), schema(&file.connection)), (later, made));
        drop(file);
        let again = Needed::SingleUse(later + Duration::from_hours(1));
        assert_eq!(since(&open(&path, again).unwrap().connection), later, "once");
    }

    #[test]
    fn a_file_remembers_since_its_tables_were_made_and_not_since_it_was_opened() {
        let folder = tempfile::tempdir().unwrap();
        let later = NOON + Duration::from_hours(1);
        let (ours, tasks) = (folder.path().join("ours.sqlite"), folder.path().join("tasks.sqlite"));
        drop(open(&ours, SINGLE_USE).unwrap());
        assert_eq!(since(&open(&ours, Needed::SingleUse(later)).unwrap().connection), NOON);
        assert_eq!(since(&open(&ours, Needed::Both(later)).unwrap().connection), NOON, "tasks came beside it");
        drop(open(&tasks, Needed::Tasks).unwrap());
        assert_eq!(since(&open(&tasks, Needed::Both(later)).unwrap().connection), later, "it knew of no token");
        assert_eq!(since(&open(&tasks, Needed::Both(later + Duration::from_hours(1))).unwrap().connection), later);
    }

    /// SQLite's own waiting starves a process beside a busy one, and turning it on would take the place of the handler.
    #[test]
    fn every_connection_waits_for_others_by_the_handler_and_not_by_sqlites_own() {
        let folder = tempfile::tempdir().unwrap();
        for (name, needed) in [("tasks", Needed::Tasks), ("single-use", SINGLE_USE), ("both", BOTH)] {
            let path = folder.path().join(name);
            let mut file = open(&path, needed).unwrap();
            for connection in [&file.connection, &open_reader(&path, Reading::Shared).unwrap()] {
                assert_eq!(pragma(connection, "busy_timeout"), 0, "{name}");
            }
            let mut other = open(&path, needed).unwrap();
            let held = other.connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
            thread::scope(|scope| {
                // Without a handler, it would fail at once.
                let waits =
                    scope.spawn(|| file.connection.transaction_with_behavior(TransactionBehavior::Immediate).map(drop));
                // However the threads take turns, it ends well: before the lock is given up it can only wait or fail.
                for _ in 0..1000 {
                    thread::yield_now();
                }
                assert!(!waits.is_finished(), "{name}: it did not wait");
                held.rollback().unwrap();
                waits.join().unwrap().unwrap();
            });
        }
    }

    fn tables(connection: &Connection) -> i64 {
        connection.query_row("SELECT count(*) FROM sqlite_schema WHERE type = 'table'", [], |row| row.get(0)).unwrap()
    }

    fn pragma(connection: &Connection, name: &str) -> i64 {
        connection.pragma_query_value(None, name, |row| row.get(0)).unwrap()
    }

    fn since(connection: &Connection) -> Timestamp {
        moment(connection.query_row("SELECT since FROM memory", [], |row| row.get(0)).unwrap())
    }

    const NOON: Timestamp = Timestamp::from_millis(1_785_240_000_000);
    const SINGLE_USE: Needed = Needed::SingleUse(NOON);
    const BOTH: Needed = Needed::Both(NOON);
}
