//! The choice of the tasks in memory that a runner gets.

use std::collections::BTreeSet;
use std::time::Duration;

use mrtr_state::Timestamp;

use super::super::turns::PAUSE_BEFORE_UNSEEN;
use super::super::{ACCOUNTS_AT_ONCE, Acquired, EXPIRED_PASSED_OVER, StoreError, TRIALS_AT_ONCE, Turn, Turns, Wanted};
use super::tasks::{First, Tasks};
use crate::TaskId;
use crate::record::Event;

impl Tasks {
    /// Makes nothing wait longer than it was meant to, if the clock may have been set back.
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
                    // A task whose time is over waits for nothing.
                    let is_changed = row.apply(wanted.set_back_event(), now).is_ok() && row.record != before;
                    Ok(is_changed.then_some(row.record.id))
                })?;
                changed.map(|id| self.note(id));
            }
        }
        Ok(())
    }

    /// Counts runs on trial that were lost: their tasks are put off or set aside whether or not a runner can have them.
    /// Returns the tasks that it set aside.
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

    /// Takes tasks that are not on trial, in turns over accounts.
    pub(super) fn acquire_others(
        &mut self,
        wanted: &Wanted,
        turns: &mut Turns,
        tools: &BTreeSet<&str>,
        now: Timestamp,
    ) -> Result<Acquired, StoreError> {
        let tools = &self.tools_looked_at_by(now, tools);
        let mut accounts = self.accounts_after(place_of(turns.after()), tools);
        let mut acquired = Acquired::default();
        if wanted.most > 0 {
            acquired.turn = accounts.last().map(|account| Turn(u128::from(*account)));
        }
        while !accounts.is_empty() && acquired.tasks.len() < wanted.most {
            let mut others = Vec::new();
            for account in accounts {
                if acquired.tasks.len() >= wanted.most {
                    break;
                }
                if self.acquire_of(account, wanted, turns, tools, now, &mut acquired)? {
                    others.push(account);
                    if acquired.tasks.len() >= wanted.most {
                        acquired.turn = Some(Turn(u128::from(account)));
                    }
                }
            }
            accounts = others;
        }
        Ok(acquired)
    }

    /// Takes a task of this account, if one is due and the account may have it. Returns whether it did.
    fn acquire_of(
        &mut self,
        account: u64,
        wanted: &Wanted,
        turns: &mut Turns,
        tools: &BTreeSet<&str>,
        now: Timestamp,
        acquired: &mut Acquired,
    ) -> Result<bool, StoreError> {
        let Some(name) = self.account_at(account).filter(|name| turns.admits(name)).cloned() else { return Ok(false) };
        loop {
            let place = match self.first_of(account, tools, &wanted.running, now) {
                First::At(attention, place) if attention <= now => place,
                First::At(..) | First::None => return Ok(false),
                First::BehindExpired => {
                    let expired = self.expired_of(&name, EXPIRED_PASSED_OVER, now);
                    self.expire(&expired, now)?;
                    acquired.next = Some(Duration::ZERO);
                    return Ok(false);
                }
            };
            let (id, is_taken) = self.change_at(place, |row| {
                row.apply(wanted.event(), now)?;
                acquired.tasks.extend(row.record.leased_until.map(|_| row.acquired()));
                acquired.set_aside.extend(row.record.set_aside.map(|_| row.record.id));
                Ok((row.record.id, row.record.leased_until.is_some()))
            })?;
            self.note(id);
            if is_taken {
                turns.take(&name);
                return Ok(true);
            }
        }
    }

    /// Returns the moment at which there may be more of the tasks that are not on trial.
    pub(super) fn next_of_accounts(
        &self,
        wanted: &Wanted,
        turns: &Turns,
        tools: &BTreeSet<&str>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        if turns.refused().next().is_none() {
            return self.first_attention(tools, &wanted.running, now);
        }
        let accounts = self.accounts_after(place_of(turns.after()), tools);
        let admitted =
            accounts.iter().filter(|account| self.account_at(**account).is_some_and(|name| turns.admits(name)));
        let next = admitted.filter_map(|account| match self.first_of(*account, tools, &wanted.running, now) {
            First::At(attention, _) => Some(attention),
            First::BehindExpired => Some(now),
            First::None => None,
        });
        // Accounts that come later may have a task, too.
        let later = (accounts.len() == ACCOUNTS_AT_ONCE).then(|| now + PAUSE_BEFORE_UNSEEN);
        next.chain(later).min()
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

    /// Returns the moment at which a runner has to look next at the tasks on trial. One that is due already waits for
    /// something else than time.
    pub(super) fn next_trial(&self, tools: &BTreeSet<&str>, running: &[TaskId], now: Timestamp) -> Option<Timestamp> {
        self.on_trial(tools, running, now).into_iter().map(|(moment, _)| moment).find(|moment| *moment > now)
    }
}

/// The place of a turn among the accounts, which are numbered from 1.
fn place_of(turn: Option<Turn>) -> u64 {
    turn.map_or(0, |Turn(turn)| u64::try_from(turn).unwrap_or(u64::MAX))
}
