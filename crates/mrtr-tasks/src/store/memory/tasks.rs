//! All tasks in memory, and their changes.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use mrtr_state::Timestamp;

use super::super::clock_watch::ClockWatch;
use super::super::turns::PAUSE_BEFORE_UNSEEN;
use super::super::{Changed, Changes, Cursor, EXPIRED_PASSED_OVER, FlowKey, StoreError};
use super::indexes::{Indexes, until};
use super::row::Row;
use crate::record::Event;
use crate::{Account, Owner, TaskId, TaskRecord};

/// The task that a runner has to look at first.
pub(super) enum First {
    /// The moment at which a runner has to look, and the place of the task.
    At(Timestamp, u64),
    /// Too many tasks before it have expired, so that the search did not reach it.
    BehindExpired,
    None,
}

#[derive(Default)]
pub(super) struct Tasks {
    /// The tasks in the order of their creation.
    by_place: BTreeMap<u64, Row>,
    places: HashMap<TaskId, u64>,
    flows: HashMap<FlowKey, u64>,
    indexes: Indexes,
    pub(super) clock: ClockWatch,
    /// The tasks that changed, the newest change last.
    changed: VecDeque<TaskId>,
    /// The number of the last change.
    last_change: u64,
}

impl Tasks {
    pub(super) fn len(&self) -> usize {
        self.by_place.len()
    }

    pub(super) fn last_change(&self) -> u64 {
        self.last_change
    }

    pub(super) fn row(&self, id: TaskId) -> Result<&Row, StoreError> {
        self.by_place.get(&self.place(id)?).ok_or(StoreError::NotFound)
    }

    pub(super) fn of_flow(&self, flow: &FlowKey) -> Option<&TaskRecord> {
        self.flows.get(flow).and_then(|place| self.by_place.get(place)).map(|row| &row.record)
    }

    /// The number of tasks of an account that have not ended.
    pub(super) fn open(&self, account: &Account) -> usize {
        self.indexes.open(account)
    }

    /// The number of those that are open: their time is not over.
    pub(super) fn open_at(&self, account: &Account, now: Timestamp) -> usize {
        self.indexes.open(account) - self.indexes.expired_of(account, usize::MAX, now).len()
    }

    /// Adds a task. Its place is the number of this change, so that no two tasks get the same place.
    pub(super) fn add(&mut self, row: Row) {
        let place = self.note(row.record.id);
        self.places.insert(row.record.id, place);
        self.flows.insert((row.record.owner.clone(), row.record.flow), place);
        self.indexes.insert(place, &row);
        self.by_place.insert(place, row);
    }

    pub(super) fn change<T>(
        &mut self,
        id: TaskId,
        change: impl FnOnce(&mut Row) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.change_at(self.place(id)?, change)
    }

    /// Changes a task, and keeps the indexes with it. A change that is refused has changed nothing.
    pub(super) fn change_at<T>(
        &mut self,
        place: u64,
        change: impl FnOnce(&mut Row) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let row = self.by_place.get_mut(&place).ok_or(StoreError::NotFound)?;
        self.indexes.remove(place, row);
        let changed = change(row);
        self.indexes.insert(place, row);
        changed
    }

    /// Notes that a task has changed, and returns the number of the change.
    pub(super) fn note(&mut self, id: TaskId) -> u64 {
        self.changed.push_back(id);
        if self.changed.len() > MOST_CHANGES {
            self.changed.pop_front();
        }
        self.last_change += 1;
        self.last_change
    }

    pub(super) fn remove(&mut self, place: u64) {
        if let Some(row) = self.by_place.remove(&place) {
            self.indexes.remove(place, &row);
            let record = row.record;
            self.indexes.forget(&record);
            self.places.remove(&record.id);
            self.flows.remove(&(record.owner, record.flow));
        }
    }

    /// The bytes that the tasks of an account keep, and those that all tasks keep.
    pub(super) fn bytes(&self, account: &Account) -> (u64, u64) {
        self.indexes.bytes(account)
    }

    /// Returns the moment at which a runner has to look at the first task of these tools, unless its time is over or
    /// the runner has it. The moment is soon if too many have expired before it.
    pub(super) fn first_attention(
        &self,
        tools: &BTreeSet<&str>,
        running: &[TaskId],
        now: Timestamp,
    ) -> Option<Timestamp> {
        let looked_at = EXPIRED_PASSED_OVER + running.len();
        let first = |tool: &&str| {
            let mut passed = 0;
            let mut looks = self.indexes.of_tool(tool).inspect(|_| passed += 1).take(looked_at);
            let found = looks.find(|(_, place)| self.is_free(*place, running, now)).map(|(attention, _)| attention);
            found.or_else(|| (passed == looked_at).then(|| now + PAUSE_BEFORE_UNSEEN))
        };
        tools.iter().filter_map(first).min()
    }

