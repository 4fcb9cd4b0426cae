//! Tasks: the verbs of the trait, as events on records.

mod changes;
mod create;
mod due;
mod head;
mod statements;
mod write;

use std::time::Duration;

use async_trait::async_trait;
use mrtr_state::Timestamp;
use mrtr_tasks::record::{Change, Event};
use mrtr_tasks::store::{
    Acquired, Answer, Changes, Created, Cursor, KeptQuestion, KeptTask, LeaseKeeper, Limits, Listed, NewTask, Place,
    Recorded, Run, StoreError, Swept, TaskStore, Wanted,
};
use mrtr_tasks::{End, Owner, TaskId, TaskRecord};
use tokio_postgres::Row;

use super::PostgresStore;
use super::keeper::Keeper;
use crate::failure::{Failure, VerbFailure};
use crate::values::{Id, limit, moment};
use head::{COLUMNS, Head};
use write::Write;

pub(crate) use changes::Tail;
pub(crate) use head::value;
pub(crate) use statements::TaskStatements;

#[async_trait]
impl TaskStore for PostgresStore {
    async fn now(&self) -> Result<Timestamp, StoreError> {
        if let Some(clock) = &self.inner.clock {
            return Ok(clock.now());
        }
        let now = async {
            let rows = self.inner.database.read(&self.inner.tasks.now, &[]).await?;
            rows.first().map(|row| value(row, 0)).transpose()
        };
        Ok(moment(now.await.map_err(VerbFailure::from)?.unwrap_or(0)))
    }

    async fn create(&self, task: NewTask, limits: Limits) -> Result<Created, StoreError> {
        Ok(self.inner.create(&task, limits).await?)
    }

    async fn acquire(&self, wanted: &Wanted) -> Result<Acquired, StoreError> {
        Ok(self.inner.acquire(wanted).await?)
    }

    async fn renew(&self, run: Run, lease: Duration, message: Option<Vec<u8>>) -> Result<(), StoreError> {
        let renewed = self.inner.change(run.id, None, |record, now| {
            record.apply(Event::Renew { fence: run.fence, lease }, now)?;
            // A heartbeat is no change that any caller waits for; what the flow says of its progress is one.
            let Some(message) = message.as_deref() else { return Ok((Write::Silently, ())) };
            record.apply(Event::Record { fence: run.fence, change: Change::default() }, now)?;
            let write = Write::Recorded { entries: Vec::new(), closed: &[], opened: &[], message: Some(message) };
            Ok((write, ()))
        });
        Ok(renewed.await?)
    }

    fn lease_keeper(&self) -> Box<dyn LeaseKeeper> {
        Box::new(Keeper::new(&self.inner))
    }

    async fn accompany(&self, run: Run) -> Result<(), StoreError> {
        let accompanied = self.inner.change(run.id, None, |record, now| {
            record.apply(Event::Accompany { fence: run.fence }, now)?;
            Ok((Write::Silently, ()))
        });
        Ok(accompanied.await?)
    }

    async fn record(&self, run: Run, recorded: Recorded) -> Result<(), StoreError> {
        self.keep_recorded(run, &recorded, |change| Event::Record { fence: run.fence, change }).await
    }

    async fn compact(&self, run: Run, first: usize, entries: Vec<u8>) -> Result<(), StoreError> {
        let folded = self.inner.change(run.id, None, |record, now| {
            // The record is not kept: nothing of it can be seen from outside, and no time is won by it.
            record.apply(Event::Renew { fence: run.fence, lease: Duration::ZERO }, now)?;
            Ok((Write::Folded { first, entries: &entries }, ()))
        });
        Ok(folded.await?)
    }

    async fn park(&self, run: Run, recorded: Recorded, look_again: Option<Duration>) -> Result<(), StoreError> {
        self.keep_recorded(run, &recorded, |change| Event::Park { fence: run.fence, change, look_again }).await
    }

