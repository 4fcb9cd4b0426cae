//! Creating a task: one statement, which also says why it added none.

use mrtr_tasks::TaskId;
use mrtr_tasks::store::{Created, NewTask, StoreError};
use tokio_postgres::Row;

use super::super::Inner;
use super::head::{Head, value};
use crate::database::Attempts;
use crate::failure::{Failure, VerbFailure};
use crate::values::{Id, length, limit, moment};

impl Inner {
    pub(crate) async fn create(&self, task: &NewTask, most_open: usize) -> Result<Created, VerbFailure> {
        let mut attempts = Attempts::new();
        // Whether an attempt of ours may have added it, though its connection was lost.
        let mut is_unsure = false;
        loop {
            match self.try_to_create(task, most_open).await {
                Ok(Attempt::Added(created)) => {
                    self.signal();
                    return Ok(created);
                }
                Ok(Attempt::Full) => return Err(StoreError::Full.into()),
                Ok(Attempt::SameFlow(head)) => {
                    let is_new = is_unsure && head.record.id == task.record.id;
                    return Ok(Created { record: head.record, is_new });
                }
                Ok(Attempt::SameId) => {
                    return Err(StoreError::Store("another task has this id".into()).into());
                }
                // It was removed between two statements.
                Ok(Attempt::Gone) => {}
                Err(failure) => {
                    is_unsure |= matches!(failure, Failure::Unsure(_));
                    attempts.after(failure).await?;
                }
            }
        }
    }

    async fn try_to_create(&self, task: &NewTask, most_open: usize) -> Result<Attempt, Failure> {
        let NewTask { record, call, entries } = task;
        let [id, flow] = [Id(*record.id.as_bytes()), Id(*record.flow.as_bytes())];
        let (owner, revision) = (Id::of_owner(&record.owner), i32::from(record.revision.number()));
        let connection = self.database.connection().await?;
        let rows = connection
            .query(
                &self.tasks.create,
                &[
                    &id,
                    &owner,
                    &record.owner.as_str(),
                    &flow,
                    &record.tool,
                    &revision,
                    &length(record.poll_interval),
                    &length(record.retention),
                    &record.ttl.map(length),
                    call,
                    entries,
                    &limit(most_open),
                    &self.told_now(),
                    &self.stamp(),
                ],
            )
            .await?;
        let tried = rows.first().map(Tried::read).transpose()?.ok_or_else(|| Failure::Unreadable("no row".into()))?;
        if tried.is_added {
            let now = moment(tried.now);
            let mut record = record.clone();
            (record.created, record.updated, record.due) = (now, now, Some(now));
            return Ok(Attempt::Added(Created { record, is_new: true }));
        }
        if !tried.has_same && tried.open >= limit(most_open) {
            return Ok(Attempt::Full);
        }
        // There was one of this flow, or one came at the same time.
        let rows = connection.query(&self.tasks.head_of_flow, &[&owner, &flow]).await?;
        if let Some(row) = rows.first() {
            return Ok(Attempt::SameFlow(Head::read(row)?));
        }
        let has_id = !connection.query(&self.tasks.head, &[&id]).await?.is_empty();
        Ok(if has_id { Attempt::SameId } else { Attempt::Gone })
    }

    /// Whether a task has used a key.
    pub(crate) async fn is_used(&self, id: TaskId, key: &str) -> Result<bool, Failure> {
        let rows = self.database.read(&self.tasks.head, &[&Id(*id.as_bytes())]).await?;
        let Some(head) = rows.first().map(Head::read).transpose()? else { return Ok(false) };
        Ok(!self.database.read(&self.tasks.used, &[&head.place, &vec![key]]).await?.is_empty())
    }
}

enum Attempt {
    Added(Created),
    Full,
    SameFlow(Head),
    SameId,
    Gone,
}

/// What the statement says.
struct Tried {
    now: i64,
    is_added: bool,
    has_same: bool,
    open: i64,
}

impl Tried {
    fn read(row: &Row) -> Result<Self, Failure> {
        Ok(Self { now: value(row, 0)?, is_added: value(row, 1)?, has_same: value(row, 2)?, open: value(row, 3)? })
    }
}
