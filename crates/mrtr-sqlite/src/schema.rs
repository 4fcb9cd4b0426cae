//! The tables of both kinds, as numbered steps from an empty file to the newest version.
//!
//! The `application_id` of a file says which kind it began with, and its `user_version` says which version of that kind
//! it has. The table `part` says what it has besides. So a process of an earlier version, which knows no table of that
//! name, goes on with the kind it knows.

use std::collections::BTreeMap;

use mrtr_state::Timestamp;
use rusqlite::{Connection, Transaction};

use crate::SqliteOpenErrorKind;
use crate::open::unwritable;

/// The kinds that a store needs in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Needed {
    Tasks,
    /// Single use. If its tables are new, they remember from this moment on.
    SingleUse(Timestamp),
    /// Both kinds. In a file that has one of them, the other is made, since the author has asked for it.
    Both(Timestamp),
}

impl Needed {
    fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Tasks => &[Kind::Tasks],
            Self::SingleUse(_) => &[Kind::SingleUse],
            Self::Both(_) => &[Kind::Tasks, Kind::SingleUse],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Tasks => Kind::Tasks.name(),
            Self::SingleUse(_) => Kind::SingleUse.name(),
            Self::Both(_) => "tasks and single use",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Tasks,
    SingleUse,
}

impl Kind {
    /// Finds a kind by the `application_id` of a file that began with it.
    fn of(application: i64) -> Option<Self> {
        [Self::Tasks, Self::SingleUse].into_iter().find(|kind| kind.application() == application)
    }

    /// The `application_id` of a file that began with this kind: the ASCII bytes of "mrtt" or "mrt1".
    fn application(self) -> i64 {
        match self {
            Self::Tasks => 0x6d72_7474,
            Self::SingleUse => 0x6d72_7431,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::SingleUse => "single use",
        }
    }

    /// The newest version.
    fn known(self) -> i64 {
        match self {
            Self::Tasks => i64::try_from(TASKS.len()).expect("they are few"),
            Self::SingleUse => 2,
        }
    }
}

/// Brings the kinds that are needed to their newest versions.
///
/// A file that has only the other kind is refused where one kind is needed: an empty memory beside that would be a new
/// one, and the operator may have meant another file.
pub(crate) fn migrate(transaction: &Transaction<'_>, needed: Needed) -> Result<(), SqliteOpenErrorKind> {
    let not_ours = || SqliteOpenErrorKind::NotOurs { needed: needed.name() };
    let mut parts = Parts::read(transaction)?.ok_or_else(not_ours)?;
    let kinds = needed.kinds();
    if !parts.versions.is_empty() && !kinds.iter().any(|kind| parts.versions.contains_key(kind)) {
        return Err(not_ours());
    }
    for &kind in kinds {
        let (found, known) = (parts.versions.get(&kind).copied().unwrap_or(0), kind.known());
        if found > known {
            return Err(SqliteOpenErrorKind::Newer { of: kind.name(), found, known });
        }
        match needed {
            _ if found == known => continue,
            Needed::SingleUse(now) | Needed::Both(now) if kind == Kind::SingleUse => {
                migrate_single_use(transaction, found, now)?;
            }
            _ => migrate_tasks(transaction, found)?,
        }
        parts.write(transaction, kind)?;
    }
    Ok(())
}

/// Checks that the kinds that are needed have their newest versions, in a file that may not be written.
pub(crate) fn check(connection: &Connection, needed: Needed) -> Result<(), SqliteOpenErrorKind> {
    let parts = Parts::read(connection).map_err(unwritable)?;
    let versions = parts.filter(|parts| parts.began_with.is_some()).map(|parts| parts.versions);
    let versions = versions.ok_or(SqliteOpenErrorKind::NotOurs { needed: needed.name() })?;
    for &kind in needed.kinds() {
        let (found, known) = (versions.get(&kind).copied().unwrap_or(0), kind.known());
        if found > known {
            return Err(SqliteOpenErrorKind::Newer { of: kind.name(), found, known });
        }
        if found == 0 {
            return Err(SqliteOpenErrorKind::NotOurs { needed: needed.name() });
        }
        if found < known {
            return Err(SqliteOpenErrorKind::ReadOnly);
        }
    }
    Ok(())
}

