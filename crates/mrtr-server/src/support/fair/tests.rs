//! Any sequence of requests, offers and returns, held against the rule; and threads that do all of it at once.

use std::sync::atomic::AtomicBool;

use proptest::prelude::*;

use super::*;

const CALLERS: usize = 6;

#[derive(Debug, Clone)]
enum Action {
    Take { caller: usize, units: usize },
    Charge { caller: usize, units: usize },
    Resize { at: usize, units: usize },
    Offer { at: usize },
    Keep { at: usize },
    Drop { at: usize },
}

fn any_action(most: usize) -> impl Strategy<Value = Action> {
    let (caller, units) = (0..CALLERS, 0..=most);
    prop_oneof![
        6 => (caller.clone(), units.clone()).prop_map(|(caller, units)| Action::Take { caller, units }),
        1 => (caller, units.clone()).prop_map(|(caller, units)| Action::Charge { caller, units }),
        1 => (any::<usize>(), units).prop_map(|(at, units)| Action::Resize { at, units }),
        3 => any::<usize>().prop_map(|at| Action::Offer { at }),
        1 => any::<usize>().prop_map(|at| Action::Keep { at }),
        3 => any::<usize>().prop_map(|at| Action::Drop { at }),
    ]
}

impl Action {
    /// The caller that takes something.
    fn caller(&self, world: &World) -> Option<usize> {
        match *self {
            Self::Take { caller, .. } | Self::Charge { caller, .. } => Some(caller),
            Self::Resize { at, .. } => at.checked_rem(world.held.len()).map(|at| world.held[at].caller),
            Self::Offer { .. } | Self::Keep { .. } | Self::Drop { .. } => None,
        }
    }
}

/// A holding, as the test knows it.
struct Held {
    caller: usize,
    holding: Holding,
    is_offered: bool,
    ended: Arc<AtomicBool>,
}

struct World {
    pool: FairPool,
    accounts: Vec<Account>,
    held: Vec<Held>,
    /// True if something was charged beyond the capacity.
    is_overdrawn: bool,
}

impl World {
    fn new(capacity: usize) -> Self {
        let pool = FairPool::new(capacity);
        let accounts =
            (0..CALLERS).map(|caller| pool.account(&CallerKey::opaque([u8::try_from(caller).expect("few")])));
        let accounts = accounts.collect();
        Self { pool, accounts, held: Vec::new(), is_overdrawn: false }
    }

    fn is_ended(held: &Held) -> bool {
        held.ended.load(Ordering::Relaxed)
    }

    /// The units of a caller, by what it holds and was not taken.
    fn units(&self, caller: usize) -> usize {
        let own = self.held.iter().filter(|held| held.caller == caller && !Self::is_ended(held));
        own.map(|held| held.holding.units()).sum()
    }

    /// The share of each, once this caller has something: an equal part for all holders and one more, at most a
    /// quarter, one at least.
    fn share(&self, caller: usize) -> usize {
        let holders = (0..CALLERS).filter(|other| *other == caller || self.units(*other) > 0).count();
        (self.pool.capacity() / (holders + 1).max(4)).max(1)
    }

    fn is_below_share(&self, caller: usize) -> bool {
        self.units(caller) < self.share(caller)
    }

    fn push(&mut self, caller: usize, holding: Holding) {
        self.held.push(Held { caller, holding, is_offered: false, ended: Arc::default() });
    }

    fn act(&mut self, action: &Action) -> Result<(), TestCaseError> {
        let before: Vec<_> = (0..CALLERS).map(|caller| self.units(caller)).collect();
        let share = self.share(action.caller(self).unwrap_or(CALLERS));
        let ended: Vec<_> = self.held.iter().map(Self::is_ended).collect();
        match *action {
            Action::Take { caller, units } => self.take(caller, units)?,
            Action::Charge { caller, units } => {
                let holding = self.accounts[caller].charge(units);
                self.push(caller, holding);
                self.is_overdrawn = self.pool.used() > self.pool.capacity();
                let is_more_offered = self.held.iter().any(|held| held.is_offered && !Self::is_ended(held));
                prop_assert!(!self.is_overdrawn || !is_more_offered, "all that is offered makes way");
            }
            Action::Resize { at, units } => {
                if let Some(held) = self.at(at) {
                    let was = held.holding.units();
                    let is_taken = Self::is_ended(held);
                    let resized = held.holding.resize(units);
                    prop_assert!(!is_taken || resized.is_err(), "what was taken has no units");
                    prop_assert_eq!(held.holding.units(), if resized.is_ok() { units } else { was });
                    held.is_offered = is_taken;
                }
            }
            Action::Offer { at } => {
                if let Some(held) = self.at(at) {
                    let ended = Arc::clone(&held.ended);
                    held.is_offered = held.is_offered || held.holding.units() > 0;
                    held.holding.offer(move || ended.store(true, Ordering::Relaxed));
                }
            }
            Action::Keep { at } => {
                if let Some(held) = self.at(at) {
                    prop_assert_eq!(held.holding.keep(), !Self::is_ended(held));
                    held.is_offered = Self::is_ended(held);
                }
            }
            Action::Drop { at } => {
                if !self.held.is_empty() {
                    drop(self.held.swap_remove(at % self.held.len()));
                    return self.check();
                }
            }
        }
        for (held, was_ended) in self.held.iter().zip(ended) {
            prop_assert!(held.is_offered || !Self::is_ended(held), "what was not offered is never ended");
            let units = before[held.caller];
            let is_charge = matches!(action, Action::Charge { .. } | Action::Offer { .. });
            let made_way = Self::is_ended(held) && !was_ended;
            prop_assert!(!made_way || is_charge || units > share, "{units} units within the share made way");
        }
        self.check()
    }

