//! Verbs on one task: read it, apply the event, and write if it still stands as it was read.
//!
//! No lock is held while we think, and every write is one statement, which is one transaction: an instance that stops
//! in between is in no other's way. Of writes that started from one version of a row, one succeeds; the others read
//! again.

use mrtr_state::Timestamp;
use mrtr_tasks::store::{KeptQuestion, StoreError, TASK_BYTES, UNCOUNTED_BYTES};
use mrtr_tasks::{Owner, TaskId, TaskRecord};
use tokio_postgres::types::ToSql;

use super::super::Inner;
use super::head::{Columns, Head, Target};
use crate::database::{Attempts, Connection};
use crate::failure::{Failure, VerbFailure};
use crate::values::{Id, limit};

/// The rows that a verb writes besides the record.
pub(crate) enum Write<'a> {
    /// Nothing, not even the record.
    Nothing,
    /// Nothing but the record, without noting a change that would wake callers.
    Silently,
    /// Nothing but the record.
    Record,
    /// Entries in their order, and keys of questions that are not open any more.
    Journal { entries: Vec<&'a [u8]>, closed: &'a [String] },
    /// The entries, questions and message that a run has recorded.
    Recorded { entries: Vec<&'a [u8]>, closed: &'a [String], opened: &'a [KeptQuestion], message: Option<&'a [u8]> },
    /// The result of the task.
    End { result: Option<&'a [u8]> },
    /// These entries in the place of the first `first` ones. The record stays.
    Folded { first: usize, entries: &'a [u8] },
}

impl Write<'_> {
    /// The number of bytes by which the write changes what a task keeps.
    fn added_bytes(&self, head: &Head) -> i64 {
        let length = |bytes: &[u8]| limit(bytes.len());
        let entries = |entries: &[&[u8]]| entries.iter().map(|entry| length(entry)).sum::<i64>();
        match self {
            Write::End { result } if head.record.ended.is_some() => {
                TASK_BYTES.cast_signed() + result.map_or(0, length) - head.bytes
            }
            _ if head.record.ended.is_some() => TASK_BYTES.cast_signed() - head.bytes,
            Write::Journal { entries: added, .. } => entries(added),
            Write::Recorded { entries: added, opened, .. } => {
                entries(added) + opened.iter().map(|question| length(&question.body)).sum::<i64>()
            }
            // Where entries are folded, the statement computes it, and other writes add none.
            _ => 0,
        }
    }
}

impl Inner {
    /// Applies an event to a task. `plan` applies it to the record at hand, as often as it takes, and says what else to
    /// write and what to tell the caller.
    pub(crate) async fn change<'a, T>(
        &self,
        id: TaskId,
        owner: Option<&Owner>,
        mut plan: impl FnMut(&mut TaskRecord, Timestamp) -> Result<(Write<'a>, T), StoreError>,
    ) -> Result<T, VerbFailure> {
        let (mut attempts, stamp) = (Attempts::new(), self.stamp());
        // The version from which a write of ours started whose connection was lost.
        let mut unsure: Option<(i64, T, Failure)> = None;
        loop {
            let outcome = async {
                let connection = self.database.connection().await?;
                let head = self.head(&connection, id).await?;
                Ok::<_, Failure>((connection, head))
            };
            let (connection, head) = match outcome.await {
                Ok(found) => found,
                Err(failure) => {
                    attempts.after(failure).await?;
                    continue;
                }
            };
            let head = head.filter(|head| owner.is_none_or(|owner| *owner == head.record.owner));
            let Some(mut head) = head else {
                return Err(unsure.map_or(StoreError::NotFound.into(), |(_, _, failure)| failure.into()));
            };
            if let Some((version, told, failure)) = unsure.take() {
                match head.version - version {
                    // It was not written so far, and of it and the next attempt one will be.
                    0 => unsure = Some((version, told, failure)),
                    1 if head.stamp == stamp => {
                        self.signal();
                        return Ok(told);
                    }
                    // Another write came first, so that ours never will.
                    1 => {}
                    _ => return Err(failure.into()),
                }
            }
            let now = self.now_or(head.now);
            let (write, told) = plan(&mut head.record, now)?;
            if matches!(write, Write::Nothing) {
                return Ok(told);
            }
            match self.write(&connection, &head, &write, stamp).await {
                Ok(true) => {
                    if !matches!(write, Write::Silently | Write::Folded { .. }) {
                        self.signal();
                    }
                    return Ok(told);
                }
                Ok(false) => {}
                Err(failure) if failure.broken_constraint() == Some("question_pkey") => {
                    let used = self.used_key(&connection, &head, &write).await?;
                    return Err(used.map_or(failure.into(), |key| StoreError::KeyUsed(key).into()));
                }
                Err(failure) => {
                    drop(connection);
                    if let Failure::Unsure(error) = failure {
                        let pause = attempts.after(Failure::Unsure("the connection was lost".into())).await;
                        unsure = Some((head.version, told, Failure::Unsure(error)));
                        pause?;
                    } else {
                        attempts.after(failure).await?;
                    }
                }
            }
        }
    }

