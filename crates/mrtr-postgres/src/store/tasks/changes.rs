//! The tasks that have changed: what was committed between two snapshots of the database, in an order of this instance.
//!
//! Numbers that transactions take are not in the order in which they commit, so a reader that goes by them leaves out
//! what commits late. A snapshot says exactly which transactions are through: changes that the next one sees and the
//! last one did not are new, and are told once.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mrtr_tasks::TaskId;
use mrtr_tasks::store::{Changed, Changes, Cursor, StoreError};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::head::value;
use super::statements::TaskStatements;
use crate::database::Database;
use crate::failure::Failure;
use crate::values::{Id, limit};

#[derive(Debug)]
pub(crate) struct Tail {
    /// The last look at the database. Only one caller looks at a time.
    last_look: tokio::sync::Mutex<Option<Look>>,
    log: Mutex<Log>,
    /// The number of the last change that is known of.
    last: watch::Sender<u64>,
    /// Snapshots that sweeps took, the oldest first.
    swept: Mutex<VecDeque<(Instant, String)>>,
}

#[derive(Debug)]
struct Look {
    snapshot: String,
    at: Instant,
}

/// The last changes, in the order in which this instance saw them.
#[derive(Debug, Default)]
struct Log {
    changes: VecDeque<TaskId>,
    /// The number of the last change; changes are numbered from 1.
    last: u64,
    /// The number up to which the log does not know which tasks changed.
    forgotten: u64,
}

impl Tail {
    pub(crate) fn new() -> Self {
        Self {
            last_look: tokio::sync::Mutex::new(None),
            log: Mutex::default(),
            last: watch::Sender::new(0),
            swept: Mutex::default(),
        }
    }

    /// Returns true if a caller waits for changes.
    pub(crate) fn is_watched(&self) -> bool {
        self.last.receiver_count() > 0
    }

    /// Notes that a listener was lost, or found again: what was seen before says nothing of what was missed, since the
    /// database may have been replaced by another.
    pub(crate) async fn distrust(&self) {
        *self.last_look.lock().await = None;
    }

    /// Looks for changes, and gives the number of the last one.
    pub(crate) async fn look(&self, database: &Database, sql: &TaskStatements) -> Result<u64, Failure> {
        let mut last_look = self.last_look.lock().await;
        let at = Instant::now();
        let trusted = last_look.take().filter(|look| at.duration_since(look.at) < LONGEST_TRUSTED);
        let Some(trusted) = trusted else {
            let rows = database.read(&sql.snapshot, &[]).await?;
            let snapshot = rows.first().map(|row| value(row, 0)).transpose()?.unwrap_or_default();
            *last_look = Some(Look { snapshot, at });
            return Ok(self.note(None));
        };
        let rows = database.read(&sql.changes, &[&trusted.snapshot, &limit(MOST_NAMED + 1)]).await?;
        let Some(row) = rows.first() else { return Err(Failure::Unreadable("no snapshot".into())) };
        let (snapshot, changed): (String, Vec<Id>) = (value(row, 0)?, value(row, 1)?);
        *last_look = Some(Look { snapshot, at });
        let changed: Vec<_> = changed.into_iter().map(|Id(bytes)| TaskId::from_bytes(bytes)).collect();
        Ok(self.note((changed.len() <= MOST_NAMED).then_some(changed)))
    }

    pub(crate) async fn changed(&self, since: Cursor, look: &Notify) -> Result<Changes, StoreError> {
        let mut last = self.last.subscribe();
        look.notify_one();
        let waited = last.wait_for(|&last| last > since.0).await.map(|_| ());
        waited.map_err(|_| StoreError::Store("the store was dropped".into()))?;
        Ok(self.log().since(since))
    }

    /// Returns a snapshot that is so old that every instance has looked since, and keeps this one until it is as old.
    pub(crate) fn seen_by_all(&self, now: Instant, snapshot: String) -> Option<String> {
        let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut old = None;
        while swept.front().is_some_and(|(at, _)| now.duration_since(*at) > KEPT) {
            old = swept.pop_front();
        }
        if swept.back().is_none_or(|(at, _)| now.duration_since(*at) > KEPT / 8) {
            swept.push_back((now, snapshot));
        }
        old.map(|(_, snapshot)| snapshot)
    }

