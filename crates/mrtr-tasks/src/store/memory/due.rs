//! Which tasks in memory a runner gets.

use std::collections::BTreeSet;

use mrtr_state::Timestamp;

use super::super::{Acquired, StoreError, TRIALS_AT_ONCE, Wanted};
use super::tasks::Tasks;
use crate::TaskId;
use crate::record::Event;

impl Tasks {
    /// Has nothing wait longer than it was to, if the clock may have been set back.
    pub(super) fn bound_waits(
        &mut self,
        wanted: &Wanted,
        tools: &BTreeSet<&str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        for tool in self.clock.unseen(tools) {
            for place in self.waiting(tool, now) {
                let changed = self.change_at(place, |row| {
                    let before = row.record.clone();
                    // One whose time is over waits for nothing.
                    let is_changed = row.apply(wanted.set_back_event(), now).is_ok() && row.record != before;
                    Ok(is_changed.then_some(row.record.id))
                })?;
                changed.map(|id| self.note(id));
            }
        }
        Ok(())
    }

    /// Counts runs on trial that were lost: their tasks are put off or set aside whether or not a runner can have them.
    /// Gives those that are set aside.
    pub(super) fn settle_lapsed_trials(
        &mut self,
        tools: &BTreeSet<&str>,
        running: &[TaskId],
        now: Timestamp,
    ) -> Result<Vec<TaskId>, StoreError> {
        let mut set_aside = Vec::new();
        let due = self.on_trial(tools, running, now).into_iter().take_while(|(moment, _)| *moment <= now);
        for (_, place) in due.take(TRIALS_AT_ONCE).collect::<Vec<_>>() {
            let lapsed = self.change_at(place, |row| {
                let is_lapsed = row.record.leased_until.is_some();
                if is_lapsed {
                    row.apply(Event::Lapse, now)?;
                }
                set_aside.extend(row.record.set_aside.map(|_| row.record.id));
                Ok(is_lapsed.then_some(row.record.id))
            })?;
            if let Some(id) = lapsed {
                self.note(id);
            }
        }
        Ok(set_aside)
    }

    /// Takes tasks that are not on trial, those that waited longest first.
    pub(super) fn acquire_others(
        &mut self,
        wanted: &Wanted,
        tools: &BTreeSet<&str>,
        now: Timestamp,
    ) -> Result<Acquired, StoreError> {
        let mut acquired = Acquired::default();
        while acquired.tasks.len() < wanted.most {
            let Some((_, place)) =
                self.first_attention(tools, &wanted.running, now).filter(|(attention, _)| *attention <= now)
            else {
                break;
            };
            let id = self.change_at(place, |row| {
                row.apply(wanted.event(), now)?;
                acquired.tasks.extend(row.record.leased_until.map(|_| row.acquired()));
                acquired.set_aside.extend(row.record.set_aside.map(|_| row.record.id));
                Ok(row.record.id)
            })?;
            self.note(id);
        }
        Ok(acquired)
    }

    /// Takes this task, which is on trial.
    pub(super) fn acquire_trial(
        &mut self,
        wanted: &Wanted,
        place: u64,
        now: Timestamp,
    ) -> Result<Acquired, StoreError> {
        let taken = self.change_at(place, |row| {
            row.apply(wanted.trial_event(), now)?;
            Ok(row.acquired())
        })?;
        self.note(taken.record.id);
        Ok(Acquired { tasks: vec![taken], ..Acquired::default() })
    }

    /// When a runner has to look next: those on trial that are due already wait for something else than time.
    pub(super) fn next_look(&self, tools: &BTreeSet<&str>, running: &[TaskId], now: Timestamp) -> Option<Timestamp> {
        let trial =
            self.on_trial(tools, running, now).into_iter().map(|(moment, _)| moment).find(|moment| *moment > now);
        let others = self.first_attention(tools, running, now).map(|(attention, _)| attention);
        trial.into_iter().chain(others).min()
    }
}
