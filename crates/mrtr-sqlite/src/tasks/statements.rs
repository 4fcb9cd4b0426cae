//! Every statement that the store has. Each finds its rows by an index; a test reads their plans.

macro_rules! statements {
    ($($(#[$about:meta])* $name:ident = $($sql:expr),+;)*) => {
        $($(#[$about])* pub(super) const $name: &str = concat!($($sql),+);)*
        #[cfg(test)]
        pub(super) const STATEMENTS: &[&str] = &[$($name),*];
    };
}

/// The columns of a record, in the order in which `Head::read` reads them.
macro_rules! record {
    () => {
        "task.place, task.owner, owner.name, task.id, flow, tool, revision, created, updated, ttl, poll_interval, \
         retention, fence, leased_until, due, run_again, progressed, lost_runs, task.open, ended_as, ended, \
         counted_losses, alone_fence, reserved_until, set_aside, attention, trial, expires, account.name"
    };
}

statements! {
    HEAD = "SELECT ", record!(), " FROM task JOIN owner ON owner.number = task.owner \
                    JOIN owner AS account ON account.number = task.account WHERE task.id = ?1";
    HEAD_AT = "SELECT ", record!(), " FROM task JOIN owner ON owner.number = task.owner \
                    JOIN owner AS account ON account.number = task.account WHERE task.place = ?1";
    HEAD_OF_FLOW = "SELECT ", record!(), " FROM task JOIN owner ON owner.number = task.owner \
                    JOIN owner AS account ON account.number = task.account
                    WHERE task.owner = ?1 AND task.flow = ?2";

    OWNER = "SELECT number, open, bytes FROM owner WHERE name = ?1";
    TOTAL = "SELECT bytes FROM total WHERE only_row = 0";
    ADD_OWNER = "INSERT INTO owner (name, open) VALUES (?1, 0)";
    COUNT_OPEN = "UPDATE owner SET open = open + ?2 WHERE number = ?1";
    DROP_OWNER = "DELETE FROM owner WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM task WHERE task.owner = ?1)
                  AND NOT EXISTS (SELECT 1 FROM task WHERE task.account = ?1)";

    ADD = "INSERT INTO task (place, owner, id, flow, tool, revision, created, poll_interval, retention,
                             updated, ttl, fence, leased_until, due, run_again, progressed, lost_runs, open,
                             ended_as, ended, counted_losses, alone_fence, reserved_until, set_aside,
                             attention, trial, expires, removable, account)
           VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
                   ?23, ?24, ?25, ?26, ?27, ?28, ?29)";
    /// Writes no index, since SQLite writes each one that has a column in the statement.
    KEEP = "UPDATE task SET updated = ?2, ttl = ?3, fence = ?4, leased_until = ?5, due = ?6, run_again = ?7,
                            progressed = ?8, lost_runs = ?9, open = ?10, ended_as = ?11, ended = ?12,
                            counted_losses = ?13, alone_fence = ?14, set_aside = ?15
            WHERE place = ?1";
    KEEP_AND_INDEX = "UPDATE task SET updated = ?2, ttl = ?3, fence = ?4, leased_until = ?5, due = ?6, run_again = ?7,
                                      progressed = ?8, lost_runs = ?9, open = ?10, ended_as = ?11, ended = ?12,
                                      counted_losses = ?13, alone_fence = ?14, set_aside = ?15, attention = ?16,
                                      trial = ?17, expires = ?18, removable = ?19, reserved_until = ?20
                      WHERE place = ?1";
    ADD_BYTES = "UPDATE task SET bytes = bytes + ?2 WHERE place = ?1";
    PUT_BYTES = "UPDATE task SET bytes = ?2 WHERE place = ?1";
    REMOVE = "DELETE FROM task WHERE place = ?1";

    PLACE = "SELECT place FROM task WHERE id = ?1";
    /// Finds the tasks that a runner has to look at. The index also says which of them have expired.
    FIRST = "SELECT attention, place, expires FROM task WHERE tool = ?1 AND attention IS NOT NULL
             ORDER BY attention, place LIMIT ?2";
    FIRST_OF_ACCOUNT = "SELECT attention, place, expires FROM task
                        WHERE tool = ?1 AND account = ?2 AND attention IS NOT NULL ORDER BY attention, place LIMIT ?3";
    NEXT_ACCOUNT = "SELECT account FROM task WHERE tool = ?1 AND account > ?2 AND attention IS NOT NULL
                    ORDER BY account LIMIT 1";
    ACCOUNT_NAME = "SELECT name FROM owner WHERE number = ?1";
    TRIALS = "SELECT trial, place, id FROM task
              WHERE tool = ?1 AND trial <= ?2 AND (expires IS NULL OR expires > ?2)
              ORDER BY trial, place LIMIT ?3";
    NEXT_TRIAL = "SELECT trial, id FROM task
                  WHERE tool = ?1 AND trial > ?2 AND (expires IS NULL OR expires > ?2)
                  ORDER BY trial LIMIT ?3";
    /// Finds tasks that may be waiting only because the clock was set back. It leaves out a task that said itself when
    /// to look again, unless, by the clock, it said so in the future.
    WAITING = "SELECT place FROM task WHERE tool = ?1 AND attention > ?2
               AND (leased_until IS NOT NULL OR lost_runs > 0 OR updated > ?2)";
    WAITING_ON_TRIAL = "SELECT place FROM task WHERE tool = ?1 AND trial > ?2";
    RESERVED = "SELECT 1 FROM task WHERE reserved_until > ?1 LIMIT 1";
    EXPIRED_OF_ACCOUNT = "SELECT place FROM task WHERE account = ?1 AND expires <= ?2 ORDER BY expires LIMIT ?3";
    COUNT_EXPIRED = "SELECT count(*) FROM task WHERE account = ?1 AND expires <= ?2";
    EXPIRED = "SELECT place FROM task WHERE expires <= ?1 ORDER BY expires, place LIMIT ?2";
    REMOVABLE = "SELECT place, owner, account FROM task WHERE removable <= ?1 ORDER BY removable, place LIMIT ?2";

    ENTRIES = "SELECT bytes FROM entry WHERE task = ?1 ORDER BY number";
    ADD_CALL = "INSERT INTO entry (task, number, bytes) VALUES (?1, 0, ?2)";
    ADD_ENTRY = "INSERT INTO entry (task, number, bytes)
                 VALUES (?1, (SELECT max(number) + 1 FROM entry WHERE task = ?1), ?2)";
    LAST_OF_FIRST = "SELECT max(number) FROM (
                         SELECT number FROM entry WHERE task = ?1 AND number > 0 ORDER BY number LIMIT ?2)";
    LENGTH_OF_FIRST = "SELECT sum(length(bytes)) FROM entry WHERE task = ?1 AND number > 0 AND number <= ?2";
    ERASE_FIRST_ENTRIES = "DELETE FROM entry WHERE task = ?1 AND number > 0 AND number <= ?2";
    PUT_ENTRY = "INSERT INTO entry (task, number, bytes) VALUES (?1, ?2, ?3)";
    ERASE_ENTRIES = "DELETE FROM entry WHERE task = ?1";

    QUESTIONS = "SELECT key, body FROM question WHERE task = ?1";
    IS_USED = "SELECT 1 FROM question WHERE task = ?1 AND key = ?2";
    ADD_QUESTION = "INSERT INTO question (task, key, body) VALUES (?1, ?2, ?3)";
    CLOSE_QUESTION = "UPDATE question SET body = NULL WHERE task = ?1 AND key = ?2";
    ERASE_QUESTIONS = "DELETE FROM question WHERE task = ?1";

    ADD_MESSAGE = "INSERT INTO shown (task, message) VALUES (?1, ?2)
                   ON CONFLICT (task) DO UPDATE SET message = excluded.message";
    ADD_RESULT = "INSERT INTO shown (task, result) VALUES (?1, ?2)
                  ON CONFLICT (task) DO UPDATE SET result = excluded.result";
    ERASE_SHOWN = "DELETE FROM shown WHERE task = ?1";

    ADD_CHANGE = "INSERT INTO change (id) VALUES (?1)";
    FORGET_CHANGES = "DELETE FROM change WHERE number <= ?1";
    LAST_CHANGE = "SELECT max(number) FROM change";
    CHANGES = "SELECT number, id FROM change WHERE number > ?1 ORDER BY number LIMIT ?2";

    /// One statement, so that record and questions are of one moment.
    TASK = "SELECT ", record!(), ", message, result, question.key, question.body
            FROM task JOIN owner ON owner.number = task.owner \
                    JOIN owner AS account ON account.number = task.account LEFT JOIN shown ON shown.task = task.place
            LEFT JOIN question ON question.task = task.place AND question.body IS NOT NULL
            WHERE task.id = ?1";
    /// Reads as many records as [`RECORDS_AT_ONCE`] says.
    RECORDS = "SELECT ", record!(), " FROM task JOIN owner ON owner.number = task.owner \
                    JOIN owner AS account ON account.number = task.account WHERE task.id IN (
               ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
               ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42,
               ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, ?53, ?54, ?55, ?56, ?57, ?58, ?59, ?60, ?61, ?62,
               ?63, ?64)";
    LIST = "SELECT ", record!(), " FROM task JOIN owner ON owner.number = task.owner \
                    JOIN owner AS account ON account.number = task.account
            WHERE task.place > ?1 ORDER BY task.place LIMIT ?2";
    LIST_OF_OWNER = "SELECT ", record!(), " FROM task JOIN owner ON owner.number = task.owner \
                    JOIN owner AS account ON account.number = task.account
                     WHERE task.owner = (SELECT number FROM owner WHERE name = ?3) AND task.place > ?1
                     ORDER BY task.place LIMIT ?2";
}

/// The number of tasks whose records one statement reads.
pub(super) const RECORDS_AT_ONCE: usize = 64;
