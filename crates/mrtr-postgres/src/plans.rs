//! The plans by which the database finds what statements look for, among a million tasks.

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the report")]

    use std::fmt::Write;

    use tokio_postgres::types::Type;
    use tokio_postgres::{Client, NoTls};

    use crate::statement::Statement;
    use crate::store::{TaskStatements, TokenStatements};
    use crate::testing::Cluster;
    use crate::{PostgresStore, Schema};

    #[tokio::test]
    async fn every_statement_finds_its_rows_by_an_index_and_claiming_does_not_notice_tasks_that_wait() {
        let Some(cluster) = Cluster::start(&SETTINGS) else { return };
        let address = cluster.fresh_database().unwrap();
        drop(PostgresStore::connect(&address).await.unwrap());
        let (database, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
        tokio::spawn(connection);
        let (tasks, tokens) = (TaskStatements::new(&Schema::default()), TokenStatements::new(&Schema::default()));

        let nothing_due = buffers(&database, &tasks.due).await;
        database.batch_execute(&tasks_of("due", 0, 100, "1")).await.unwrap();
        let some_due = buffers(&database, &tasks.due).await;
        // By itself each, for a vacuum is in no transaction.
        for emptied in ["DELETE FROM mrtr.state", "DELETE FROM mrtr.task", "VACUUM mrtr.state, mrtr.task"] {
            database.batch_execute(emptied).await.unwrap();
        }

        fill(&database).await;
        database.batch_execute(OTHER_ROWS).await.unwrap();
        database.batch_execute("VACUUM ANALYZE").await.unwrap();
        let still_nothing = buffers(&database, &tasks.due).await;
        assert!(
            still_nothing <= nothing_due,
            "tasks that wait are in the way: {still_nothing} pages, not {nothing_due}"
        );
        let mut scanning = String::new();
        for mode in ["force_generic_plan", "force_custom_plan"] {
            database.batch_execute(&format!("SET plan_cache_mode = {mode}")).await.unwrap();
            for (name, statement) in tasks.all().into_iter().chain(tokens.all()) {
                let plan = explain(&database, "EXPLAIN", statement).await;
                // One row, which is all that its table has.
                if plan.replace("Seq Scan on memory", "").contains("Seq Scan on") {
                    write!(scanning, "{name}, {mode}:\n{plan}\n").unwrap();
                }
            }
        }
        assert!(scanning.is_empty(), "{scanning}");
        for (statement, index) in [
            (&tasks.due, "state_by_turn"),
            (&tasks.due, "state_by_attention"),
            (&tasks.due, "state_pkey"),
            (&tasks.next_of_owners, "state_by_turn"),
            (&tasks.next, "state_by_attention"),
            (&tasks.expired_of, "state_by_owner_expiry"),
            (&tasks.recount_open, "task_by_account"),
        ] {
            let plan = explain(&database, "EXPLAIN", statement).await;
            assert!(plan.contains(&format!("using {index}")), "{plan}");
        }
        database.batch_execute(&tasks_of("due", WAITING, 100, "1")).await.unwrap();
        let deeper = buffers(&database, &tasks.due).await;
        // Each of the ten that are taken is looked for in both tables, and each of the two that are left out in one,
        // three times; their indexes are two levels deeper, and they may lie on one page more.
        let looks = 10 * 2 + 2 * 3;
        assert!(deeper <= some_due + looks * 2 + looks, "{deeper} pages, and without those that wait {some_due}");
        database.batch_execute(&tasks_of("due", 2 * WAITING, EXPIRED, "1")).await.unwrap();
        let expire =
            format!("UPDATE mrtr.state SET expires = 2, owner_key = '{ONE_OWNER}' WHERE place > {}", 2 * WAITING);
        for done in [&*expire, "VACUUM ANALYZE mrtr.state"] {
            database.batch_execute(done).await.unwrap();
        }
        let beside_expired = buffers(&database, &tasks.due).await;
        assert!(
            beside_expired <= deeper + 128,
            "{beside_expired} pages with {EXPIRED} expired tasks, without {deeper}"
        );
    }

    /// Adds the tasks that wait. Their indexes are made afterwards, which takes a quarter of the time.
    async fn fill(database: &Client) {
        let of_tables = "WHERE indrelid IN ('mrtr.task'::regclass, 'mrtr.state'::regclass)";
        database.batch_execute(&format!("UPDATE pg_index SET indisready = false {of_tables}")).await.unwrap();
        database.batch_execute(&tasks_of("waiting", 0, WAITING, "NULL")).await.unwrap();
        database.batch_execute(&format!("UPDATE pg_index SET indisready = true {of_tables}")).await.unwrap();
        for index in ["REINDEX TABLE mrtr.task", "REINDEX TABLE mrtr.state"] {
            database.batch_execute(index).await.unwrap();
        }
    }

    /// Pages that claiming ten of one tool touches.
    async fn buffers(database: &Client, due: &Statement) -> u64 {
        // Twice, for the first sets hints on what it meets.
        let mut touched = 0;
        for _ in 0..2 {
            let plan = explain(database, "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF)", due).await;
            let line = plan.lines().find(|line| line.contains("Buffers: shared")).unwrap_or_default();
            let number = |word: &str| {
                line.split(word).nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok()).unwrap_or(0)
            };
            touched = number("hit=") + number("read=");
        }
        touched
    }

    async fn explain(database: &Client, explain: &str, statement: &Statement) -> String {
        // An array's name is that of its elements, behind a line.
        let named = |kind: &Type| kind.name().strip_prefix('_').map_or(kind.name().to_owned(), |of| format!("{of}[]"));
        let types: Vec<_> = statement.types.iter().map(named).collect();
        let values: Vec<_> = statement.types.iter().map(value).collect();
        let mut script = String::from("DEALLOCATE ALL; BEGIN; PREPARE one");
        if !types.is_empty() {
            write!(script, " ({})", types.join(", ")).unwrap();
        }
        write!(script, " AS {}; {explain} EXECUTE one", statement.sql).unwrap();
        if !values.is_empty() {
            write!(script, " ({})", values.join(", ")).unwrap();
        }
        let lines = database.simple_query(&format!("{script}; ROLLBACK")).await;
        let lines = lines.unwrap_or_else(|error| panic!("{script}: {error:?}"));
        lines.iter().fold(String::new(), |plan, line| match line {
            tokio_postgres::SimpleQueryMessage::Row(row) => plan + row.get(0).unwrap_or_default() + "\n",
            _ => plan,
        })
    }

    /// Something of each type.
    fn value(kind: &Type) -> String {
        match *kind {
            Type::INT2 | Type::INT4 | Type::INT8 => "10".to_owned(),
            Type::BOOL => "false".to_owned(),
            Type::TEXT => "'10:20:10'".to_owned(),
            Type::BYTEA => "'key'".to_owned(),
            Type::UUID => "'00000000-0000-0000-0000-000000000007'".to_owned(),
            Type::TEXT_ARRAY => "'{due}'".to_owned(),
            Type::BOOL_ARRAY => "'{f,f}'".to_owned(),
            Type::UUID_ARRAY => {
                "'{00000000-0000-0000-0000-000000000007,00000000-0000-0000-0000-000000000008}'".to_owned()
            }
            _ => "'{7,8}'".to_owned(),
        }
    }

    /// So many tasks of a tool, after a place.
    fn tasks_of(tool: &str, after: i64, number: i64, attention: &str) -> String {
        format!(
            "INSERT INTO mrtr.task (place, id, owner_key, owner, flow, tool, revision, created, poll_interval, retention)
                 OVERRIDING SYSTEM VALUE
                 SELECT place, md5(place::text)::uuid, md5((place / 10)::text)::uuid, 'ann', md5(place::text)::uuid,
                        '{tool}', 1, 1, 1000, 0
                 FROM generate_series({after} + 1, {after} + {number}) AS place;
             INSERT INTO mrtr.state (place, version, stamp, shard, tool, updated, ttl, fence, run_again, progressed,
                                     lost_runs, open, last_entry, attention, due, expires, owner_key)
                 SELECT place, 0, 0, 0, '{tool}', 1, 3600000, 1, false, false, 0, '{{name}}', 1, {attention}, {attention},
                        9000000000000 + place, md5((place / 10)::text)::uuid
                 FROM generate_series({after} + 1, {after} + {number}) AS place"
        )
    }

    const WAITING: i64 = 1_000_000;
    const EXPIRED: i64 = 20_000;
    const ONE_OWNER: &str = "77777777-7777-7777-7777-777777777777";

    const SETTINGS: [&str; 7] = [
        "fsync=off",
        "full_page_writes=off",
        "wal_level=minimal",
        "max_wal_senders=0",
        "max_wal_size=8GB",
        "autovacuum=off",
        "maintenance_work_mem=256MB",
    ];

    const OTHER_ROWS: &str = "
        INSERT INTO mrtr.entry SELECT task, number, 'bytes' FROM generate_series(1, 50000) AS task,
            generate_series(0, 1) AS number;
        INSERT INTO mrtr.question SELECT task, 'name', 'name?' FROM generate_series(1, 50000) AS task;
        INSERT INTO mrtr.shown SELECT task, 'half way' FROM generate_series(1, 50000) AS task;
        INSERT INTO mrtr.open_count
            SELECT md5(owner::text)::uuid, 0, 10 FROM generate_series(0, 99999) AS owner;
        INSERT INTO mrtr.kept_bytes
            SELECT md5(owner::text)::uuid, 0, 10 FROM generate_series(0, 99999) AS owner;
        INSERT INTO mrtr.change SELECT (number::text)::xid8, '00000000-0000-0001-0000-000000000001'
            FROM generate_series(1, 50000) AS number;
        INSERT INTO mrtr.redemption (issued, key, answers, keep_until, fence, holder, lapses)
            SELECT number, 'key', 'answers', 1000 + number, number, 0, 9 FROM generate_series(1, 50000) AS number;
        INSERT INTO mrtr.step (redemption, name, fence, stamp)
            SELECT number, 'charge', 1, 1 FROM generate_series(1, 50000) AS number";
}