    fn take(&mut self, caller: usize, units: usize) -> Result<(), TestCaseError> {
        let was_below = self.is_below_share(caller);
        let (used, capacity) = (self.pool.used(), self.pool.capacity());
        let (open, reserved) = (capacity - capacity / 4, capacity / 4);
        if let Ok(holding) = self.accounts[caller].take(units) {
            prop_assert!(used + units <= open || was_below, "the last quarter is for callers below their share");
            self.push(caller, holding);
            return Ok(());
        }
        prop_assert!(used + units > open, "there is room for whoever comes");
        if was_below && units <= reserved.max(1) {
            for other in (0..CALLERS).filter(|other| !self.is_below_share(*other)) {
                prop_assert!(self.accounts[other].take(1).is_err(), "one above its share is admitted instead");
            }
        }
        Ok(())
    }

    fn at(&mut self, at: usize) -> Option<&mut Held> {
        at.checked_rem(self.held.len()).and_then(|at| self.held.get_mut(at))
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        let units: Vec<_> = (0..CALLERS).map(|caller| self.units(caller)).collect();
        let counted: Vec<_> = self.accounts.iter().map(Account::used).collect();
        prop_assert_eq!(&units, &counted);
        prop_assert_eq!(self.pool.used(), units.iter().sum::<usize>());
        self.is_overdrawn &= self.pool.used() > self.pool.capacity();
        prop_assert!(self.is_overdrawn || self.pool.used() <= self.pool.capacity());
        let holders = units.iter().filter(|units| **units > 0).count();
        prop_assert_eq!(self.pool.0.holders.load(Ordering::Relaxed), holders);
        Ok(())
    }
}

proptest! {
    #[test]
    fn a_caller_below_its_share_is_not_refused_for_one_above_it(
        capacity in 1_usize..40,
        actions in prop::collection::vec(any_action(9), 0..80),
    ) {
        let mut world = World::new(capacity);
        for action in &actions {
            world.act(action)?;
        }
        drop(world.held);
        prop_assert_eq!(world.pool.used(), 0);
    }
}

#[test]
fn the_largest_holder_makes_way_first_and_its_oldest_offer_before_others() {
    let pool = FairPool::new(16);
    let [large, small, new] = [b"l", b"s", b"n"].map(|name| pool.account(&CallerKey::opaque(*name)));
    let ended = Arc::new(Mutex::new(Vec::new()));
    let offered = |account: &Account, units, name: &'static str| {
        let mut holding = account.take(units).expect("there is room");
        let ended = Arc::clone(&ended);
        holding.offer(move || ended.lock().expect("no test panics in it").push(name));
        holding
    };
    let _held = [offered(&small, 5, "small"), offered(&large, 3, "first"), offered(&large, 4, "second")];
    let fill = [new.take(3), new.take(1)];
    assert!(fill.iter().all(Result::is_ok), "a caller below its share has the last quarter");
    assert_eq!(*ended.lock().expect("unpoisoned"), Vec::<&str>::new(), "nothing makes way while there is room");
    drop(fill);
    let _new = new.take(3).expect("it is below its share");
    let _more = new.take(2).expect("so it is still");
    assert_eq!(*ended.lock().expect("unpoisoned"), ["first"]);
}

#[test]
fn threads_that_take_and_make_way_leave_a_pool_as_it_was() {
    let pool = FairPool::new(64);
    std::thread::scope(|scope| {
        for thread in 0_u8..8 {
            let account = pool.account(&CallerKey::opaque([thread % 5]));
            let pool = &pool;
            scope.spawn(move || {
                let mut held = std::collections::VecDeque::new();
                for turn in 0..20_000_usize {
                    if let Ok(mut holding) = account.take(turn % 7) {
                        if turn % 3 == 0 {
                            holding.offer(|| {});
                        }
                        held.push_back(holding);
                    }
                    assert!(pool.used() <= pool.capacity());
                    if held.len() > 5 {
                        held.pop_front();
                    }
                }
            });
        }
    });
    assert_eq!((pool.used(), pool.0.holders.load(Ordering::Relaxed)), (0, 0));
    assert!(pool.accounts().is_empty(), "accounts end with their last handle");
}

#[test]
fn addresses_count_by_what_one_customer_has() {
    let key = |text: &str| CallerKey::address(text.parse().expect("an address"));
    assert_eq!(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::9"));
    assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
    assert_eq!(key("192.0.2.1"), key("::ffff:192.0.2.1"));
    assert_ne!(key("192.0.2.1"), key("192.0.2.2"));
}
