//! A connection with its prepared statements.

use std::collections::HashMap;
use std::sync::Mutex;

use anyhow::Result;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row, Statement as Prepared};

use crate::statement::Statement;

pub(crate) type Params<'a> = [&'a (dyn ToSql + Sync)];

pub(crate) struct Connection {
    client: Client,
    prepared: Mutex<HashMap<String, Prepared>>,
}

impl Connection {
    pub(crate) async fn open(address: &str) -> Result<Self> {
        let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
        tokio::spawn(connection);
        Ok(Self { client, prepared: Mutex::default() })
    }

    pub(crate) async fn query(&self, statement: &Statement, params: &Params<'_>) -> Result<Vec<Row>> {
        let prepared = self.prepared(statement).await?;
        Ok(self.client.query(&prepared, params).await?)
    }

    pub(crate) async fn execute(&self, statement: &Statement, params: &Params<'_>) -> Result<u64> {
        let prepared = self.prepared(statement).await?;
        Ok(self.client.execute(&prepared, params).await?)
    }

    pub(crate) async fn batch(&self, sql: &str) -> Result<()> {
        Ok(self.client.batch_execute(sql).await?)
    }

    /// Prepared when it is first wanted, as the store has it.
    pub(crate) async fn prepared(&self, statement: &Statement) -> Result<Prepared> {
        let known = self.prepared.lock().expect("no holder panics").get(&statement.sql).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let prepared = self.client.prepare_typed(&statement.sql, &statement.types).await?;
        self.prepared.lock().expect("no holder panics").insert(statement.sql.clone(), prepared.clone());
        Ok(prepared)
    }
}
