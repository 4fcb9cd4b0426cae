//! Tasks in PostgreSQL: the store beside raw tokio-postgres and beside a plain queue, and how much room a task takes.

mod lives;
mod queue;
mod raw;
mod room;

use anyhow::Result;
use mrtr_postgres::testing::Cluster;

use crate::Scale;
use crate::report::Group;

/// As a database in use has it: what is committed is on the disk.
const DURABLE: [&str; 3] = ["fsync=on", "synchronous_commit=on", "max_connections=100"];

pub(crate) fn measure(scale: Scale) -> Result<Group> {
    let figures = match Cluster::start(&DURABLE) {
        Some(cluster) => {
            let mut figures = lives::figures(&cluster, scale)?;
            figures.extend(room::figures(&cluster, scale)?);
            figures
        }
        None => Vec::new(),
    };
    Ok(Group {
        title: "Tasks in PostgreSQL",
        about: "What the store of tasks in PostgreSQL gets done, as a share of raw tokio-postgres: loops that execute the \
                prepared statements of each verb on the same tables, on as many connections as there are at once, and \
                neither read what they found, nor decide anything, nor tell a caller or another instance. The server is \
                on the same machine, and each commit is on the disk (fsync, synchronous_commit). Beside it, what a plain \
                queue does at the same durability: one table, a row a job, claimed with FOR UPDATE SKIP LOCKED; there, \
                the ratio is the store's rate as a share of the queue's. A ratio is of time by the clock, in turns, since \
                most of the work is the database's. Then the room that a task takes which waits for an answer, with its \
                indexes, as a multiple of the bytes that it holds.",
        figures,
    })
}