/// The kinds that a file has, with their versions.
struct Parts {
    /// The kind that the file began with; `None` if it is empty.
    began_with: Option<Kind>,
    versions: BTreeMap<Kind, i64>,
}

impl Parts {
    /// Returns `None` if the file is another program's.
    fn read(connection: &Connection) -> rusqlite::Result<Option<Self>> {
        let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
        let (application, version) = (number("application_id")?, number("user_version")?);
        let Some(began_with) = Kind::of(application) else {
            let is_new = (application, version) == (0, 0) && !exists(connection, "SELECT 1 FROM sqlite_schema")?;
            return Ok(is_new.then(|| Self { began_with: None, versions: BTreeMap::new() }));
        };
        let mut versions = BTreeMap::from([(began_with, version)]);
        if exists(connection, "SELECT 1 FROM sqlite_schema WHERE name = 'part'")? {
            let mut parts = connection.prepare("SELECT application, version FROM part")?;
            let mut rows = parts.query([])?;
            while let Some(row) = rows.next()? {
                // A kind that this version does not know is none of its business.
                if let Some(kind) = Kind::of(row.get(0)?) {
                    versions.insert(kind, row.get(1)?);
                }
            }
        }
        let are_possible = versions.values().all(|version| *version > 0);
        Ok(are_possible.then_some(Self { began_with: Some(began_with), versions }))
    }

    /// Notes that a kind has its newest version.
    fn write(&mut self, connection: &Connection, kind: Kind) -> rusqlite::Result<()> {
        let (application, version) = (kind.application(), kind.known());
        self.versions.insert(kind, version);
        if *self.began_with.get_or_insert(kind) == kind {
            connection.pragma_update(None, "application_id", application)?;
            return connection.pragma_update(None, "user_version", version);
        }
        connection.execute_batch(PART)?;
        let put = "INSERT INTO part (application, version) VALUES (?1, ?2)
                   ON CONFLICT (application) DO UPDATE SET version = excluded.version";
        connection.execute(put, (application, version)).map(drop)
    }
}

fn exists(connection: &Connection, sql: &str) -> rusqlite::Result<bool> {
    connection.prepare(sql)?.exists([])
}

fn migrate_tasks(connection: &Connection, found: i64) -> rusqlite::Result<()> {
    let found = usize::try_from(found).expect("a version has no sign");
    TASKS[found..].iter().try_for_each(|step| connection.execute_batch(step))
}

fn migrate_single_use(connection: &Connection, found: i64, now: Timestamp) -> rusqlite::Result<()> {
    if found == 0 {
        connection.execute_batch(SINGLE_USE)?;
        // Whatever was used before was not noted here: tokens from before are refused.
        let begin = "INSERT INTO memory (only_row, since, last_fence) VALUES (0, ?1, 0)";
        return connection.execute(begin, [millis(now)]).map(drop);
    }
    connection.execute_batch(SINGLE_USE_FROM_VERSION_1)?;
    // It did not note what it purged, so it may have forgotten any token from before.
    connection.execute("UPDATE memory SET since = max(since, ?1)", [millis(now)]).map(drop)
}

