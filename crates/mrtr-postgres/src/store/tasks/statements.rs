//! Every statement on tasks. Each finds its rows by an index, however many there are; a test reads their plans.

use crate::statement::{clock, statements};

/// The columns of a record, in the order in which `Head::read` reads them; behind them the time.
macro_rules! record {
    () => {
        concat!(
            "task.place, task.id, task.owner, task.flow, task.tool, task.revision, task.created, task.poll_interval, \
             task.retention, state.version, state.stamp, state.shard, state.updated, state.ttl, state.fence, \
             state.leased_until, state.due, state.run_again, state.progressed, state.lost_runs, state.open, \
             state.ended_as, state.ended, state.last_entry, state.counted_losses, state.alone_fence, \
             state.reserved_until, state.set_aside, state.bytes, state.counted, coalesce(task.account, task.owner), ",
            clock!()
        )
    };
}

/// Writes a record if it still stands as it was read. All else that a verb writes depends on that, in the same
/// statement.
macro_rules! keep {
    () => {
        "UPDATE @state SET version = version + 1, stamp = $3, updated = $4, ttl = $5, fence = $6, leased_until = $7, \
         due = $8, run_again = $9, progressed = $10, lost_runs = $11, open = $12, ended_as = $13, ended = $14, \
         last_entry = $15, attention = $16, expires = $17, removable = $18, counted_losses = $19, alone_fence = $20, \
         reserved_until = $21, set_aside = $22, trial = $23, bytes = bytes + $24, counted = counted + $25, \
         owner_key = CASE WHEN owner_key <> '00000000-0000-0000-0000-000000000000' THEN owner_key \
             ELSE (SELECT task.owner_key FROM @task AS task WHERE task.place = $1) END \
         WHERE place = $1 AND version = $2"
    };
}

/// The time: that of a test, or the database's.
macro_rules! time {
    ($told:literal) => {
        concat!("time AS MATERIALIZED (SELECT coalesce(", $told, ", ", clock!(), ") AS now)")
    };
}

/// Counts bytes for the owner and for all, where there are any to count.
macro_rules! count_bytes {
    () => {
        "counted_bytes AS (INSERT INTO @kept_bytes AS sum (owner_key, shard, bytes) \
         SELECT part.owner_key, part.shard, $25 FROM (SELECT $27::uuid, $28::smallint \
             UNION ALL SELECT '00000000-0000-0000-0000-000000000000', (pg_backend_pid() % 128)::smallint) \
             AS part (owner_key, shard) WHERE $25 <> 0 AND EXISTS (SELECT FROM kept) \
         ON CONFLICT (owner_key, shard) DO UPDATE SET bytes = sum.bytes + excluded.bytes)"
    };
}

macro_rules! add_entries {
    () => {
        concat!(
            count_bytes!(),
            ", added AS (INSERT INTO @entry (task, number, bytes) \
             SELECT $1, $30 + entry.number, entry.bytes FROM unnest($29) WITH ORDINALITY AS entry (bytes, number) \
             WHERE EXISTS (SELECT FROM kept)), \
             closed AS (UPDATE @question SET body = NULL \
             WHERE task = $1 AND key = ANY ($31) AND EXISTS (SELECT FROM kept))"
        )
    };
}

/// The time at which a runner has to look at tasks on trial again. A task that is due already waits for something else
/// than time.
macro_rules! trial_later {
    ($running:literal) => {
        concat!(
            "(SELECT min(later.trial) FROM unnest($1) AS wanted (tool) CROSS JOIN LATERAL (SELECT trial FROM @state \
             AS state WHERE state.tool = wanted.tool AND state.trial > (SELECT now FROM time) AND ",
            live!("state"),
            " AND state.place <> ALL (ARRAY(SELECT place FROM @task WHERE id = ANY (",
            $running,
            "))) ORDER BY state.trial LIMIT 1) AS later)"
        )
    };
}

/// A condition that holds until the time of a task is over.
macro_rules! live {
    ($of:literal) => {
        concat!("(", $of, ".expires IS NULL OR ", $of, ".expires > (SELECT now FROM time))")
    };
}

