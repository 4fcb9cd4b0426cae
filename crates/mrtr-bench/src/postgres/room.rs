//! How much room a task takes in the database while it waits for an answer.

use anyhow::Result;
use mrtr_postgres::testing::Cluster;
use tokio_postgres::NoTls;

use super::lives::store;
use crate::Scale;
use crate::report::Figure;
use crate::statistics::Spread;
use crate::tasks::side::{CALL, ENTRY, Keeper, Phase, QUESTION};

pub(super) fn figures(cluster: &Cluster, scale: Scale) -> Result<Vec<Figure>> {
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
        // What autovacuum comes to a little later: rows that have been written anew are gone.
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

/// Tables with their indexes, but for what is there for a moment only.
const SIZE: &str = "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class AS c \
                    JOIN pg_namespace AS n ON n.oid = c.relnamespace \
                    WHERE n.nspname = 'mrtr' AND c.relkind = 'r' AND c.relname <> 'change'";
