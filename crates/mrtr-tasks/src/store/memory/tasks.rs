//! All tasks in memory, and what changed of them.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use mrtr_state::Timestamp;

use super::super::clock_watch::ClockWatch;
use super::super::{Changed, Changes, Cursor, FlowKey, StoreError};
use super::indexes::{Indexes, until};
use super::row::Row;
use crate::{Owner, TaskId, TaskRecord};

#[derive(Default)]
pub(super) struct Tasks {
    /// In the order of their creation.
    by_place: BTreeMap<u64, Row>,
    places: HashMap<TaskId, u64>,
    flows: HashMap<FlowKey, u64>,
    indexes: Indexes,
    pub(super) clock: ClockWatch,
    /// What changed, the newest last.
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

    /// How many tasks of an owner have not ended.
    pub(super) fn open(&self, owner: &Owner) -> usize {
        self.indexes.open(owner)
    }

    /// Adds a task. Its place is the number of the change that this is, so it is never given twice.
    pub(super) fn add(&mut self, row: Row) {
        let place = self.note(row.record.id);
        self.places.insert(row.record.id, place);
        self.flows.insert((row.record.owner.clone(), row.record.flow), place);
        self.indexes.insert(place, &row.record);
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
        self.indexes.remove(place, &row.record);
        let changed = change(row);
        self.indexes.insert(place, &row.record);
        changed
    }

    /// Notes that a task has changed, and gives the number of the change.
    pub(super) fn note(&mut self, id: TaskId) -> u64 {
        self.changed.push_back(id);
        if self.changed.len() > MOST_CHANGES {
            self.changed.pop_front();
        }
        self.last_change += 1;
        self.last_change
    }

    pub(super) fn remove(&mut self, place: u64) {
        if let Some(Row { record, .. }) = self.by_place.remove(&place) {
            self.indexes.remove(place, &record);
            self.places.remove(&record.id);
            self.flows.remove(&(record.owner, record.flow));
        }
    }

    /// The task of these tools that has waited longest for a runner, unless its time is over or the runner has it.
    pub(super) fn first_attention(
        &self,
        tools: &BTreeSet<&str>,
        running: &[TaskId],
        now: Timestamp,
    ) -> Option<(Timestamp, u64)> {
        let first = |tool: &&str| self.indexes.of_tool(tool).find(|(_, place)| self.is_free(*place, running, now));
        tools.iter().filter_map(first).min()
    }

    /// Tasks of these tools on trial, those that a runner has to look at first before the others.
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

    /// Places from this one on, and what is there.
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

/// How many changes are known, so that a caller that fell behind is told which they were.
const MOST_CHANGES: usize = 8192;
/// How many tasks are named at once: a caller that has more to look at looks at all it has.
const MOST_NAMED: usize = 256;
