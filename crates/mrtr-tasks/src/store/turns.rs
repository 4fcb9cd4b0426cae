//! Turns over accounts: a store gives runs out in turns, and the last quarter of an instance's workers is for accounts
//! that have few.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Account;

/// A place among the accounts of a store's tasks, which only that store understands.
///
/// ```
/// use mrtr_tasks::store::Turn;
///
/// assert!(Turn(7) < Turn(8));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a number")]
pub struct Turn(pub u128);

/// The turns of a runner: where they stand, and how its workers are divided among accounts.
///
/// Until three quarters of the workers have a run, any account gets the next worker. The last quarter is for accounts
/// that have fewer runs than their share. The share is the number of workers divided by the number of accounts that
/// have a run (the one that asks included) and one more, and by four at least. There, an account also gets no more
/// workers than it leaves free: no run is ended to make room for another, so each account takes at most half of what is
/// left. An account that has no run always gets a free worker, so only many accounts together can use up all workers.
///
/// ```
/// use mrtr_tasks::Account;
/// use mrtr_tasks::store::Turns;
///
/// let (ann, bob) = (Account::from_kept("ann"), Account::from_kept("bob"));
/// let mut turns = Turns::new(None, 4, [ann.clone(), ann.clone()]);
/// assert!(turns.admits(&ann));
/// turns.take(&ann);
/// assert!(!turns.admits(&ann), "the last worker is for others");
/// assert!(turns.admits(&bob));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turns {
    after: Option<Turn>,
    workers: usize,
    /// The number of runs of each account; an account without runs has no entry.
    runs: BTreeMap<Account, usize>,
}

impl Default for Turns {
    /// Turns from the beginning, with workers that are not divided.
    fn default() -> Self {
        Self { after: None, workers: usize::MAX, runs: BTreeMap::new() }
    }
}

impl Turns {
    /// Makes turns that continue after a place, for `workers` workers. `running` names the account of each run, so an
    /// account may stand in it several times.
    pub fn new(after: Option<Turn>, workers: usize, running: impl IntoIterator<Item = Account>) -> Self {
        let mut runs = BTreeMap::new();
        for account in running {
            *runs.entry(account).or_insert(0) += 1;
        }
        Self { after, workers, runs }
    }

    /// The place after which the next turn comes; from the beginning if there is none.
    pub fn after(&self) -> Option<Turn> {
        self.after
    }

    /// Returns true if a run of this account may begin, provided that a worker is free.
    pub fn admits(&self, account: &Account) -> bool {
        let own = self.runs.get(account).copied().unwrap_or(0);
        let used: usize = self.runs.values().sum();
        if used < self.workers - self.workers / 4 {
            return true;
        }
        // With one who may come: accounts that all have their share leave a worker for the next.
        let accounts = self.runs.len() + usize::from(own == 0) + 1;
        let share = (self.workers / accounts.max(4)).max(1);
        own < share.min(self.workers.saturating_sub(used)).max(1)
    }

    /// Counts a run of this account that begins.
    pub fn take(&mut self, account: &Account) {
        match self.runs.get_mut(account) {
            Some(runs) => *runs += 1,
            None => drop(self.runs.insert(account.clone(), 1)),
        }
    }

    /// For stores: returns the accounts of which no run may begin now. They are among those that have one.
    pub fn refused(&self) -> impl Iterator<Item = &Account> {
        self.runs.keys().filter(|account| !self.admits(account))
    }
}

/// For stores: the number of accounts that are looked at for one runner, from the one whose turn it is.
///
/// ```
/// use mrtr_tasks::store::ACCOUNTS_AT_ONCE;
///
/// assert_eq!(ACCOUNTS_AT_ONCE, 64);
/// ```
pub const ACCOUNTS_AT_ONCE: usize = 64;

/// For stores: the number of expired tasks that are passed over before a live one of their account. If there are more,
/// the store ends some of them, and the runner looks again.
///
/// ```
/// use mrtr_tasks::store::EXPIRED_PASSED_OVER;
///
/// assert_eq!(EXPIRED_PASSED_OVER, 64);
/// ```
pub const EXPIRED_PASSED_OVER: usize = 64;

/// For stores: the time after which a runner looks again if the store could not look at all there is.
///
/// ```
/// use std::time::Duration;
/// use mrtr_tasks::store::PAUSE_BEFORE_UNSEEN;
///
/// assert_eq!(PAUSE_BEFORE_UNSEEN, Duration::from_millis(100));
/// ```
pub const PAUSE_BEFORE_UNSEEN: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn account(number: usize) -> Account {
        Account::from_kept(number.to_string())
    }

    #[test]
    fn of_sixteen_workers_one_account_gets_twelve_and_the_rest_is_for_others() {
        let mut turns = Turns::new(None, 16, []);
        let take_all = |turns: &mut Turns, number| {
            let mut taken = 0;
            while turns.runs.values().sum::<usize>() < 16 && turns.admits(&account(number)) {
                turns.take(&account(number));
                taken += 1;
            }
            taken
        };
        assert_eq!(take_all(&mut turns, 0), 12);
        assert_eq!(turns.refused().collect::<Vec<_>>(), [&account(0)]);
        assert_eq!(take_all(&mut turns, 1), 2, "another is below its share, and leaves as much as it takes");
        assert_eq!([2, 3, 4].map(|number| take_all(&mut turns, number)), [1, 1, 0]);
    }

    #[test]
    fn few_workers_are_not_divided() {
        for workers in 1..4 {
            let mut turns = Turns::new(None, workers, []);
            for _ in 0..workers {
                assert!(turns.admits(&account(0)));
                turns.take(&account(0));
            }
        }
    }

    proptest! {
        #[test]
        fn who_is_below_its_share_is_never_refused_while_another_above_its_own_is_admitted(
            workers in 1..64_usize, asked in vec(0..6_usize, 0..100),
        ) {
            let mut turns = Turns::new(None, workers, []);
            for number in asked {
                let used: usize = turns.runs.values().sum();
                if used == workers {
                    break;
                }
                let share = workers / (turns.runs.len() + 2).max(4);
                for other in 0..6 {
                    let own = turns.runs.get(&account(other)).copied().unwrap_or(0);
                    prop_assert!(own >= share.min(workers - used).max(1) || turns.admits(&account(other)));
                }
                if turns.admits(&account(number)) {
                    turns.take(&account(number));
                }
            }
        }
    }
}
