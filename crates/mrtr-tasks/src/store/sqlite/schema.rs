//! The tables, as numbered steps from an empty file to the newest version.

/// "mrtt", in SQLite's place for telling files apart.
pub(super) const APPLICATION: i64 = 0x6d72_7474;

/// What brings a file from each version to the next, an empty one being version 0. A step that was released stays as
/// it is: files have been through it.
pub(super) const MIGRATIONS: [&str; 4] = [FIRST, TRIALS, TURNS, ACCOUNTS];

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

/// Processes of the version before may have the file open meanwhile, and go on: they do not write these columns.
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

/// Processes of the version before may have the file open meanwhile, and go on: they do not write the bytes of a task. The
/// sums follow from what stands in the rows, whichever process writes or removes them.
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

/// Processes of the version before may have the file open meanwhile, and go on: a task that they add counts in its owner's
/// account. Every process counts open tasks by their owner, and what belongs to another account is moved there by what
/// stands in the rows. An account is a row of `owner`, too: that of the owner itself, or one with a name of its own.
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