    /// Returns those of these tools that have a task at which a runner has to look by now.
    pub(super) fn tools_looked_at_by<'t>(&self, now: Timestamp, tools: &BTreeSet<&'t str>) -> BTreeSet<&'t str> {
        let first = |tool: &str| self.indexes.of_tool(tool).next();
        tools.iter().copied().filter(|tool| first(tool).is_some_and(|(attention, _)| attention <= now)).collect()
    }

    /// Accounts in the order of their turns.
    pub(super) fn accounts_after(&self, turn: u64, tools: &BTreeSet<&str>) -> Vec<u64> {
        self.indexes.accounts_after(turn, tools)
    }

    pub(super) fn account_at(&self, turn: u64) -> Option<&Account> {
        self.indexes.account_at(turn)
    }

    /// The task of an account that a runner has to look at first.
    pub(super) fn first_of(&self, turn: u64, tools: &BTreeSet<&str>, running: &[TaskId], now: Timestamp) -> First {
        let looked_at = EXPIRED_PASSED_OVER + running.len();
        let (mut first, mut is_blocked) = (None, false);
        for tool in tools {
            let mut passed = 0;
            let mut looks = self.indexes.of_turn(tool, turn).inspect(|_| passed += 1).take(looked_at);
            let found = looks.find(|(_, place)| self.is_free(*place, running, now));
            is_blocked |= found.is_none() && passed == looked_at;
            first = first.into_iter().chain(found).min();
        }
        match first {
            Some((attention, place)) => First::At(attention, place),
            None if is_blocked => First::BehindExpired,
            None => First::None,
        }
    }

    /// The tasks of an account whose time is over, though no verb has ended them yet.
    pub(super) fn expired_of(&self, account: &Account, most: usize, now: Timestamp) -> Vec<u64> {
        self.indexes.expired_of(account, most, now)
    }

    /// Ends tasks whose time is over.
    pub(super) fn expire(&mut self, places: &[u64], now: Timestamp) -> Result<(), StoreError> {
        for &place in places {
            let id = self.change_at(place, |row| {
                row.apply(Event::Expire, now)?;
                Ok(row.record.id)
            })?;
            self.note(id);
        }
        Ok(())
    }

    /// The tasks of these tools on trial: first those that a runner has to look at first.
    pub(super) fn on_trial(&self, tools: &BTreeSet<&str>, running: &[TaskId], now: Timestamp) -> Vec<(Timestamp, u64)> {
        let trials = tools.iter().flat_map(|tool| self.indexes.on_trial(tool));
        let mut trials: Vec<_> = trials.filter(|(_, place)| self.is_free(*place, running, now)).collect();
        trials.sort_unstable();
        trials
    }

    /// Tasks of this tool that wait for a later moment.
    pub(super) fn waiting(&self, tool: &str, now: Timestamp) -> Vec<u64> {
        let looks = self.indexes.of_tool(tool).chain(self.indexes.on_trial(tool));
        looks.filter(|(moment, _)| *moment > now).map(|(_, place)| place).collect()
    }

    fn is_free(&self, place: u64, running: &[TaskId], now: Timestamp) -> bool {
        let is_free = |row: &Row| row.record.end(now).is_none() && !running.contains(&row.record.id);
        self.by_place.get(&place).is_some_and(is_free)
    }

    pub(super) fn is_one_reserved(&self, now: Timestamp) -> bool {
        self.indexes.is_one_reserved(now)
    }

    pub(super) fn expired(&self, most: usize, now: Timestamp) -> Vec<u64> {
        until(&self.indexes.expiry, most, now)
    }

    pub(super) fn removable(&self, most: usize, now: Timestamp) -> Vec<u64> {
        until(&self.indexes.removal, most, now)
    }

    /// The places from this one on, and the records there.
    pub(super) fn list(&self, owner: Option<&Owner>, first: u64, most: usize) -> Vec<(u64, TaskRecord)> {
        match owner {
            Some(owner) => {
                let record = |place| Some((place, self.by_place.get(&place)?.record.clone()));
                self.indexes.of_owner(owner, first).filter_map(record).take(most).collect()
            }
            None => self.by_place.range(first..).map(|(place, row)| (*place, row.record.clone())).take(most).collect(),
        }
    }

    pub(super) fn changes(&self, since: Cursor) -> Changes {
        let new = usize::try_from(self.last_change.saturating_sub(since.0)).unwrap_or(usize::MAX);
        let changed = match self.changed.len().checked_sub(new) {
            Some(known) if new <= MOST_NAMED => {
                let ids: BTreeSet<_> = self.changed.range(known..).copied().collect();
                Changed::These(ids.into_iter().collect())
            }
            _ => Changed::Many,
        };
        Changes { changed, until: Cursor(self.last_change) }
    }

    fn place(&self, id: TaskId) -> Result<u64, StoreError> {
        self.places.get(&id).copied().ok_or(StoreError::NotFound)
    }
}

/// The number of changes that are known, so that a caller that fell behind is told which they were.
const MOST_CHANGES: usize = 8192;
/// The number of tasks that are named at once: a caller that has more to look at looks at all it has.
const MOST_NAMED: usize = 256;