    async fn hand_over(&self, run: Run, pause: Duration) -> Result<(), StoreError> {
        self.apply(run.id, None, Event::HandOver { fence: run.fence, pause }).await
    }

    async fn finish(&self, run: Run, end: End, result: Vec<u8>) -> Result<(), StoreError> {
        let finished = self.inner.change(run.id, None, |record, now| {
            record.apply(Event::Finish { fence: run.fence, end }, now)?;
            Ok((Write::End { result: Some(&result) }, ()))
        });
        Ok(finished.await?)
    }

    async fn answer(&self, id: TaskId, owner: &Owner, answers: Vec<Answer>) -> Result<Vec<String>, StoreError> {
        let all: Vec<_> = answers.iter().map(|answer| answer.key.clone()).collect();
        let answered = self.inner.change(id, Some(owner), |record, now| {
            let mut accepted: Vec<&Answer> = Vec::new();
            for answer in &answers {
                let is_open = record.open.contains(&answer.key);
                if is_open && !accepted.iter().any(|earlier| earlier.key == answer.key) {
                    accepted.push(answer);
                }
            }
            let keys: Vec<_> = accepted.iter().map(|answer| answer.key.clone()).collect();
            record.apply(Event::Answer { keys: &keys }, now)?;
            if keys.is_empty() {
                return Ok((Write::Nothing, keys));
            }
            // Closing what is not open changes nothing, so all that were answered can be named.
            let entries = accepted.iter().map(|answer| &*answer.entry).collect();
            Ok((Write::Journal { entries, closed: &all }, keys))
        });
        Ok(answered.await?)
    }

    async fn ask_anew(&self, id: TaskId, owner: &Owner, key: &str, again: KeptQuestion) -> Result<bool, StoreError> {
        let (retired, opened) = ([key.to_owned()], [again]);
        let [again] = &opened;
        let asked = self.inner.change(id, Some(owner), |record, now| {
            let is_open = record.open.iter().any(|open| open == key);
            record.apply(Event::AskAnew { retired: key, opened: &again.key }, now)?;
            if !is_open {
                return Ok((Write::Nothing, false));
            }
            let write = Write::Recorded { entries: Vec::new(), closed: &retired, opened: &opened, message: None };
            Ok((write, true))
        });
        let is_open = asked.await?;
        if !is_open && self.inner.is_used(id, &again.key).await.map_err(VerbFailure::from)? {
            return Err(StoreError::KeyUsed(again.key.clone()));
        }
        Ok(is_open)
    }

    async fn wake(&self, id: TaskId) -> Result<(), StoreError> {
        self.apply(id, None, Event::Wake).await
    }

    async fn cancel(&self, id: TaskId, owner: Option<&Owner>) -> Result<(), StoreError> {
        self.apply(id, owner, Event::Cancel).await
    }

    async fn retry(&self, id: TaskId) -> Result<(), StoreError> {
        self.apply(id, None, Event::Retry).await
    }

    async fn get(&self, id: TaskId, owner: Option<&Owner>) -> Result<KeptTask, StoreError> {
        let read = async {
            let rows = self.inner.database.read(&self.inner.tasks.task, &[&Id(*id.as_bytes())]).await?;
            rows.first().map(kept_task).transpose()
        };
        let task = read.await.map_err(VerbFailure::from)?;
        let task = task.filter(|task| owner.is_none_or(|owner| *owner == task.record.owner));
        let task = task.ok_or(StoreError::NotFound)?;
        Ok(KeptTask { now: self.inner.now_or(task.now), ..task })
    }

    async fn records(&self, ids: &[TaskId]) -> Result<Vec<TaskRecord>, StoreError> {
        let ids: Vec<_> = ids.iter().map(|id| Id(*id.as_bytes())).collect();
        let read = async {
            let rows = self.inner.database.read(&self.inner.tasks.records, &[&ids]).await?;
            rows.iter().map(|row| Ok(Head::read(row)?.record)).collect::<Result<Vec<_>, Failure>>()
        };
        Ok(read.await.map_err(VerbFailure::from)?)
    }