/// The first owner behind a place of those with tasks that a runner has to look at, of the tools that are `wanted`.
macro_rules! next_owner {
    ($behind:literal) => {
        concat!(
            "(SELECT next.owner_key FROM wanted CROSS JOIN LATERAL (SELECT state.owner_key FROM @state AS state \
             WHERE state.tool = wanted.tool AND state.attention IS NOT NULL ",
            $behind,
            " ORDER BY state.owner_key LIMIT 1) AS next ORDER BY next.owner_key LIMIT 1)"
        )
    };
}

/// Selects up to 64 owners by a skip scan: those after `$5`, and then, from the first owner on, those up to it.
macro_rules! seen {
    () => {
        concat!(
            "ahead (owner_key, number) AS (SELECT ",
            next_owner!("AND state.owner_key > $5"),
            ", 1 UNION ALL SELECT ",
            next_owner!("AND state.owner_key > ahead.owner_key"),
            ", number + 1 FROM ahead WHERE owner_key IS NOT NULL AND number < 64), \
             behind (owner_key, number) AS (SELECT ",
            next_owner!(""),
            ", 1 WHERE NOT EXISTS (SELECT FROM ahead WHERE number = 64 AND owner_key IS NOT NULL) UNION ALL SELECT ",
            next_owner!("AND state.owner_key > behind.owner_key"),
            ", number + 1 FROM behind WHERE owner_key <= $5 AND number < 64), \
             seen AS MATERIALIZED (SELECT owner_key, number FROM (SELECT owner_key, number FROM ahead \
                 UNION ALL SELECT owner_key, 64 + number FROM behind WHERE owner_key <= $5) AS both_ways \
                 WHERE owner_key IS NOT NULL ORDER BY number LIMIT 64)"
        )
    };
}

/// An owner's tasks that waited longest and are not over. The query looks at a bounded number, for many may have
/// expired.
macro_rules! early {
    ($owner:literal, $due:literal) => {
        concat!(
            "(SELECT early.place, early.attention FROM wanted CROSS JOIN LATERAL (SELECT state.place, \
             state.attention, state.expires FROM @state AS state WHERE state.tool = wanted.tool \
             AND state.owner_key = ",
            $owner,
            " AND ",
            $due,
            " ORDER BY state.attention, state.place LIMIT 16 + 2 * least($3, 100) + cardinality($4)) AS early WHERE ",
            live!("early"),
            " AND early.place <> ALL (ARRAY(SELECT place FROM @task WHERE id = ANY ($4))))"
        )
    };
}

