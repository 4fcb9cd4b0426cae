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
    attention: ByTool,
    /// By tool, those on trial that a runner has to look at, and when.
    trial: ByTool,
    /// Those for whose runs an instance makes room, by until when.
    reserved: BTreeSet<(Timestamp, u64)>,
    owners: HashMap<Owner, OwnerTasks>,
}

/// Tasks by their tool and a moment.
#[derive(Default)]
struct ByTool(HashMap<String, BTreeSet<(Timestamp, u64)>>);

impl ByTool {
    fn of(&self, tool: &str) -> impl Iterator<Item = (Timestamp, u64)> {
        self.0.get(tool).into_iter().flatten().copied()
    }

    fn insert(&mut self, tool: &str, moment: Option<Timestamp>, place: u64) {
        let Some(moment) = moment else { return };
        match self.0.get_mut(tool) {
            Some(tool) => drop(tool.insert((moment, place))),
            None => drop(self.0.insert(tool.to_owned(), BTreeSet::from([(moment, place)]))),
        }
    }

    fn remove(&mut self, tool: &str, moment: Option<Timestamp>, place: u64) {
        if let (Some(moment), Some(tool)) = (moment, self.0.get_mut(tool)) {
            tool.remove(&(moment, place));
        }
    }
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
        self.attention.of(tool)
    }

    /// The tasks of a tool on trial that a runner has to look at, the earliest first.
    pub(super) fn on_trial(&self, tool: &str) -> impl Iterator<Item = (Timestamp, u64)> {
        self.trial.of(tool)
    }

    /// Whether an instance makes room for a task on trial.
    pub(super) fn is_one_reserved(&self, now: Timestamp) -> bool {
        self.reserved.last().is_some_and(|(until, _)| *until > now)
    }

    pub(super) fn insert(&mut self, place: u64, record: &TaskRecord) {
        self.attention.insert(&record.tool, record.attention(), place);
        self.trial.insert(&record.tool, record.trial(), place);
        self.reserved.extend(record.reserved_until.map(|moment| (moment, place)));
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
        self.attention.remove(&record.tool, record.attention(), place);
        self.trial.remove(&record.tool, record.trial(), place);
        record.reserved_until.map(|moment| self.reserved.remove(&(moment, place)));
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