    async fn head(&self, connection: &Connection<'_>, id: TaskId) -> Result<Option<Head>, Failure> {
        let rows = connection.query(&self.tasks.head, &[&Id(*id.as_bytes())]).await?;
        rows.first().map(Head::read).transpose()
    }

    /// Writes a task, and returns false if another writer has changed it since it was read.
    async fn write(
        &self,
        connection: &Connection<'_>,
        head: &Head,
        write: &Write<'_>,
        stamp: i64,
    ) -> Result<bool, Failure> {
        let (sql, columns, id) = (&self.tasks, Columns::of(&head.record), Id(*head.record.id.as_bytes()));
        let added = match write {
            Write::Journal { entries, .. } | Write::Recorded { entries, .. } => limit(entries.len()),
            _ => 0,
        };
        let Head { place, version, last_entry, shard, .. } = *head;
        let added_bytes = write.added_bytes(head);
        let uncounted = head.bytes + added_bytes - head.counted;
        // Tasks share these counters, so many writers meet there: bytes are counted only once enough have gathered.
        let is_counted = head.record.ended.is_some() || uncounted.unsigned_abs() >= UNCOUNTED_BYTES;
        let counted_bytes = if is_counted { uncounted } else { 0 };
        let target = Target { place, version, stamp, last_entry: last_entry + added, added_bytes, counted_bytes };
        let account = Id::of_account(&head.record.account);
        let mut params = columns.params(&target);
        let written = match write {
            Write::Nothing => return Ok(true),
            Write::Silently => connection.execute(&sql.keep, &params).await?,
            _ if head.record.ended.is_some() => {
                let result = if let Write::End { result } = write { *result } else { None };
                params.extend([&id as &(dyn ToSql + Sync), &account, &shard, &result]);
                connection.execute(&sql.end, &params).await?
            }
            Write::Record | Write::End { .. } => {
                params.push(&id);
                connection.execute(&sql.tell, &params).await?
            }
            Write::Journal { entries, closed } => {
                params.extend([&id as &(dyn ToSql + Sync), &account, &shard, entries, &last_entry, closed]);
                connection.execute(&sql.journal, &params).await?
            }
            Write::Recorded { entries, closed, opened, message } => {
                let keys: Vec<_> = opened.iter().map(|question| &*question.key).collect();
                let bodies: Vec<_> = opened.iter().map(|question| &*question.body).collect();
                params.extend([&id as &(dyn ToSql + Sync), &account, &shard, entries, &last_entry, closed]);
                params.extend([&keys as &(dyn ToSql + Sync), &bodies, message]);
                connection.execute(&sql.record, &params).await?
            }
            Write::Folded { first, entries } => {
                let params: [&(dyn ToSql + Sync); 5] = [&place, &version, &stamp, &limit(*first), entries];
                connection.execute(&sql.compact, &params).await?
            }
        };
        Ok(written > 0)
    }

    /// The first of the keys to be opened that the task has used before.
    async fn used_key(
        &self,
        connection: &Connection<'_>,
        head: &Head,
        write: &Write<'_>,
    ) -> Result<Option<String>, Failure> {
        let Write::Recorded { opened, .. } = write else { return Ok(None) };
        let keys: Vec<_> = opened.iter().map(|question| &*question.key).collect();
        let rows = connection.query(&self.tasks.used, &[&head.place, &keys]).await?;
        let used = rows.iter().map(|row| super::head::value::<String>(row, 0)).collect::<Result<Vec<_>, _>>()?;
        let is_used = |&(at, key): &(usize, &&str)| keys[..at].contains(key) || used.iter().any(|used| used == *key);
        Ok(keys.iter().enumerate().find(is_used).map(|(_, key)| (*key).to_owned()))
    }
}
