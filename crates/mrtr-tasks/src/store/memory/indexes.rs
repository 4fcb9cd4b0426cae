//! The indexes of tasks in memory: those that wait are in the way of no others.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;

use mrtr_state::Timestamp;

use super::super::ACCOUNTS_AT_ONCE;
use super::row::Row;
use crate::{Account, Owner, TaskRecord};

/// Tasks are named by their places.
#[derive(Default)]
pub(super) struct Indexes {
    /// The tasks that have not ended, by the end of their time.
    pub(super) expiry: BTreeSet<(Timestamp, u64)>,
    /// The tasks that have ended, by the moment from which they may be removed.
    pub(super) removal: BTreeSet<(Timestamp, u64)>,
    /// The moments at which a runner has to look at tasks, by tool.
    attention: ByTool,
    /// The moments at which a runner has to look at tasks on trial, by tool.
    trial: ByTool,
    /// The moments at which a runner has to look at tasks, by tool and account.
    turns: HashMap<String, BTreeMap<u64, BTreeSet<(Timestamp, u64)>>>,
    /// The tasks for whose runs an instance makes room, by the end of that time.
    reserved: BTreeSet<(Timestamp, u64)>,
    /// The tasks that each owner may see.
    owners: HashMap<Owner, BTreeSet<u64>>,
    accounts: HashMap<Account, AccountTasks>,
    /// Accounts in the order of their turns.
    by_turn: BTreeMap<u64, Account>,
    /// The number of bytes that all tasks keep.
    bytes: u64,
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
struct AccountTasks {
    turn: u64,
    /// The number of tasks.
    number: usize,
    /// The number of tasks that have not ended.
    open: usize,
    /// The tasks that have not ended, by the end of their time.
    expiry: BTreeSet<(Timestamp, u64)>,
    /// The number of bytes that they keep.
    bytes: u64,
}

impl Indexes {
    /// The number of tasks of an account that have not ended.
    pub(super) fn open(&self, account: &Account) -> usize {
        self.accounts.get(account).map_or(0, |tasks| tasks.open)
    }

    /// The bytes that the tasks of an account keep, and those that all tasks keep.
    pub(super) fn bytes(&self, account: &Account) -> (u64, u64) {
        (self.accounts.get(account).map_or(0, |tasks| tasks.bytes), self.bytes)
    }

    /// The tasks of an account whose time is over, though no verb has noticed.
    pub(super) fn expired_of(&self, account: &Account, most: usize, now: Timestamp) -> Vec<u64> {
        self.accounts.get(account).map_or_else(Vec::new, |tasks| until(&tasks.expiry, most, now))
    }

    /// Accounts that have tasks of these tools at which a runner has to look: from the one behind this turn on, and
    /// then those before it.
    pub(super) fn accounts_after(&self, turn: u64, tools: &BTreeSet<&str>) -> Vec<u64> {
        let turns: Vec<_> = tools.iter().filter_map(|tool| self.turns.get(*tool)).collect();
        let next = |after: u64| {
            let behind = (Bound::Excluded(after), Bound::Unbounded);
            turns.iter().filter_map(|accounts| accounts.range(behind).next().map(|(account, _)| *account)).min()
        };
        let ahead = std::iter::successors(next(turn), |last| next(*last));
        let behind = std::iter::successors(next(0), |last| next(*last)).take_while(|account| *account <= turn);
        ahead.chain(behind).take(ACCOUNTS_AT_ONCE).collect()
    }

    pub(super) fn account_at(&self, turn: u64) -> Option<&Account> {
        self.by_turn.get(&turn)
    }

    /// The tasks of a tool and an account that a runner has to look at, the earliest first.
    pub(super) fn of_turn(&self, tool: &str, turn: u64) -> impl Iterator<Item = (Timestamp, u64)> {
        self.turns.get(tool).and_then(|accounts| accounts.get(&turn)).into_iter().flatten().copied()
    }

    pub(super) fn of_owner(&self, owner: &Owner, first: u64) -> impl Iterator<Item = u64> {
        self.owners.get(owner).into_iter().flat_map(move |places| places.range(first..).copied())
    }

    /// The tasks of a tool that a runner has to look at, the earliest first.
    pub(super) fn of_tool(&self, tool: &str) -> impl Iterator<Item = (Timestamp, u64)> {
        self.attention.of(tool)
    }

