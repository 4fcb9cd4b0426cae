//! Opening the file: whose it is, its version, and how it is shared.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use mrtr_state::database_file::DatabaseFile;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, TransactionBehavior};

use super::SqliteOpenError;
use super::schema::{APPLICATION, MIGRATIONS};

/// A connection that writes, to a file that has the newest version from then on.
pub(super) fn open(path: &Path) -> Result<Connection, SqliteOpenError> {
    if path != Path::new(":memory:") {
        DatabaseFile::make(path).map_err(SqliteOpenError::File)?;
    }
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    // SQLite would open it all the same, and refuse the first write.
    if connection.is_readonly(MAIN_DB)? {
        return Err(SqliteOpenError::ReadOnly);
    }
    migrate(&mut connection)?;
    keep_write_ahead_log(&connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // What is erased is overwritten where that costs no writing of its own.
    connection.pragma_update(None, "secure_delete", "FAST")?;
    Ok(connection)
}

/// A connection that only reads, to a file that was opened before.
pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    // Without the flag for URIs, a path is a path.
    let mut connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_handler(Some(wait_for_others))?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

fn migrate(connection: &mut Connection) -> Result<(), SqliteOpenError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let number = |pragma| transaction.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let known = i64::try_from(MIGRATIONS.len()).expect("they are few");
    let found = match (number("application_id")?, number("user_version")?) {
        (0, 0) if is_empty(&transaction)? => 0,
        (APPLICATION, found) if found > known => return Err(SqliteOpenError::Newer { found, known }),
        (APPLICATION, found) => usize::try_from(found).map_err(|_| SqliteOpenError::NotOurs)?,
        _ => return Err(SqliteOpenError::NotOurs),
    };
    for step in &MIGRATIONS[found..] {
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", known)?;
    }
    transaction.commit()?;
    Ok(())
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

/// SQLite does not wait by itself when two connections turn the log on at once, for fear of a deadlock.
fn keep_write_ahead_log(connection: &Connection) -> Result<(), SqliteOpenError> {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => return Err(SqliteOpenError::NotShared),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(2));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits until other processes are done with the file, for ten seconds or somewhat more.
///
/// SQLite's own waiting soon sleeps a tenth of a second at a time, and a process that writes without a pause leaves a
/// gap of microseconds: those who sleep so long hardly ever meet it.
fn wait_for_others(times: i32) -> bool {
    thread::sleep(GLANCE);
    times < MOST_GLANCES
}

const GLANCE: Duration = Duration::from_micros(300);
const MOST_GLANCES: i32 = 30_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_later_version_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("later.sqlite");
        let later = i64::try_from(MIGRATIONS.len()).unwrap() + 1;
        open(&path).unwrap().pragma_update(None, "user_version", later).unwrap();
        let error = open(&path).err().unwrap().to_string();
        assert_eq!(error, format!("the file has version {later} of its schema; this program knows versions up to 4"));
    }

    #[test]
    fn a_file_of_another_program_is_refused_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.sqlite");
        let other = Connection::open(&path).unwrap();
        other.execute_batch("CREATE TABLE recipe (name TEXT)").unwrap();
        assert!(matches!(open(&path), Err(SqliteOpenError::NotOurs)));
        let tables: i64 = other.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
        let journal: String = other.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!((tables, journal.as_str()), (1, "delete"));
    }

    #[test]
    fn a_database_that_no_other_process_can_open_is_refused() {
        assert!(matches!(open(Path::new(":memory:")), Err(SqliteOpenError::NotShared)));
    }

    #[test]
    fn what_was_written_is_on_the_disk_and_the_log_is_shared() {
        let folder = tempfile::tempdir().unwrap();
        let connection = open(&folder.path().join("ours.sqlite")).unwrap();
        let journal: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        let synchronous: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
        assert_eq!((journal.as_str(), synchronous), ("wal", 2));
    }

    #[test]
    fn of_many_that_open_a_new_file_at_once_one_makes_it_and_all_have_it() {
        for _ in 0..8 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("new.sqlite");
            let together = std::sync::Barrier::new(8);
            let tables = || {
                together.wait();
                let count = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'";
                open(&path).unwrap().query_row(count, [], |row| row.get::<_, i64>(0)).unwrap()
            };
            let tables: Vec<_> = thread::scope(|scope| {
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(tables)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(tables, [7; 8]);
        }
    }
}
