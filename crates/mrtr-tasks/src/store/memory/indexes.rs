//! By what tasks in memory are looked for: what waits is in the way of nothing else.

use std::collections::{BTreeSet, HashMap};

use mrtr_state::Timestamp;

use crate::{Owner, TaskRecord};

/// Tasks are named by their places.
#[derive(Default)]
pub(super) struct Indexes {
    /// Those that have not ended, by the end of their time.
    pub(super) expiry: BTreeSet<(Timestamp, u64)>,
    /// Those that have ended, by when they may be removed.
    pub(super) removal: BTreeSet<(Timestamp, u64)>,
    /// By tool, those that a runner has to look at, and when.
    attention: HashMap<String, BTreeSet<(Timestamp, u64)>>,
    owners: HashMap<Owner, OwnerTasks>,
}

#[derive(Default)]
struct OwnerTasks {
    places: BTreeSet<u64>,
    /// How many have not ended.
    open: usize,
}

impl Indexes {
    /// How many tasks of an owner have not ended.
    pub(super) fn open(&self, owner: &Owner) -> usize {
        self.owners.get(owner).map_or(0, |tasks| tasks.open)
    }

    pub(super) fn of_owner(&self, owner: &Owner, first: u64) -> impl Iterator<Item = u64> {
        self.owners.get(owner).into_iter().flat_map(move |tasks| tasks.places.range(first..).copied())
    }

    /// The tasks of a tool that a runner has to look at, the earliest first.
    pub(super) fn of_tool(&self, tool: &str) -> impl Iterator<Item = (Timestamp, u64)> {
        self.attention.get(tool).into_iter().flatten().copied()
    }

    pub(super) fn insert(&mut self, place: u64, record: &TaskRecord) {
        if let Some(attention) = record.attention() {
            match self.attention.get_mut(&record.tool) {
                Some(tool) => drop(tool.insert((attention, place))),
                None => drop(self.attention.insert(record.tool.clone(), BTreeSet::from([(attention, place)]))),
            }
        }
        self.expiry.extend(end_of_time(record).map(|moment| (moment, place)));
        self.removal.extend(record.removable().map(|moment| (moment, place)));
        let tasks = match self.owners.get_mut(&record.owner) {
            Some(tasks) => tasks,
            None => self.owners.entry(record.owner.clone()).or_default(),
        };
        tasks.places.insert(place);
        tasks.open += usize::from(record.ended.is_none());
    }

    /// Takes a task out as it was inserted. What it leaves empty goes with it.
    pub(super) fn remove(&mut self, place: u64, record: &TaskRecord) {
        if let (Some(attention), Some(tool)) = (record.attention(), self.attention.get_mut(&record.tool)) {
            tool.remove(&(attention, place));
        }
        end_of_time(record).map(|moment| self.expiry.remove(&(moment, place)));
        record.removable().map(|moment| self.removal.remove(&(moment, place)));
        if let Some(tasks) = self.owners.get_mut(&record.owner) {
            tasks.places.remove(&place);
            tasks.open -= usize::from(record.ended.is_none());
            if tasks.places.is_empty() {
                self.owners.remove(&record.owner);
            }
        }
    }
}

/// The first of an index, as far as now.
pub(super) fn until(index: &BTreeSet<(Timestamp, u64)>, most: usize, now: Timestamp) -> Vec<u64> {
    index.iter().take_while(|(moment, _)| *moment <= now).map(|(_, place)| *place).take(most).collect()
}

fn end_of_time(record: &TaskRecord) -> Option<Timestamp> {
    if record.ended.is_some() { None } else { record.expires() }
}