    /// The tasks of a tool on trial that a runner has to look at, the earliest first.
    pub(super) fn on_trial(&self, tool: &str) -> impl Iterator<Item = (Timestamp, u64)> {
        self.trial.of(tool)
    }

    /// Returns true if an instance makes room for a task on trial.
    pub(super) fn is_one_reserved(&self, now: Timestamp) -> bool {
        self.reserved.last().is_some_and(|(until, _)| *until > now)
    }

    pub(super) fn insert(&mut self, place: u64, row: &Row) {
        let record = &row.record;
        self.attention.insert(&record.tool, record.attention(), place);
        self.trial.insert(&record.tool, record.trial(), place);
        self.reserved.extend(record.reserved_until.map(|moment| (moment, place)));
        self.expiry.extend(end_of_time(record).map(|moment| (moment, place)));
        self.removal.extend(record.removable().map(|moment| (moment, place)));
        self.bytes += row.bytes();
        match self.owners.get_mut(&record.owner) {
            Some(places) => drop(places.insert(place)),
            None => drop(self.owners.insert(record.owner.clone(), BTreeSet::from([place]))),
        }
        if !self.accounts.contains_key(&record.account) {
            self.add_account(&record.account);
        }
        let Some(tasks) = self.accounts.get_mut(&record.account) else { return };
        tasks.number += 1;
        tasks.open += usize::from(record.ended.is_none());
        tasks.expiry.extend(end_of_time(record).map(|moment| (moment, place)));
        tasks.bytes += row.bytes();
        if let Some(attention) = record.attention() {
            let accounts = match self.turns.get_mut(&record.tool) {
                Some(accounts) => accounts,
                None => self.turns.entry(record.tool.clone()).or_default(),
            };
            accounts.entry(tasks.turn).or_default().insert((attention, place));
        }
    }

    /// Adds an account behind the others.
    fn add_account(&mut self, account: &Account) {
        let turn = self.by_turn.last_key_value().map_or(1, |(last, _)| last + 1);
        self.by_turn.insert(turn, account.clone());
        self.accounts.insert(account.clone(), AccountTasks { turn, ..AccountTasks::default() });
    }

    /// Removes a task, whose row must be as it was when it was inserted. The entries of its owner and its account stay
    /// until [`forget`](Self::forget).
    pub(super) fn remove(&mut self, place: u64, row: &Row) {
        let record = &row.record;
        self.attention.remove(&record.tool, record.attention(), place);
        self.trial.remove(&record.tool, record.trial(), place);
        record.reserved_until.map(|moment| self.reserved.remove(&(moment, place)));
        end_of_time(record).map(|moment| self.expiry.remove(&(moment, place)));
        record.removable().map(|moment| self.removal.remove(&(moment, place)));
        self.bytes -= row.bytes();
        if let Some(places) = self.owners.get_mut(&record.owner) {
            places.remove(&place);
        }
        let Some(tasks) = self.accounts.get_mut(&record.account) else { return };
        tasks.number -= 1;
        tasks.open -= usize::from(record.ended.is_none());
        end_of_time(record).map(|moment| tasks.expiry.remove(&(moment, place)));
        tasks.bytes -= row.bytes();
        if let (Some(attention), Some(accounts)) = (record.attention(), self.turns.get_mut(&record.tool))
            && let Some(places) = accounts.get_mut(&tasks.turn)
        {
            places.remove(&(attention, place));
            if places.is_empty() {
                accounts.remove(&tasks.turn);
            }
        }
    }

    /// Forgets the owner and the account of a task that was removed, if they have no other.
    pub(super) fn forget(&mut self, record: &TaskRecord) {
        if self.owners.get(&record.owner).is_some_and(BTreeSet::is_empty) {
            self.owners.remove(&record.owner);
        }
        if let Some(tasks) = self.accounts.get(&record.account).filter(|tasks| tasks.number == 0) {
            self.by_turn.remove(&tasks.turn);
            self.accounts.remove(&record.account);
        }
    }
}

/// The first places of an index whose moments have come.
pub(super) fn until(index: &BTreeSet<(Timestamp, u64)>, most: usize, now: Timestamp) -> Vec<u64> {
    index.iter().take_while(|(moment, _)| *moment <= now).map(|(_, place)| *place).take(most).collect()
}

fn end_of_time(record: &TaskRecord) -> Option<Timestamp> {
    if record.ended.is_some() { None } else { record.expires() }
}
