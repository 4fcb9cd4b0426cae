//! Work across tasks: those whose runs are due, whose time is over, and which are not kept any longer.

use std::collections::BTreeSet;

use mrtr_state::Timestamp;
use rusqlite::{Params, Row};

use super::super::{Acquired, AcquiredTask, Choice, KeptQuestion, Swept, TRIALS_AT_ONCE, Wanted};
use super::head::{Head, millis, moment};
use super::statements as sql;
use super::tables::{Failure, Tables};
use crate::TaskId;
use crate::record::Event;

impl Tables<'_> {
    pub(super) fn acquire(&mut self, wanted: &Wanted) -> Result<Acquired, Failure> {
        let now = self.clock.now();
        let tools: BTreeSet<_> = wanted.tools.iter().map(String::as_str).collect();
        let mut acquired = Acquired::default();
        self.bound_waits(wanted, &tools, now)?;
        let trial = self.first_trial(wanted, &tools, now, &mut acquired.set_aside)?;
        let others = self.first_due(wanted, &tools, now)?;
        let is_reserved = !self.places(sql::RESERVED, [millis(now)])?.is_empty();
        let due = trial.as_ref().and_then(|head| head.record.due);
        let choice = wanted.choose(due, others, is_reserved, now);
        match (choice, trial) {
            (Choice::Others, _) => self.acquire_others(wanted, &tools, now, &mut acquired)?,
            (Choice::Trial, Some(mut head)) => {
                head.record.apply(wanted.trial_event(), now)?;
                self.keep(&head)?;
                acquired.tasks.push(self.acquired(head)?);
            }
            (Choice::Reserve, Some(mut head)) => {
                head.record.apply(wanted.reserve_event(), now)?;
                head.keep(self.connection)?;
            }
            _ => {}
        }
        acquired.trial_waits = matches!(choice, Choice::Reserve | Choice::Tell);
        acquired.next = self.next(&tools, &wanted.running, now)?.map(|next| next.since(now));
        Ok(acquired)
    }

    /// Has nothing wait longer than it was to, if the clock may have been set back.
    fn bound_waits(&mut self, wanted: &Wanted, tools: &BTreeSet<&str>, now: Timestamp) -> Result<(), Failure> {
        for tool in self.watch.unseen(tools) {
            for sql in [sql::WAITING, sql::WAITING_ON_TRIAL] {
                for place in self.places(sql, (tool, millis(now)))? {
                    let mut head = self.head_at(place)?;
                    let before = head.record.clone();
                    // One whose time is over waits for nothing.
                    if head.record.apply(wanted.set_back_event(), now).is_ok() && head.record != before {
                        self.keep(&head)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes tasks that are not on trial, those that waited longest first.
    fn acquire_others(
        &mut self,
        wanted: &Wanted,
        tools: &BTreeSet<&str>,
        now: Timestamp,
        acquired: &mut Acquired,
    ) -> Result<(), Failure> {
        // More than once only if some that were due are put off by that, or on trial: those are not among these any more.
        while acquired.tasks.len() < wanted.most {
            let due = self.due(sql::DUE, tools, &wanted.running, wanted.most - acquired.tasks.len(), now)?;
            if due.is_empty() {
                break;
            }
            for (_, place) in due {
                let mut head = self.head_at(place)?;
                head.record.apply(wanted.event(), now)?;
                let is_taken = head.record.leased_until.is_some();
                self.keep(&head)?;
                acquired.set_aside.extend(head.record.set_aside.map(|_| head.record.id));
                if is_taken {
                    acquired.tasks.push(self.acquired(head)?);
                }
            }
        }
        Ok(())
    }

    /// The task on trial that waited longest. Runs on trial that were lost are counted first: their tasks are put off or
    /// set aside whether or not a runner can have them.
    fn first_trial(
        &mut self,
        wanted: &Wanted,
        tools: &BTreeSet<&str>,
        now: Timestamp,
        set_aside: &mut Vec<TaskId>,
    ) -> Result<Option<Head>, Failure> {
        let mut first: Option<Head> = None;
        for (_, place) in self.due(sql::TRIALS, tools, &wanted.running, TRIALS_AT_ONCE, now)? {
            let mut head = self.head_at(place)?;
            if head.record.leased_until.is_some() {
                head.record.apply(Event::Lapse, now)?;
                self.keep(&head)?;
                set_aside.extend(head.record.set_aside.map(|_| head.record.id));
                // As it stands in the file from now on.
                head = self.head_at(place)?;
            }
            if !head.record.is_on_trial() {
                // A process of the version before has parked it, and left it among these.
                head.keep(self.connection)?;
                continue;
            }
            let by_due = |head: &Head| (head.record.due, head.place);
            let waits = head.record.due.is_some_and(|due| due <= now);
            if waits && first.as_ref().is_none_or(|first| by_due(&head) < by_due(first)) {
                first = Some(head);
            }
        }
        Ok(first)
    }

    fn head_at(&self, place: i64) -> rusqlite::Result<Head> {
        self.connection.prepare_cached(sql::HEAD_AT)?.query_row([place], Head::read)
    }

    pub(super) fn sweep(&mut self, most: usize) -> Result<Swept, Failure> {
        let now = self.clock.now();
        let expired = self.places(sql::EXPIRED, (millis(now), limit(most)))?;
        for &place in &expired {
            let mut head = self.head_at(place)?;
            head.record.apply(Event::Expire, now)?;
            self.keep(&head)?;
        }
        let removable = self.rows(sql::REMOVABLE, (millis(now), limit(most)), |row| Ok((row.get(0)?, row.get(1)?)))?;
        for &(place, owner) in &removable {
            self.remove(place, owner)?;
        }
        Ok(Swept { expired: expired.len(), removed: removable.len() })
    }

    /// Tasks that are due by one of two statements and that the runner does not have, with since when, those that waited
    /// longest first.
    fn due(
        &self,
        sql: &str,
        tools: &BTreeSet<&str>,
        running: &[TaskId],
        most: usize,
        now: Timestamp,
    ) -> rusqlite::Result<Vec<(i64, i64)>> {
        let mut due: Vec<(i64, i64)> = Vec::new();
        for tool in tools {
            // So many more as may be left out.
            let of_tool = (tool, millis(now), limit(most.saturating_add(running.len())));
            let found = self.rows(sql, of_tool, |row| Ok((row.get(0)?, row.get(1)?, id(row, 2)?)))?;
            due.extend(found.iter().filter(|found| !running.contains(&found.2)).map(|found| (found.0, found.1)));
        }
        due.sort_unstable();
        due.truncate(most);
        Ok(due)
    }

    fn first_due(
        &self,
        wanted: &Wanted,
        tools: &BTreeSet<&str>,
        now: Timestamp,
    ) -> rusqlite::Result<Option<Timestamp>> {
        Ok(self.due(sql::DUE, tools, &wanted.running, 1, now)?.first().map(|(attention, _)| moment(*attention)))
    }

    fn next(&self, tools: &BTreeSet<&str>, running: &[TaskId], now: Timestamp) -> rusqlite::Result<Option<Timestamp>> {
        let mut next: Option<i64> = None;
        for tool in tools {
            // Those on trial that are due already wait for something else than time.
            for sql in [sql::NEXT_DUE, sql::NEXT_TRIAL] {
                let of_tool = (tool, millis(now), limit(running.len() + 1));
                let found = self.rows(sql, of_tool, |row| Ok((row.get(0)?, id(row, 1)?)))?;
                let first = found.iter().find(|(_, id)| !running.contains(id)).map(|(moment, _)| *moment);
                next = next.into_iter().chain(first).min();
            }
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
