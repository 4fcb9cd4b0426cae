//! Tasks in PostgreSQL: the store beside raw tokio-postgres and beside a plain queue, and the room that a task takes.

mod lives;
mod queue;
mod raw;

use anyhow::Result;
use mrtr_postgres::testing::Cluster;
use tokio_postgres::NoTls;

use crate::Scale;
use crate::measure::Spread;
use crate::report::{Figure, Group};
use crate::tasks::{CALL, ENTRY, Keeper, Phase, QUESTION};
use lives::store;

/// Settings as in a database in use: a commit is on the disk.
const DURABLE: [&str; 3] = ["fsync=on", "synchronous_commit=on", "max_connections=100"];

pub(crate) fn measure(scale: Scale) -> Result<Group> {
    let figures = match Cluster::start(&DURABLE) {
        Some(cluster) => {
            let mut figures = lives::figures(&cluster, scale)?;
            figures.extend(room_figures(&cluster, scale)?);
            figures
        }
        None => Vec::new(),
    };
    Ok(Group {
        title: "Tasks in PostgreSQL",
        about: "The throughput of the store of tasks in PostgreSQL, as a share of raw tokio-postgres: loops that \
            execute the prepared statements of each operation on the same tables, on as many connections as there are \
            at once, but do not read what they found, decide nothing and answer neither a caller nor another instance. \
            The server is on the same machine, and each commit is on the disk (fsync, synchronous_commit). The plain \
            queue has the same durability: one table, a row per job, claimed with FOR UPDATE SKIP LOCKED; there, the \
            ratio is the store's rate as a share of the queue's. A ratio is of time by the clock, in turns, since most \
            of the work is the database's. The last rows are of the room that a task takes while it waits for an \
            answer, with its indexes, as a multiple of the bytes that it holds.",
        figures,
    })
}

fn room_figures(cluster: &Cluster, scale: Scale) -> Result<Vec<Figure>> {
    let tasks = match scale {
        Scale::Quick => 2_000,
        Scale::Full => 20_000,
    };
    let address = cluster.fresh_database()?;
    let mut store = store(&address, tasks, 16)?;
    for phase in [Phase::Create, Phase::Claim, Phase::Ask] {
        store.go(phase)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bytes: i64 = runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&address, NoTls).await?;
        tokio::spawn(connection);
        // Autovacuum would do this a little later: it removes rows that were rewritten.
        client.batch_execute("VACUUM").await?;
        anyhow::Ok(client.query_one(SIZE, &[]).await?.get(0))
    })?;
    #[expect(clippy::cast_precision_loss, reason = "it is no petabyte")]
    let (each, held) = (bytes as f64 / tasks as f64, (CALL.len() + ENTRY.len() + QUESTION.len()) as f64);
    Ok(vec![Figure {
        what: format!("room in the database, {tasks} waiting, as a multiple of what they hold"),
        who: "mrtr-postgres".to_owned(),
        ratio: Spread::of(vec![each / held]).into(),
        target: None,
        absolute: format!("{each:.0} bytes a task, indexes included; {held:.0} held"),
    }])
}

/// The size of the tables with their indexes, without rows that stay for a moment only.
const SIZE: &str = "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class AS c \
                    JOIN pg_namespace AS n ON n.oid = c.relnamespace \
                    WHERE n.nspname = 'mrtr' AND c.relkind = 'r' AND c.relname <> 'change'";