    /// Notes these changes, or that any task may have changed. Gives the number of the last change.
    fn note(&self, changed: Option<Vec<TaskId>>) -> u64 {
        let last = self.log().note(changed);
        self.last.send_if_modified(|known| std::mem::replace(known, last) != last);
        last
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    fn note(&mut self, changed: Option<Vec<TaskId>>) -> u64 {
        if let Some(changed) = changed {
            self.last += changed.len() as u64;
            self.changes.extend(changed);
            let surplus = self.changes.len().saturating_sub(MOST_KEPT);
            self.changes.drain(..surplus);
            self.forgotten += surplus as u64;
        } else {
            self.changes.clear();
            self.last += 1;
            self.forgotten = self.last;
        }
        self.last
    }

    fn since(&self, since: Cursor) -> Changes {
        let until = Cursor(self.last);
        let known = since.0.checked_sub(self.forgotten).and_then(|known| usize::try_from(known).ok());
        let Some(known) = known.filter(|known| self.changes.len().saturating_sub(*known) <= MOST_NAMED) else {
            return Changes { changed: Changed::Many, until };
        };
        let mut ids: Vec<_> = self.changes.iter().skip(known).copied().collect();
        ids.sort_unstable();
        ids.dedup();
        Changes { changed: Changed::These(ids), until }
    }
}

/// The most tasks that are named at once: a caller that has more to look at looks at all it has.
const MOST_NAMED: usize = 256;
const MOST_KEPT: usize = 8192;
/// The time for which the last look is trusted. It is shorter than the time for which changes are kept, so that a
/// trusted look has missed none.
const LONGEST_TRUSTED: Duration = Duration::from_secs(30);
const KEPT: Duration = Duration::from_mins(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_named_until_they_are_too_many_or_too_old() {
        let mut log = Log::default();
        assert_eq!(log.note(None), 1, "what was before is not known");
        assert_eq!(log.note(Some(vec![id(7), id(3), id(7)])), 4);
        assert_eq!(log.since(Cursor(0)).changed, Changed::Many);
        assert_eq!(log.since(Cursor(1)).changed, Changed::These(vec![id(3), id(7)]), "each once");
        assert_eq!(log.since(Cursor(3)).changed, Changed::These(vec![id(7)]));
        log.note(Some(vec![id(1); MOST_NAMED]));
        assert_eq!(log.since(Cursor(4)).changed, Changed::These(vec![id(1)]));
        assert_eq!(log.since(Cursor(3)).changed, Changed::Many);
        for _ in 0..2 * MOST_KEPT / MOST_NAMED {
            log.note(Some(vec![id(2); MOST_NAMED]));
        }
        assert_eq!(log.changes.len(), MOST_KEPT, "it does not grow for ever");
        let last = log.last;
        assert_eq!(log.since(Cursor(last - 1)).changed, Changed::These(vec![id(2)]));
        assert_eq!(log.since(Cursor(4)).changed, Changed::Many);
    }

    #[test]
    fn a_snapshot_is_given_back_when_all_have_looked_since() {
        let (tail, start) = (Tail::new(), Instant::now());
        assert_eq!(tail.seen_by_all(start, "first".to_owned()), None);
        assert_eq!(tail.seen_by_all(start + KEPT / 2, "second".to_owned()), None);
        let (later, much_later) = (start + KEPT + Duration::from_secs(1), start + 3 * KEPT);
        assert_eq!(tail.seen_by_all(later, "third".to_owned()).as_deref(), Some("first"));
        assert_eq!(tail.seen_by_all(much_later, "fourth".to_owned()).as_deref(), Some("third"));
    }

    fn id(number: u8) -> TaskId {
        TaskId::from_bytes([number; 16])
    }
}
