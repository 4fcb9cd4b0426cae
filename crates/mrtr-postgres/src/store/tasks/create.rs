//! Creating a task: one statement, which also says why it added none.

use mrtr_tasks::store::{Created, Limits, NewTask, StoreError, TASK_BYTES};
use mrtr_tasks::{TaskId, TaskRecord};
use tokio_postgres::Row;

use super::super::Inner;
use super::head::{Head, value};
use crate::database::Attempts;
use crate::failure::{Failure, VerbFailure};
use crate::values::{Id, length, limit, moment, signed};

impl Inner {
    pub(crate) async fn create(&self, task: &NewTask, mut limits: Limits) -> Result<Created, VerbFailure> {
        let most_open = limits.open;
        let mut attempts = Attempts::new();
        // Whether an attempt of ours may have added it, though its connection was lost.
        let mut is_unsure = false;
        loop {
            match self.try_to_create(task, limits).await {
                Ok(Attempt::Added(created)) => {
                    self.signal();
                    return Ok(created);
                }
                Ok(Attempt::Full(_)) if limits.open == 0 => return Err(StoreError::Full.into()),
                Ok(Attempt::Full(too_many)) => {
                    // Those whose time is over are not open.
                    let account = Id::of_account(&task.record.account);
                    let expired = self.expire_of(&[account], too_many).await?;
                    let overcounted = self.overcounted(task, limits.open.saturating_add(too_many - 1)).await?;
                    let most = most_open.saturating_add(self.count_expired(account).await?).saturating_add(overcounted);
                    if expired == 0 && most <= limits.open {
                        return Err(StoreError::Full.into());
                    }
                    limits.open = most;
                }
                Ok(Attempt::TooMuch(error)) => return Err(error.into()),
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

    async fn try_to_create(&self, task: &NewTask, limits: Limits) -> Result<Attempt, Failure> {
        let NewTask { record, call, entries } = task;
        let bytes = TASK_BYTES + (call.len() + entries.as_ref().map_or(0, Vec::len)) as u64;
        let [id, flow] = [Id(*record.id.as_bytes()), Id(*record.flow.as_bytes())];
        let (owner, revision) = (Id::of_owner(&record.owner), i32::from(record.revision.number()));
        let account = Id::of_account(&record.account);
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
                    &limit(limits.open),
                    &self.told_now(),
                    &self.stamp(),
                    &signed(bytes),
                    &signed(limits.bytes),
                    &signed(limits.store_bytes),
                    &account,
                    &own_name(record),
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
        if !tried.has_same && tried.open >= limit(limits.open) {
            return Ok(Attempt::Full(usize::try_from(tried.open - limit(limits.open) + 1).unwrap_or(1)));
        }
        if let (false, Err(error)) = (tried.has_same, limits.check_bytes(bytes, (tried.kept, tried.total))) {
            return Ok(Attempt::TooMuch(error));
        }
        // There was one of this flow, or one came at the same time.
        let rows = connection.query(&self.tasks.head_of_flow, &[&owner, &flow]).await?;
        if let Some(row) = rows.first() {
            return Ok(Attempt::SameFlow(Head::read(row)?));
        }
        let has_id = !connection.query(&self.tasks.head, &[&id]).await?.is_empty();
        Ok(if has_id { Attempt::SameId } else { Attempt::Gone })
    }

    /// Returns by how many the count of open tasks is above what the account has. An instance of the previous version
    /// counts the end of a task for its owner, and knows no other account.
    async fn overcounted(&self, task: &NewTask, counted: usize) -> Result<usize, Failure> {
        let Some(account) = own_name(&task.record) else { return Ok(0) };
        let rows = self.database.read(&self.tasks.recount_open, &[&account]).await?;
        let open: i64 = rows.first().map(|row| value(row, 0)).transpose()?.unwrap_or(0);
        Ok(counted.saturating_sub(usize::try_from(open).unwrap_or(0)))
    }

    /// Counts the tasks of an account whose time is over, though no instance has ended them yet.
    async fn count_expired(&self, account: Id) -> Result<usize, Failure> {
        let rows = self.database.read(&self.tasks.count_expired, &[&account, &self.told_now()]).await?;
        let expired: i64 = rows.first().map(|row| value(row, 0)).transpose()?.unwrap_or(0);
        Ok(usize::try_from(expired).unwrap_or(0))
    }

    /// Returns true if a task has used a key.
    pub(crate) async fn is_used(&self, id: TaskId, key: &str) -> Result<bool, Failure> {
        let rows = self.database.read(&self.tasks.head, &[&Id(*id.as_bytes())]).await?;
        let Some(head) = rows.first().map(Head::read).transpose()? else { return Ok(false) };
        Ok(!self.database.read(&self.tasks.used, &[&head.place, &vec![key]]).await?.is_empty())
    }
}

/// The account's name, if it is not the owner's.
fn own_name(record: &TaskRecord) -> Option<&str> {
    Some(record.account.as_str()).filter(|name| *name != record.owner.as_str())
}

enum Attempt {
    Added(Created),
    /// The account has no place for another open task until this many have ended.
    Full(usize),
    TooMuch(StoreError),
    SameFlow(Head),
    SameId,
    Gone,
}

/// The row that the statement `create` returns.
struct Tried {
    now: i64,
    is_added: bool,
    has_same: bool,
    open: i64,
    /// The bytes that the account's tasks keep.
    kept: u64,
    /// The bytes that all tasks keep.
    total: u64,
}

impl Tried {
    fn read(row: &Row) -> Result<Self, Failure> {
        let bytes = |column| Ok::<_, Failure>(u64::try_from(value::<i64>(row, column)?).unwrap_or(0));
        let (now, is_added, has_same, open) = (value(row, 0)?, value(row, 1)?, value(row, 2)?, value(row, 3)?);
        Ok(Self { now, is_added, has_same, open, kept: bytes(4)?, total: bytes(5)? })
    }
}