statements! { TaskStatements:
    now() = "SELECT ", clock!();

    head(UUID) = "SELECT ", record!(), " FROM @task AS task JOIN @state AS state ON state.place = task.place \
        WHERE task.id = $1";
    head_of_flow(UUID, UUID) = "SELECT ", record!(), " FROM @task AS task \
        JOIN @state AS state ON state.place = task.place WHERE task.owner_key = $1 AND task.flow = $2";

    /// Adds a task. It returns the time, whether the task was added, whether its flow already had one, how many open
    /// tasks the account had, how many bytes the account's tasks kept, and how many all tasks kept.
    create(UUID, UUID, TEXT, UUID, TEXT, INT4, INT8, INT8, INT8, BYTEA, BYTEA, INT8, INT8, INT8, INT8, INT8, INT8, UUID,
        TEXT) =
        "WITH ", time!("$13"),
        ", same AS (SELECT place FROM @task WHERE owner_key = $2 AND flow = $4), \
        taken AS (SELECT coalesce(sum(open), 0)::bigint AS open FROM @open_count WHERE owner_key = $18), \
        kept AS (SELECT coalesce(sum(bytes), 0)::bigint AS bytes FROM @kept_bytes WHERE owner_key = $18), \
        total AS (SELECT coalesce(sum(bytes), 0)::bigint AS bytes FROM @kept_bytes \
            WHERE owner_key = '00000000-0000-0000-0000-000000000000'), \
        added AS (INSERT INTO @task (id, owner_key, owner, flow, tool, revision, created, poll_interval, retention, \
                account) \
            SELECT $1, $2, $3, $4, $5, $6, time.now, $7, $8, $19 FROM time, taken, kept, total \
            WHERE taken.open < $12 AND kept.bytes <= $16 - $15 AND total.bytes <= $17 - $15 \
                AND NOT EXISTS (SELECT FROM same) \
            ON CONFLICT DO NOTHING RETURNING place, created, (pg_backend_pid() % 16)::smallint AS shard), \
        stated AS (INSERT INTO @state (place, version, stamp, shard, tool, updated, ttl, fence, due, run_again, \
            progressed, lost_runs, open, last_entry, attention, expires, owner_key, bytes, counted) \
            SELECT place, 0, $14, shard, $5, created, $9, 0, created, false, false, 0, '{}', \
                CASE WHEN $11 IS NULL THEN 0 ELSE 1 END, created, least(created, 9223372036854775807 - $9) + $9, \
                $18, $15, $15 \
            FROM added), \
        counted_bytes AS (INSERT INTO @kept_bytes AS sum (owner_key, shard, bytes) \
            SELECT $18, shard, $15 FROM added UNION ALL SELECT '00000000-0000-0000-0000-000000000000', \
                (pg_backend_pid() % 128)::smallint, $15 FROM added \
            ON CONFLICT (owner_key, shard) DO UPDATE SET bytes = sum.bytes + excluded.bytes), \
        called AS (INSERT INTO @entry (task, number, bytes) SELECT place, 0, $10 FROM added \
            UNION ALL SELECT place, 1, $11 FROM added WHERE $11 IS NOT NULL), \
        counted AS (INSERT INTO @open_count AS count (owner_key, shard, open) SELECT $18, shard, 1 FROM added \
            ON CONFLICT (owner_key, shard) DO UPDATE SET open = count.open + 1), \
        told AS (INSERT INTO @change (task) SELECT $1 FROM added) \
        SELECT time.now, EXISTS (SELECT FROM added), EXISTS (SELECT FROM same), taken.open, kept.bytes, total.bytes \
        FROM time, taken, kept, total";

    keep(INT8, INT8, INT8, INT8, INT8, INT8, INT8, INT8, BOOL, BOOL, INT4, TEXT_ARRAY, TEXT, INT8, INT8, INT8, INT8,
        INT8, INT4, INT8, INT8, INT8, INT8, INT8, INT8) = keep!();
    /// Writes the record, and notes that the task has changed.
    tell(INT8, INT8, INT8, INT8, INT8, INT8, INT8, INT8, BOOL, BOOL, INT4, TEXT_ARRAY, TEXT, INT8, INT8, INT8, INT8,
        INT8, INT4, INT8, INT8, INT8, INT8, INT8, INT8, UUID) = "WITH kept AS (", keep!(), " RETURNING place) INSERT INTO @change (task) SELECT $26 FROM kept";
    /// Does what `tell` does, adds entries, and closes questions.
    journal(INT8, INT8, INT8, INT8, INT8, INT8, INT8, INT8, BOOL, BOOL, INT4, TEXT_ARRAY, TEXT, INT8, INT8, INT8, INT8,
        INT8, INT4, INT8, INT8, INT8, INT8, INT8, INT8, UUID, UUID, INT2, BYTEA_ARRAY, INT8, TEXT_ARRAY) = "WITH kept AS (", keep!(), " RETURNING place), ", add_entries!(),
        " INSERT INTO @change (task) SELECT $26 FROM kept";
    /// Does what `journal` does, opens questions, and says something of the progress.
    record(INT8, INT8, INT8, INT8, INT8, INT8, INT8, INT8, BOOL, BOOL, INT4, TEXT_ARRAY, TEXT, INT8, INT8, INT8, INT8,
        INT8, INT4, INT8, INT8, INT8, INT8, INT8, INT8, UUID, UUID, INT2, BYTEA_ARRAY, INT8, TEXT_ARRAY, TEXT_ARRAY, BYTEA_ARRAY,
        BYTEA) =
        "WITH kept AS (", keep!(), " RETURNING place), ", add_entries!(),
        ", opened AS (INSERT INTO @question (task, key, body) \
            SELECT $1, opened.key, opened.body FROM unnest($32, $33) AS opened (key, body) \
            WHERE EXISTS (SELECT FROM kept)), \
        said AS (INSERT INTO @shown (task, message) SELECT $1, $34 WHERE $34 IS NOT NULL AND EXISTS (SELECT FROM kept) \
            ON CONFLICT (task) DO UPDATE SET message = excluded.message) \
        INSERT INTO @change (task) SELECT $26 FROM kept";
    /// Ends the task: erases what it holds, and keeps its result.
    end(INT8, INT8, INT8, INT8, INT8, INT8, INT8, INT8, BOOL, BOOL, INT4, TEXT_ARRAY, TEXT, INT8, INT8, INT8, INT8,
        INT8, INT4, INT8, INT8, INT8, INT8, INT8, INT8, UUID, UUID, INT2, BYTEA) = "WITH kept AS (", keep!(), " RETURNING place), \
        entries AS (DELETE FROM @entry WHERE task = $1 AND EXISTS (SELECT FROM kept)), \
        questions AS (DELETE FROM @question WHERE task = $1 AND EXISTS (SELECT FROM kept)), \
        counted AS (UPDATE @open_count SET open = open - 1 \
            WHERE owner_key = $27 AND shard = $28 AND EXISTS (SELECT FROM kept)), ", count_bytes!(), ", \
        came AS (INSERT INTO @shown (task, result) SELECT $1, $29 WHERE $29 IS NOT NULL AND EXISTS (SELECT FROM kept) \
            ON CONFLICT (task) DO UPDATE SET result = excluded.result) \
        INSERT INTO @change (task) SELECT $26 FROM kept";
    /// Folds entries. Of the record only the version, the stamp and the number of bytes change. If two statements fold,
    /// or if one is sent twice, only one takes effect, since the version has changed for the other.
    compact(INT8, INT8, INT8, INT8, BYTEA) = "WITH first AS MATERIALIZED (\
            SELECT number, octet_length(bytes) AS length FROM @entry WHERE task = $1 AND number > 0 \
            ORDER BY number LIMIT $4), \
        last AS (SELECT max(number) AS number FROM first), \
        kept AS (UPDATE @state SET version = version + 1, stamp = $3, bytes = bytes \
                + coalesce((SELECT octet_length($5) - sum(length) FROM first)::bigint, 0) \
            WHERE place = $1 AND version = $2 RETURNING place), \
        erased AS (DELETE FROM @entry WHERE task = $1 AND number > 0 AND number < (SELECT number FROM last) \
            AND EXISTS (SELECT FROM kept)), \
        put AS (UPDATE @entry SET bytes = $5 WHERE task = $1 AND number = (SELECT number FROM last) \
            AND EXISTS (SELECT FROM kept)) \
        SELECT place FROM kept";
    /// Renews the leases of runs that have their tasks, and returns for each run whether it was renewed, whether its
    /// task is there, whether the task has ended, and whether the run has it. It leaves out what another session has
    /// locked, since waiting for that would hold up the other leases.
    renew_all(UUID_ARRAY, INT8_ARRAY, INT8, INT8, INT8) = "WITH ", time!("$4"), ", \
        run AS MATERIALIZED (SELECT run.number, run.fence, task.place FROM unnest($1, $2) WITH ORDINALITY AS run (id, fence, number) \
            LEFT JOIN LATERAL (SELECT place FROM @task WHERE task.id = run.id OFFSET 0) AS task ON true), \
        locked AS MATERIALIZED (SELECT place FROM @state WHERE place = ANY (ARRAY(SELECT place FROM run)) \
            ORDER BY place FOR UPDATE SKIP LOCKED), \
        renewed AS (UPDATE @state AS state SET version = version + 1, stamp = $5, \
            leased_until = greatest(state.leased_until, least(time.now, 9223372036854775807 - $3) + $3), \
            attention = CASE WHEN state.trial IS NULL \
                THEN greatest(state.leased_until, least(time.now, 9223372036854775807 - $3) + $3) END, \
            trial = CASE WHEN state.trial IS NOT NULL \
                THEN greatest(state.leased_until, least(time.now, 9223372036854775807 - $3) + $3) END \
            FROM run, time WHERE state.place = ANY (ARRAY(SELECT place FROM locked)) AND state.place = run.place \
                AND state.fence = run.fence AND state.leased_until IS NOT NULL AND state.ended IS NULL \
                AND (state.expires IS NULL OR state.expires > time.now) RETURNING run.number) \
        SELECT renewed.number IS NOT NULL, state.place IS NOT NULL, \
            coalesce(state.ended IS NOT NULL OR state.expires <= time.now, false), \
            coalesce(state.fence = run.fence AND state.leased_until IS NOT NULL, false) \
        FROM time CROSS JOIN run LEFT JOIN renewed ON renewed.number = run.number \
        LEFT JOIN LATERAL (SELECT * FROM @state AS state WHERE state.place = run.place OFFSET 0) AS state ON true \
        ORDER BY run.number";
    used(INT8, TEXT_ARRAY) = "SELECT key FROM @question WHERE task = $1 AND key = ANY ($2)";

    /// Finds due tasks in turns over owners, each of which gets its part of what is wanted, and says whose turn each
    /// task is. It locks the tasks that it gives, and leaves out those that another instance has locked. Behind them it
    /// gives the last owner that it looked at, and the owners whose live tasks are behind too many that have expired:
    /// one row at least. It looks for the rows to lock by their places. Without `coalesce`, PostgreSQL would search the
    /// index of due tasks, which it takes for empty where most tasks wait.
    due(TEXT_ARRAY, INT8, INT8, UUID_ARRAY, UUID, UUID_ARRAY) = "WITH RECURSIVE ", time!("$2"), ", \
        wanted AS MATERIALIZED (SELECT named.tool FROM unnest($1) AS named (tool) \
            WHERE (SELECT state.attention FROM @state AS state WHERE state.tool = named.tool \
                AND state.attention IS NOT NULL ORDER BY state.attention, state.place LIMIT 1) \
                <= (SELECT now FROM time)), ", seen!(), ", \
        judged AS MATERIALIZED (SELECT seen.owner_key, seen.number, EXISTS ",
            early!("seen.owner_key", "state.attention <= (SELECT now FROM time)"), " AS is_ready \
            FROM seen WHERE seen.owner_key <> ALL ($6)), \
        ready AS MATERIALIZED (SELECT owner_key, row_number() OVER (ORDER BY number) AS number, \
            count(*) OVER () AS total FROM judged WHERE is_ready), \
        ends AS (SELECT (SELECT owner_key FROM seen ORDER BY number DESC LIMIT 1) AS last, \
            (SELECT count(*) FROM seen) AS owners, \
            ARRAY(SELECT judged.owner_key FROM judged WHERE NOT is_ready AND EXISTS (SELECT FROM wanted \
                CROSS JOIN LATERAL (SELECT FROM @state AS state WHERE state.tool = wanted.tool \
                    AND state.owner_key = judged.owner_key AND state.attention <= (SELECT now FROM time) \
                    OFFSET 15 + 2 * least($3, 100) + cardinality($4) LIMIT 1) AS behind_many)) AS behind_expired) \
        SELECT ", record!(), ", state.turn, state.turn_key, ends.last, ends.behind_expired, \
        ends.owners FROM ends \
        LEFT JOIN LATERAL (SELECT state.*, ready.number AS turn, ready.owner_key AS turn_key FROM ready \
            CROSS JOIN LATERAL (SELECT state.* FROM (SELECT * FROM ",
                early!("ready.owner_key", "state.attention <= (SELECT now FROM time)"), " AS found \
                ORDER BY found.attention, found.place LIMIT 16 + 2 * least($3, 100)) AS candidate JOIN @state AS state ON state.place = candidate.place \
                WHERE coalesce(state.attention, 9223372036854775807) <= (SELECT now FROM time) AND ", live!("state"), " \
                ORDER BY candidate.attention, candidate.place \
                LIMIT $3 / ready.total + CASE WHEN ready.number <= $3 % ready.total THEN 1 ELSE 0 END \
                FOR UPDATE OF state SKIP LOCKED) AS state) AS state ON true \
        LEFT JOIN LATERAL (SELECT * FROM @task AS task WHERE task.place = state.place OFFSET 0) AS task ON true \
        ORDER BY state.turn, state.attention, state.place";
    count_expired(UUID, INT8) = "WITH ", time!("$2"), " SELECT count(*) FROM @state \
        WHERE owner_key = $1 AND expires <= (SELECT now FROM time)";
    /// Counts the open tasks of an account with a name of its own.
    recount_open(TEXT) = "SELECT count(*) FROM (SELECT place FROM @task WHERE account = $1) AS task \
        CROSS JOIN LATERAL (SELECT ended FROM @state AS state WHERE state.place = task.place OFFSET 0) AS state \
        WHERE state.ended IS NULL";
    /// Reads tasks of these owners whose time is over, a few of each, and locks them.
    expired_of(UUID_ARRAY, INT8, INT8) = "WITH ", time!("$2"), " SELECT ", record!(), " FROM unnest($1) AS owner (key) \
        CROSS JOIN LATERAL (SELECT * FROM @state AS state WHERE state.owner_key = owner.key \
            AND state.expires <= (SELECT now FROM time) ORDER BY state.expires LIMIT $3 FOR UPDATE SKIP LOCKED) AS state \
        CROSS JOIN LATERAL (SELECT * FROM @task AS task WHERE task.place = state.place OFFSET 0) AS task";
    /// Finds tasks on trial, and says whether an instance makes room for one, and since when the first of the others is
    /// due. It goes by the latest reservation, which the index has at its end: PostgreSQL takes a third of all tasks
    /// for reserved beyond now, and would look for one of them in the table.
    trials(TEXT_ARRAY, INT8, INT8, UUID_ARRAY) = "WITH ", time!("$2"), " SELECT ", record!(), ", \
        coalesce((SELECT max(other.reserved_until) FROM @state AS other) > (SELECT now FROM time), false), \
        (SELECT min(early.attention) FROM unnest($1) AS wanted (tool) CROSS JOIN LATERAL (SELECT state.place, \
            state.attention, state.expires FROM @state AS state WHERE state.tool = wanted.tool \
            AND state.attention <= (SELECT now FROM time) ORDER BY state.attention, state.place \
            LIMIT 64 + cardinality($4)) AS early \
            WHERE ", live!("early"), " AND early.place <> ALL (ARRAY(SELECT place FROM @task WHERE id = ANY ($4)))) \
        FROM unnest($1) AS wanted (tool) \
        CROSS JOIN LATERAL (SELECT * FROM @state AS state WHERE state.tool = wanted.tool \
            AND state.trial <= (SELECT now FROM time) \
            AND (state.expires IS NULL OR state.expires > (SELECT now FROM time)) \
            AND state.place <> ALL (ARRAY(SELECT place FROM @task WHERE id = ANY ($4))) \
            ORDER BY state.trial, state.place LIMIT $3 FOR UPDATE SKIP LOCKED) AS state \
        CROSS JOIN LATERAL (SELECT * FROM @task AS task WHERE task.place = state.place OFFSET 0) AS task \
        ORDER BY state.trial, state.place LIMIT $3";
    /// The time until a runner has to look again. It is short if the runner could not look at all there is.
    next(TEXT_ARRAY, INT8, UUID_ARRAY) = "WITH ", time!("$2"), " SELECT least(\
            (SELECT min(coalesce(early.first, CASE WHEN early.looked_at = 64 + cardinality($3) \
                THEN (SELECT now FROM time) + 100 END)) FROM unnest($1) AS wanted (tool) \
                CROSS JOIN LATERAL (SELECT count(*) AS looked_at, min(state.attention) FILTER (WHERE ", live!("state"),
                    " AND state.place <> ALL (ARRAY(SELECT place FROM @task WHERE id = ANY ($3)))) AS first \
                    FROM (SELECT state.place, state.attention, state.expires FROM @state AS state \
                        WHERE state.tool = wanted.tool AND state.attention IS NOT NULL \
                        ORDER BY state.attention, state.place LIMIT 64 + cardinality($3)) AS state) AS early), ",
            trial_later!("$3"), ") - (SELECT now FROM time)";
    /// The time until a runner has to look again, where some owners are left out.
    next_of_owners(TEXT_ARRAY, INT8, INT8, UUID_ARRAY, UUID, UUID_ARRAY) = "WITH RECURSIVE ", time!("$2"), ", \
        wanted AS MATERIALIZED (SELECT named.tool FROM unnest($1) AS named (tool)), ", seen!(), " SELECT least(\
            (SELECT min((SELECT min(first.attention) FROM ", early!("seen.owner_key", "state.attention IS NOT NULL"),
                " AS first)) FROM seen WHERE seen.owner_key <> ALL ($6)), \
            CASE WHEN (SELECT count(*) FROM seen) = 64 THEN (SELECT now FROM time) + 100 END, ",
            trial_later!("$4"), ") - (SELECT now FROM time)";
    /// Writes the records of tasks that are locked.
    keep_many(INT8_ARRAY, INT8_ARRAY, INT8_ARRAY, INT8_ARRAY, INT8_ARRAY, BOOL_ARRAY, BOOL_ARRAY, INT4_ARRAY,
        TEXT_ARRAY, INT8_ARRAY, INT8_ARRAY, INT8_ARRAY, INT8_ARRAY, INT8, UUID_ARRAY, INT4_ARRAY, INT8_ARRAY,
        INT8_ARRAY, INT8_ARRAY, INT8_ARRAY) = "WITH kept AS (\
        UPDATE @state AS state SET version = version + 1, stamp = $14, updated = next.updated, fence = next.fence, \
            leased_until = next.leased_until, due = next.due, run_again = next.run_again, \
            progressed = next.progressed, lost_runs = next.lost_runs, \
            open = CASE WHEN next.ended IS NULL THEN state.open ELSE '{}' END, ended_as = next.ended_as, \
            ended = next.ended, attention = next.attention, expires = next.expires, removable = next.removable, \
            counted_losses = next.counted_losses, alone_fence = next.alone_fence, \
            reserved_until = next.reserved_until, set_aside = next.set_aside, trial = next.trial, \
            bytes = CASE WHEN next.ended IS NULL THEN state.bytes ELSE 1024 END, \
            counted = CASE WHEN next.ended IS NULL THEN state.counted ELSE 1024 END, \
            owner_key = CASE WHEN state.owner_key <> '00000000-0000-0000-0000-000000000000' THEN state.owner_key \
                ELSE (SELECT task.owner_key FROM @task AS task WHERE task.place = state.place) END \
        FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $16, $17, $18, $19, $20) AS next (place, \
            updated, fence, leased_until, due, run_again, progressed, lost_runs, ended_as, ended, attention, expires, \
            removable, counted_losses, alone_fence, reserved_until, set_aside, trial) \
        WHERE state.place = next.place) \
        INSERT INTO @change (task) SELECT unnest($15)";
    erase_many(INT8_ARRAY, UUID_ARRAY, INT2_ARRAY, INT8_ARRAY) = "WITH entries AS (DELETE FROM @entry WHERE task = ANY ($1)), \
        questions AS (DELETE FROM @question WHERE task = ANY ($1)), \
        ended AS (SELECT owner_key, shard, count(*) AS number, sum(bytes)::bigint AS bytes \
            FROM unnest($2, $3, $4) AS task (owner_key, shard, bytes) \
            GROUP BY owner_key, shard ORDER BY owner_key, shard), \
        counted_bytes AS (INSERT INTO @kept_bytes AS sum (owner_key, shard, bytes) \
            SELECT owner_key, shard, bytes FROM ended UNION ALL SELECT '00000000-0000-0000-0000-000000000000', \
                (pg_backend_pid() % 128)::smallint, sum(bytes)::bigint FROM ended \
            ON CONFLICT (owner_key, shard) DO UPDATE SET bytes = sum.bytes + excluded.bytes) \
        UPDATE @open_count AS count SET open = count.open - ended.number FROM ended \
        WHERE count.owner_key = ended.owner_key AND count.shard = ended.shard";
    entries(INT8_ARRAY) = "SELECT task, bytes FROM @entry WHERE task = ANY ($1) ORDER BY task, number";
    questions(INT8_ARRAY) = "SELECT task, key, body FROM @question WHERE task = ANY ($1)";

    expired(INT8, INT8) = "WITH ", time!("$1"), " SELECT ", record!(), " FROM (SELECT * FROM @state \
            WHERE expires <= (SELECT now FROM time) ORDER BY expires, place LIMIT $2 FOR UPDATE SKIP LOCKED) AS state \
        CROSS JOIN LATERAL (SELECT * FROM @task AS task WHERE task.place = state.place OFFSET 0) AS task \
        ORDER BY state.expires, state.place";
    remove(INT8, INT8) = "WITH ", time!("$1"), ", old AS MATERIALIZED (SELECT place FROM @state \
            WHERE removable <= (SELECT now FROM time) ORDER BY removable, place LIMIT $2 FOR UPDATE SKIP LOCKED), \
        states AS (DELETE FROM @state WHERE place = ANY (ARRAY(SELECT place FROM old)) RETURNING owner_key), \
        shown AS (DELETE FROM @shown WHERE task = ANY (ARRAY(SELECT place FROM old))), \
        tasks AS (DELETE FROM @task WHERE place = ANY (ARRAY(SELECT place FROM old)) RETURNING owner_key), \
        counts AS (DELETE FROM @open_count WHERE open = 0 AND owner_key = ANY (ARRAY(SELECT owner_key FROM tasks \
            UNION SELECT owner_key FROM states))) \
        SELECT count(*) FROM old";

    task(UUID) = "SELECT ", record!(), ", shown.message, shown.result, \
        (SELECT array_agg(key ORDER BY key) FROM @question WHERE task = state.place AND body IS NOT NULL), \
        (SELECT array_agg(body ORDER BY key) FROM @question WHERE task = state.place AND body IS NOT NULL) \
        FROM @task AS task JOIN @state AS state ON state.place = task.place \
        LEFT JOIN @shown AS shown ON shown.task = task.place WHERE task.id = $1";
    records(UUID_ARRAY) = "SELECT ", record!(), " FROM unnest($1) AS wanted (id) \
        CROSS JOIN LATERAL (SELECT * FROM @task AS task WHERE task.id = wanted.id OFFSET 0) AS task \
        CROSS JOIN LATERAL (SELECT * FROM @state AS state WHERE state.place = task.place OFFSET 0) AS state";
    list(INT8, INT8) = "SELECT ", record!(), " FROM \
        (SELECT * FROM @task WHERE place > $1 ORDER BY place LIMIT $2) AS task \
        CROSS JOIN LATERAL (SELECT * FROM @state AS state WHERE state.place = task.place OFFSET 0) AS state \
        ORDER BY task.place";
    list_of_owner(INT8, INT8, UUID) = "SELECT ", record!(), " FROM \
        (SELECT * FROM @task WHERE owner_key = $3 AND place > $1 ORDER BY place LIMIT $2) AS task \
        CROSS JOIN LATERAL (SELECT * FROM @state AS state WHERE state.place = task.place OFFSET 0) AS state \
        ORDER BY task.place";

    snapshot() = "SELECT pg_current_snapshot()::text";
    /// The changes that were committed between two snapshots: one that was taken before, and that of this statement.
    changes(TEXT, INT8) = "SELECT pg_current_snapshot()::text, ARRAY(SELECT task FROM @change \
        WHERE xid >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(xid, $1::pg_snapshot) \
        ORDER BY xid LIMIT $2)";
    forget_changes(TEXT, INT8) = "DELETE FROM @change WHERE ctid = ANY (ARRAY(SELECT ctid FROM @change \
        WHERE xid < pg_snapshot_xmax($1::pg_snapshot) AND pg_visible_in_snapshot(xid, $1::pg_snapshot) \
        ORDER BY xid LIMIT $2 FOR UPDATE SKIP LOCKED))";
}
