//! Every statement on tokens. Each finds its rows by an index; a test reads their plans.

use crate::statement::{clock, statements};

/// The time: the verb's argument in a test, or else the database's clock.
macro_rules! time {
    ($told:literal) => {
        concat!("time AS MATERIALIZED (SELECT coalesce(", $told, ", ", clock!(), ") AS now)")
    };
}

/// The time at which a lease ends that begins now; the end of time, if that is sooner.
macro_rules! lapses {
    ($lease:literal) => {
        concat!("least(time.now, 9223372036854775807 - ", $lease, ") + ", $lease)
    };
}

/// The reservation is held. It may be held longer than its lease: a round that is late and that no other has replaced
/// may still say what it did, and losing that would leave an effect in doubt for nothing.
macro_rules! held {
    () => {
        "redemption.fence = $1 AND redemption.key = $2 AND redemption.lapses IS NOT NULL \
         AND redemption.keep_until > (SELECT now FROM time)"
    };
}

statements! { TokenStatements:
    begin_to_remember(INT8) = "INSERT INTO @memory (since) VALUES (coalesce($1, ", clock!(), ")) ON CONFLICT DO NOTHING";

    /// Reserves a token that is unknown and not too old, and says what there was before.
    reserve(INT8, BYTEA, BYTEA, INT8, INT8, INT8, INT8, INT8) = "WITH ", time!("$7"), ", \
        standing AS (SELECT * FROM @redemption WHERE issued = $1 AND key = $2), \
        first AS (INSERT INTO @redemption (issued, key, answers, keep_until, fence, holder, lapses) \
            SELECT $1, $2, $3, greatest($4, ", lapses!("$6"), "), nextval('@reservation_fence'), $8, ",
            lapses!("$6"), " FROM time, @memory AS memory \
            WHERE NOT EXISTS (SELECT FROM standing) AND $1 >= memory.since AND time.now < $5 \
                AND NOT ($1 <= memory.purged_issued AND $4 <= memory.purged_end) \
            ON CONFLICT DO NOTHING RETURNING fence) \
        SELECT time.now, memory.since, memory.purged_issued, memory.purged_end, first.fence, standing.id, \
            standing.answers, standing.fence, standing.holder, standing.lapses, standing.reply, standing.steps, \
            standing.keep_until \
        FROM time CROSS JOIN @memory AS memory LEFT JOIN standing ON true LEFT JOIN first ON true \
        WHERE memory.only_row";
    /// Takes a reservation over, if it stands as it was read.
    take_over(INT8, BYTEA, INT8, INT8, INT8, INT8, INT8, INT8) = "WITH ", time!("$7"), " \
        UPDATE @redemption AS redemption SET answers = $2, fence = nextval('@reservation_fence'), holder = $8, \
            stamp = 0, lapses = ", lapses!("$6"), ", keep_until = greatest(keep_until, ", lapses!("$6"), ") FROM time \
        WHERE redemption.id = $1 AND redemption.fence = $3 AND redemption.steps = $4 AND redemption.reply IS NULL \
            AND redemption.lapses IS NOT DISTINCT FROM $5 \
        RETURNING redemption.fence";
    steps(INT8) = "SELECT name, outcome FROM @step WHERE redemption = $1 ORDER BY number";
    renew(INT8, BYTEA, INT8, INT8) = "WITH ", time!("$4"), " UPDATE @redemption AS redemption \
        SET lapses = ", lapses!("$3"), ", keep_until = greatest(keep_until, ", lapses!("$3"), ") FROM time \
        WHERE ", held!(), " RETURNING redemption.id";
    /// Renews reservations that are held, and says of each whether it was renewed and whether it is held. It leaves out
    /// what another session has locked, which would keep the others waiting.
    renew_all(INT8_ARRAY, BYTEA_ARRAY, INT8, INT8) = "WITH ", time!("$4"), ", \
        mine AS MATERIALIZED (SELECT * FROM unnest($1, $2) WITH ORDINALITY AS mine (fence, key, number)), \
        locked AS MATERIALIZED (SELECT fence FROM @redemption WHERE fence = ANY ($1) ORDER BY fence \
            FOR UPDATE SKIP LOCKED), \
        renewed AS (UPDATE @redemption AS redemption \
            SET lapses = ", lapses!("$3"), ", keep_until = greatest(redemption.keep_until, ", lapses!("$3"), ") \
            FROM mine, time WHERE redemption.fence = ANY (ARRAY(SELECT fence FROM locked)) \
                AND redemption.fence = mine.fence AND redemption.key = mine.key AND redemption.lapses IS NOT NULL \
                AND redemption.keep_until > time.now RETURNING mine.number) \
        SELECT renewed.number IS NOT NULL, held.fence IS NOT NULL \
        FROM mine LEFT JOIN renewed ON renewed.number = mine.number \
        LEFT JOIN LATERAL (SELECT fence FROM @redemption AS redemption WHERE redemption.fence = mine.fence \
            AND redemption.key = mine.key AND redemption.lapses IS NOT NULL \
            AND redemption.keep_until > (SELECT now FROM time) OFFSET 0) AS held ON true \
        ORDER BY mine.number";
    /// Says whether the reservation is held, and whether the step may start.
    mark(INT8, BYTEA, TEXT, INT8, INT8) = "WITH ", time!("$5"), ", \
        held AS (UPDATE @redemption AS redemption SET steps = steps + 1, stamp = greatest(stamp, $4) \
            WHERE ", held!(), " RETURNING id), \
        marked AS (INSERT INTO @step AS step (redemption, name, fence, stamp) SELECT id, $3, $1, $4 FROM held \
            ON CONFLICT (redemption, name) DO UPDATE SET fence = excluded.fence, stamp = excluded.stamp \
            WHERE step.outcome IS NULL RETURNING redemption) \
        SELECT EXISTS (SELECT FROM held), EXISTS (SELECT FROM marked)";
    record(INT8, BYTEA, TEXT, BYTEA, INT8, INT8) = "WITH ", time!("$6"), ", \
        held AS (UPDATE @redemption AS redemption SET steps = steps + 1, stamp = greatest(stamp, $5) \
            WHERE ", held!(), " RETURNING id), \
        recorded AS (INSERT INTO @step AS step (redemption, name, fence, stamp, outcome) \
            SELECT id, $3, $1, $5, $4 FROM held ON CONFLICT (redemption, name) DO UPDATE \
            SET fence = excluded.fence, stamp = excluded.stamp, outcome = excluded.outcome \
            WHERE (step.fence, step.stamp) <= (excluded.fence, excluded.stamp)) \
        SELECT id FROM held";
    commit(INT8, BYTEA, BYTEA, INT8, INT8) = "WITH ", time!("$5"), ", \
        held AS (UPDATE @redemption AS redemption SET lapses = NULL, reply = $3 \
            WHERE ", held!(), " AND redemption.stamp < $4 RETURNING id), \
        dropped AS (DELETE FROM @step WHERE redemption = (SELECT id FROM held)) \
        SELECT id FROM held";
    /// Says whether a record stands, and whether nothing does.
    release(INT8, BYTEA, INT8, INT8) = "WITH ", time!("$4"), ", \
        kept AS (UPDATE @redemption AS redemption SET lapses = NULL \
            WHERE ", held!(), " AND redemption.stamp < $3 AND redemption.steps > 0 RETURNING id), \
        forgotten AS (DELETE FROM @redemption AS redemption \
            WHERE ", held!(), " AND redemption.stamp < $3 AND redemption.steps = 0 RETURNING id) \
        SELECT EXISTS (SELECT FROM kept), EXISTS (SELECT FROM forgotten)";
    /// Says whether a reservation is held, and its reply.
    standing(INT8, BYTEA) = "SELECT lapses IS NOT NULL, reply FROM @redemption WHERE fence = $1 AND key = $2";
    held(INT8_ARRAY) = "SELECT fence FROM @redemption WHERE fence = ANY ($1) AND lapses IS NOT NULL";

    /// Removes old entries, and notes that in the same statement. One session purges at a time, and no reservation
    /// waits for it.
    purge(INT8, INT8) = "WITH ", time!("$1"), ", turn AS MATERIALIZED (\
            SELECT pg_try_advisory_xact_lock(hashtext('mrtr purge'), hashtext('@')) AS is_mine), \
        old AS MATERIALIZED (SELECT id FROM @redemption WHERE (SELECT is_mine FROM turn) \
            AND keep_until <= (SELECT now FROM time) ORDER BY keep_until LIMIT $2 FOR UPDATE SKIP LOCKED), \
        steps AS (DELETE FROM @step WHERE redemption = ANY (ARRAY(SELECT id FROM old))), \
        gone AS (DELETE FROM @redemption WHERE id = ANY (ARRAY(SELECT id FROM old)) \
            RETURNING fence, lapses, issued, keep_until), \
        noted AS (UPDATE @memory SET purged_issued = greatest(purged_issued, (SELECT max(issued) FROM gone)), \
            purged_end = greatest(purged_end, (SELECT max(keep_until) FROM gone)) \
            WHERE only_row AND EXISTS (SELECT FROM gone)) \
        SELECT fence FROM gone WHERE lapses IS NOT NULL";
}