/// Converts a moment to a number of SQLite's, which has a sign: a moment past the largest number becomes that number.
pub(crate) fn millis(moment: Timestamp) -> i64 {
    i64::try_from(moment.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn moment(millis: i64) -> Timestamp {
    Timestamp::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// The kinds that a file has besides the one it began with.
const PART: &str = "
    CREATE TABLE IF NOT EXISTS part (
        application INTEGER PRIMARY KEY,
        version INTEGER NOT NULL
    ) STRICT;
";

/// The steps that bring a file from each version of tasks to the next. A file without tasks has version 0. A released
/// step never changes, since existing files were migrated by it.
const TASKS: [&str; 4] = [FIRST, TRIALS, TURNS, ACCOUNTS];

const FIRST: &str = "
    -- What changed, the newest last. The last row is never removed, so no number is given twice.
    CREATE TABLE change (
        number INTEGER PRIMARY KEY,
        id BLOB NOT NULL
    ) STRICT;

    CREATE TABLE owner (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        -- How many of its tasks have not ended.
        open INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE task (
        -- The number of the change that created it: so it grows with time and is never given twice.
        place INTEGER PRIMARY KEY,
        id BLOB NOT NULL UNIQUE,
        owner INTEGER NOT NULL,
        flow BLOB NOT NULL,
        tool TEXT NOT NULL,
        revision INTEGER NOT NULL,
        created INTEGER NOT NULL,
        updated INTEGER NOT NULL,
        ttl INTEGER,
        poll_interval INTEGER NOT NULL,
        retention INTEGER NOT NULL,
        fence INTEGER NOT NULL,
        leased_until INTEGER,
        due INTEGER,
        run_again INTEGER NOT NULL,
        progressed INTEGER NOT NULL,
        lost_runs INTEGER NOT NULL,
        -- Keys, as a JSON array.
        open TEXT NOT NULL,
        ended_as TEXT,
        ended INTEGER,
        -- These follow from the others, and are here to be searched. A task that waits for answers has no attention;
        -- one that has ended neither that nor an expiry; any other cannot be removed.
        attention INTEGER,
        expires INTEGER,
        removable INTEGER,
        UNIQUE (owner, flow),
        CHECK ((ended_as IS NULL) = (ended IS NULL))
    ) STRICT;
    CREATE INDEX task_by_owner ON task (owner);
    CREATE INDEX task_by_attention ON task (tool, attention, place, expires) WHERE attention IS NOT NULL;
    CREATE INDEX task_by_expiry ON task (expires) WHERE expires IS NOT NULL;
    CREATE INDEX task_by_removal ON task (removable) WHERE removable IS NOT NULL;

    -- What the flow of a task knows, in its order; before all of it, under 0, what was called.
    CREATE TABLE entry (
        task INTEGER NOT NULL,
        number INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        PRIMARY KEY (task, number)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE question (
        task INTEGER NOT NULL,
        key TEXT NOT NULL,
        -- Null once it is not open any more: the key stays used.
        body BLOB,
        PRIMARY KEY (task, key)
    ) STRICT, WITHOUT ROWID;

    -- Apart from the task, whose row is written anew with each of its changes.
    CREATE TABLE shown (
        task INTEGER PRIMARY KEY,
        message BLOB,
        result BLOB
    ) STRICT;
";

/// The step to version 2, for tasks on trial. Processes of the previous version may have the file open, and keep
/// working with it: they do not write these columns.
const TRIALS: &str = "
    ALTER TABLE task ADD COLUMN counted_losses INTEGER NOT NULL DEFAULT 0;
    -- The fence of the run that was alone: one that another process has acquired since is not.
    ALTER TABLE task ADD COLUMN alone_fence INTEGER;
    ALTER TABLE task ADD COLUMN reserved_until INTEGER;
    ALTER TABLE task ADD COLUMN set_aside INTEGER;
    -- As attention, of a task on trial, which has no attention.
    ALTER TABLE task ADD COLUMN trial INTEGER;
    CREATE INDEX task_by_trial ON task (tool, trial, place, expires) WHERE trial IS NOT NULL;
    CREATE INDEX task_by_reservation ON task (reserved_until) WHERE reserved_until IS NOT NULL;
";

/// The step to version 3, for turns and for the bytes that tasks keep. Processes of the previous version may have the
/// file open, and keep working with it: they do not write the bytes of a task. Triggers compute the sums from the rows,
/// whichever process writes or removes them.
const TURNS: &str = "
    CREATE INDEX task_by_turn ON task (tool, owner, attention, place, expires) WHERE attention IS NOT NULL;
    CREATE INDEX task_by_owner_expiry ON task (owner, expires) WHERE expires IS NOT NULL;

    -- What it keeps; those of its owner, and all.
    ALTER TABLE task ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE owner ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE total (only_row INTEGER PRIMARY KEY CHECK (only_row = 0), bytes INTEGER NOT NULL) STRICT;
    UPDATE task SET bytes = 1024
        + coalesce((SELECT sum(length(entry.bytes)) FROM entry WHERE entry.task = task.place), 0)
        + coalesce((SELECT sum(length(body)) FROM question WHERE question.task = task.place), 0)
        + coalesce((SELECT length(result) FROM shown WHERE shown.task = task.place), 0);
    UPDATE owner SET bytes = coalesce((SELECT sum(task.bytes) FROM task WHERE task.owner = owner.number), 0);
    INSERT INTO total (only_row, bytes) SELECT 0, coalesce(sum(bytes), 0) FROM owner;
    CREATE TRIGGER bytes_added AFTER INSERT ON task WHEN NEW.bytes <> 0 BEGIN
        UPDATE owner SET bytes = bytes + NEW.bytes WHERE number = NEW.owner;
        UPDATE total SET bytes = bytes + NEW.bytes WHERE only_row = 0;
    END;
    CREATE TRIGGER bytes_changed AFTER UPDATE OF bytes ON task WHEN NEW.bytes <> OLD.bytes BEGIN
        UPDATE owner SET bytes = bytes + NEW.bytes - OLD.bytes WHERE number = NEW.owner;
        UPDATE total SET bytes = bytes + NEW.bytes - OLD.bytes WHERE only_row = 0;
    END;
    CREATE TRIGGER bytes_removed AFTER DELETE ON task WHEN OLD.bytes <> 0 BEGIN
        UPDATE owner SET bytes = bytes - OLD.bytes WHERE number = OLD.owner;
        UPDATE total SET bytes = bytes - OLD.bytes WHERE only_row = 0;
    END;
";

/// The step to version 4, for accounts. Processes of the previous version may have the file open, and keep working with
/// it: a task that they add counts in its owner's account. Every process counts open tasks by their owner; triggers
/// look at the row, and move the count of a task that belongs to another account to that account. An account is also a
/// row of `owner`: that of the owner itself, or one with a name of its own.
const ACCOUNTS: &str = "
    ALTER TABLE task ADD COLUMN account INTEGER;
    UPDATE task SET account = owner;
    DROP INDEX task_by_turn;
    DROP INDEX task_by_owner_expiry;
    CREATE INDEX task_by_turn ON task (tool, account, attention, place, expires) WHERE attention IS NOT NULL;
    CREATE INDEX task_by_account ON task (account, expires);
    CREATE TRIGGER account_defaulted AFTER INSERT ON task WHEN NEW.account IS NULL BEGIN
        UPDATE task SET account = NEW.owner WHERE place = NEW.place;
    END;
    CREATE TRIGGER open_moved AFTER INSERT ON task WHEN NEW.account <> NEW.owner BEGIN
        UPDATE owner SET open = open - 1 WHERE number = NEW.owner;
        UPDATE owner SET open = open + 1 WHERE number = NEW.account;
    END;
    CREATE TRIGGER ended_moved AFTER UPDATE OF ended_as ON task
        WHEN NEW.account <> NEW.owner AND OLD.ended_as IS NULL AND NEW.ended_as IS NOT NULL BEGIN
        UPDATE owner SET open = open + 1 WHERE number = NEW.owner;
        UPDATE owner SET open = open - 1 WHERE number = NEW.account;
    END;
    DROP TRIGGER bytes_added;
    CREATE TRIGGER bytes_added AFTER INSERT ON task WHEN NEW.bytes <> 0 BEGIN
        UPDATE owner SET bytes = bytes + NEW.bytes WHERE number = coalesce(NEW.account, NEW.owner);
        UPDATE total SET bytes = bytes + NEW.bytes WHERE only_row = 0;
    END;
    DROP TRIGGER bytes_changed;
    CREATE TRIGGER bytes_changed AFTER UPDATE OF bytes ON task WHEN NEW.bytes <> OLD.bytes BEGIN
        UPDATE owner SET bytes = bytes + NEW.bytes - OLD.bytes WHERE number = NEW.account;
        UPDATE total SET bytes = bytes + NEW.bytes - OLD.bytes WHERE only_row = 0;
    END;
    DROP TRIGGER bytes_removed;
    CREATE TRIGGER bytes_removed AFTER DELETE ON task WHEN OLD.bytes <> 0 BEGIN
        UPDATE owner SET bytes = bytes - OLD.bytes WHERE number = OLD.account;
        UPDATE total SET bytes = bytes - OLD.bytes WHERE only_row = 0;
    END;
";

/// Rows are found by (issued, key) or by fence, never by the key alone: keys are random, and an index on them would be
/// written all over, while these grow at their ends.
const SINGLE_USE: &str = "
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

const SINGLE_USE_FROM_VERSION_1: &str = "
    ALTER TABLE memory ADD COLUMN purged_issued INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE memory ADD COLUMN purged_end INTEGER NOT NULL DEFAULT 0;
";
