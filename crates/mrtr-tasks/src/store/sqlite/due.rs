//! Work across tasks: those whose runs are due, whose time is over, and which are not kept any longer.

use std::collections::BTreeSet;

use mrtr_state::Timestamp;
use rusqlite::{Params, Row};

use super::super::{Acquired, AcquiredTask, KeptQuestion, Swept, Wanted};
use super::head::{Head, millis, moment};
use super::statements as sql;
use super::tables::{Failure, Tables};
use crate::TaskId;
use crate::record::Event;

impl Tables<'_> {
    pub(super) fn acquire(&mut self, wanted: &Wanted) -> Result<Acquired, Failure> {
        let now = self.clock.now();
        let tools: BTreeSet<_> = wanted.tools.iter().map(String::as_str).collect();
        let mut tasks = Vec::new();
        // More than once only if some that were due are put off or ended by that: those are not due any more.
        while tasks.len() < wanted.most {
            let due = self.due(&tools, &wanted.running, wanted.most - tasks.len(), now)?;
            if due.is_empty() {
                break;
            }
            for place in due {
                let mut head = self.connection.prepare_cached(sql::HEAD_AT)?.query_row([place], Head::read)?;
                head.record.apply(wanted.event(&tasks), now)?;
                let is_taken = head.record.leased_until.is_some();
                self.keep(&head)?;
                if is_taken {
                    tasks.push(self.acquired(head)?);
                }
            }
        }
        Ok(Acquired { tasks, next: self.next(&tools, &wanted.running, now)?.map(|next| next.since(now)) })
    }

    pub(super) fn sweep(&mut self, most: usize) -> Result<Swept, Failure> {
        let now = self.clock.now();
        let expired = self.places(sql::EXPIRED, (millis(now), limit(most)))?;
        for &place in &expired {
            let mut head = self.connection.prepare_cached(sql::HEAD_AT)?.query_row([place], Head::read)?;
            head.record.apply(Event::Expire, now)?;
            self.keep(&head)?;
        }
        let removable = self.rows(sql::REMOVABLE, (millis(now), limit(most)), |row| Ok((row.get(0)?, row.get(1)?)))?;
        for &(place, owner) in &removable {
            self.remove(place, owner)?;
        }
        Ok(Swept { expired: expired.len(), removed: removable.len() })
    }

    /// The places of tasks that are due and that the runner does not have, those that waited longest first.
    fn due(
        &self,
        tools: &BTreeSet<&str>,
        running: &[TaskId],
        most: usize,
        now: Timestamp,
    ) -> rusqlite::Result<Vec<i64>> {
        let mut due: Vec<(i64, i64)> = Vec::new();
        for tool in tools {
            // So many more as may be left out.
            let of_tool = (tool, millis(now), limit(most.saturating_add(running.len())));
            let found = self.rows(sql::DUE, of_tool, |row| Ok((row.get(0)?, row.get(1)?, id(row, 2)?)))?;
            due.extend(found.iter().filter(|found| !running.contains(&found.2)).map(|found| (found.0, found.1)));
        }
        due.sort_unstable();
        Ok(due.into_iter().take(most).map(|(_, place)| place).collect())
    }

    fn next(&self, tools: &BTreeSet<&str>, running: &[TaskId], now: Timestamp) -> rusqlite::Result<Option<Timestamp>> {
        let mut next: Option<i64> = None;
        for tool in tools {
            let of_tool = (tool, millis(now), limit(running.len() + 1));
            let found = self.rows(sql::NEXT_DUE, of_tool, |row| Ok((row.get(0)?, id(row, 1)?)))?;
            let first = found.iter().find(|(_, id)| !running.contains(id)).map(|(attention, _)| *attention);
            next = next.into_iter().chain(first).min();
        }
        Ok(next.map(moment))
    }

    fn acquired(&self, head: Head) -> rusqlite::Result<AcquiredTask> {
        let mut entries = self.rows(sql::ENTRIES, [head.place], |row| row.get(0))?;
        let call = if entries.is_empty() { Vec::new() } else { entries.remove(0) };
        let questions = self.rows(sql::QUESTIONS, [head.place], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (open, used) = split(&head.record.open, questions);
        Ok(AcquiredTask { record: head.record, call, entries, open, used })
    }

    fn remove(&self, place: i64, owner: i64) -> rusqlite::Result<()> {
        self.run(sql::ERASE_SHOWN, [place])?;
        self.run(sql::REMOVE, [place])?;
        self.run(sql::DROP_OWNER, [owner])
    }

    fn places(&self, sql: &str, params: impl Params) -> rusqlite::Result<Vec<i64>> {
        self.rows(sql, params, |row| row.get(0))
    }

    fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        self.connection.prepare_cached(sql)?.query_map(params, read)?.collect()
    }
}

/// The questions that are open, in the order in which they were opened, and the keys of the others.
fn split(open_keys: &[String], questions: Vec<(String, Option<Vec<u8>>)>) -> (Vec<KeptQuestion>, Vec<String>) {
    let (mut open, mut used) = (Vec::new(), Vec::new());
    for (key, body) in questions {
        match body {
            Some(body) => open.push(KeptQuestion { key, body }),
            None => used.push(key),
        }
    }
    sort_as_opened(&mut open, open_keys);
    (open, used)
}

fn id(row: &Row<'_>, column: usize) -> rusqlite::Result<TaskId> {
    Ok(TaskId::from_bytes(row.get(column)?))
}

/// The record has the keys in the order in which they were opened.
pub(super) fn sort_as_opened(open: &mut [KeptQuestion], open_keys: &[String]) {
    open.sort_by_key(|question| open_keys.iter().position(|key| *key == question.key));
}

/// A number of rows, as SQLite takes it.
pub(super) fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}