    async fn list(&self, owner: Option<&Owner>, after: Option<Place>, most: usize) -> Result<Vec<Listed>, StoreError> {
        let (after, most) = (after.map_or(0, |Place(place)| i64::try_from(place).unwrap_or(i64::MAX)), limit(most));
        let (database, sql) = (&self.inner.database, &self.inner.tasks);
        let list = async {
            let rows = match owner.map(Id::of_owner) {
                Some(owner) => database.read(&sql.list_of_owner, &[&after, &most, &owner]).await?,
                None => database.read(&sql.list, &[&after, &most]).await?,
            };
            rows.iter().map(Head::read).collect::<Result<Vec<_>, _>>()
        };
        let heads = list.await.map_err(VerbFailure::from)?;
        let listed = |Head { place, record, .. }| Listed { place: Place(place.cast_unsigned()), record };
        Ok(heads.into_iter().map(listed).filter(|task| owner.is_none_or(|owner| *owner == task.record.owner)).collect())
    }

    async fn sweep(&self, most: usize) -> Result<Swept, StoreError> {
        Ok(self.inner.sweep(most).await?)
    }

    async fn cursor(&self) -> Result<Cursor, StoreError> {
        let last = self.inner.tail.look(&self.inner.database, &self.inner.tasks).await;
        Ok(Cursor(last.map_err(VerbFailure::from)?))
    }

    async fn changed(&self, since: Cursor) -> Result<Changes, StoreError> {
        self.inner.tail.changed(since, &self.inner.look).await
    }
}

impl PostgresStore {
    /// Carries out a verb that changes nothing but the record.
    async fn apply(&self, id: TaskId, owner: Option<&Owner>, event: Event<'_>) -> Result<(), StoreError> {
        let applied = self.inner.change(id, owner, |record, now| {
            record.apply(event, now)?;
            Ok((Write::Record, ()))
        });
        Ok(applied.await?)
    }

    async fn keep_recorded<'a>(
        &self,
        run: Run,
        recorded: &'a Recorded,
        event: impl Fn(Change<'_>) -> Event<'_>,
    ) -> Result<(), StoreError> {
        let Recorded { entries, opened, retired, progressed, lasts, message } = recorded;
        let keys: Vec<_> = opened.iter().map(|question| question.key.clone()).collect();
        let kept = self.inner.change(run.id, None, |record, now| {
            let change = Change { opened: &keys, retired, progressed: *progressed, lasts: *lasts };
            record.apply(event(change), now)?;
            let entries: Vec<&'a [u8]> = entries.iter().map(Vec::as_slice).collect();
            let (closed, message) = (retired.as_slice(), message.as_deref());
            if opened.is_empty() && message.is_none() {
                let is_bare = entries.is_empty() && closed.is_empty();
                return Ok((if is_bare { Write::Record } else { Write::Journal { entries, closed } }, ()));
            }
            Ok((Write::Recorded { entries, closed, opened, message }, ()))
        });
        Ok(kept.await?)
    }
}

fn kept_task(row: &Row) -> Result<KeptTask, Failure> {
    let Head { record, now, .. } = Head::read(row)?;
    let (message, result) = (value(row, COLUMNS)?, value(row, COLUMNS + 1)?);
    let keys: Option<Vec<String>> = value(row, COLUMNS + 2)?;
    let bodies: Option<Vec<Vec<u8>>> = value(row, COLUMNS + 3)?;
    let questions = keys.unwrap_or_default().into_iter().zip(bodies.unwrap_or_default());
    let mut open: Vec<_> = questions.map(|(key, body)| KeptQuestion { key, body }).collect();
    sort_as_opened(&mut open, &record.open);
    Ok(KeptTask { record, now, open, message, result })
}

/// Sorts questions in the order in which they were opened, which the record has.
fn sort_as_opened(open: &mut [KeptQuestion], open_keys: &[String]) {
    open.sort_by_key(|question| open_keys.iter().position(|key| *key == question.key));
}
