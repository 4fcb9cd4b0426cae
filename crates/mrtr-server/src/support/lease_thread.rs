//! A thread that renews leases on time, whatever becomes of the runtimes whose work they are for.

use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Renews leases from a thread of its own, all of them at once: a handler that blocks its thread, or the only thread of
/// its runtime, keeps what it holds. The thread starts with the first lease, and ends some time after the last.
///
/// ```
/// use std::time::{Duration, Instant};
/// use mrtr_server::extend::{LeaseEnd, LeaseThread, Renewal};
///
/// let lease = Duration::from_millis(40);
/// let leases = LeaseThread::new("renewals", lease, || Box::new(|keys: &[&str]| vec![Renewal::Renewed; keys.len()]));
/// let held = leases.hold("charge", Instant::now(), |end: LeaseEnd| println!("lost: {end:?}"));
/// // Nothing else runs meanwhile.
/// while held.confirmed().is_none() {
///     std::thread::sleep(Duration::from_millis(1));
/// }
/// ```
pub struct LeaseThread<K>(Arc<Shared<K>>);

/// Renews these leases, waiting for as long as that takes, and says of each how it went.
///
/// ```
/// use mrtr_server::extend::{RenewAll, Renewal};
///
/// let mut renew_all: RenewAll<u64> = Box::new(|ids| ids.iter().map(|_| Renewal::Renewed).collect());
/// assert_eq!(renew_all(&[1, 2]).len(), 2);
/// ```
pub type RenewAll<K> = Box<dyn FnMut(&[K]) -> Vec<Renewal> + Send>;

/// The outcome of one renewal of a lease.
///
/// ```
/// use mrtr_server::extend::Renewal;
///
/// assert_ne!(Renewal::Lost, Renewal::Failed);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a caller that misses one of them lets two runs go on")]
pub enum Renewal {
    /// The lease stands for another while.
    Renewed,
    /// The work that it was for has ended.
    Ended,
    /// Another holder has the lease.
    Lost,
    /// The outcome is not known: the store did not answer, or not in time.
    Failed,
}

/// The reason why a lease is not renewed any more.
///
/// ```
/// use mrtr_server::extend::LeaseEnd;
///
/// assert_ne!(LeaseEnd::Ended, LeaseEnd::Lost);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "it is gone in one of two ways")]
pub enum LeaseEnd {
    /// The work that it was for has ended.
    Ended,
    /// Another holder has the lease, or may soon: two thirds of it have passed without a renewal that was confirmed.
    Lost,
}

struct Shared<K> {
    name: &'static str,
    lease: Duration,
    connect: Box<dyn Fn() -> RenewAll<K> + Send + Sync>,
    state: Mutex<State<K>>,
    changed: Condvar,
}

struct State<K> {
    held: HashMap<u64, Entry<K>>,
    last: u64,
    is_running: bool,
    /// No lease is expected any more: the thread ends with the last.
    is_closed: bool,
}

struct Entry<K> {
    key: K,
    /// The time at which the store last said that it stands, at the latest.
    confirmed: Instant,
    is_confirmed: bool,
    /// Told once.
    told: Option<Box<dyn FnOnce(LeaseEnd) + Send>>,
}

impl<K: Clone + Send + 'static> LeaseThread<K> {
    /// Renews leases of this length. `connect` runs on the thread, each time that it starts, and returns the function
    /// that renews.
    pub fn new(name: &'static str, lease: Duration, connect: impl Fn() -> RenewAll<K> + Send + Sync + 'static) -> Self {
        let state = State { held: HashMap::new(), last: 0, is_running: false, is_closed: false };
        let connect = Box::new(connect);
        Self(Arc::new(Shared { name, lease, connect, state: Mutex::new(state), changed: Condvar::new() }))
    }

    /// Keeps a lease renewed for as long as the value lives. The store gave it at this moment or later. `told` runs on
    /// the thread.
    pub fn hold(&self, key: K, since: Instant, told: impl FnOnce(LeaseEnd) + Send + 'static) -> HeldLease<K> {
        let mut state = self.0.state();
        state.last += 1;
        let id = state.last;
        let entry = Entry { key, confirmed: since, is_confirmed: false, told: Some(Box::new(told)) };
        state.held.insert(id, entry);
        if !state.is_running {
            let shared = Arc::clone(&self.0);
            let started = thread::Builder::new().name(shared.name.to_owned()).spawn(move || shared.run());
            state.is_running = started.is_ok();
            if let Err(error) = started {
                tracing::error!(%error, "no thread for renewals could be started: each lease renews itself");
            }
        }
        HeldLease { shared: Arc::clone(&self.0), id }
    }

    /// Ends the thread as soon as it holds nothing.
    pub fn close(&self) {
        self.0.close();
    }
}

impl<K> Drop for LeaseThread<K> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl<K> fmt::Debug for LeaseThread<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseThread").field("name", &self.0.name).field("lease", &self.0.lease).finish_non_exhaustive()
    }
}

impl<K> Shared<K> {
    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }
}

impl<K: Clone> Shared<K> {
    fn run(&self) {
        let mut renew = None;
        let mut due = Instant::now() + self.pace();
        while let Some((ids, keys)) = self.wait(due) {
            let asked = Instant::now();
            let renewed = catch_unwind(AssertUnwindSafe(|| renew.get_or_insert_with(&self.connect)(&keys)));
            let renewed = renewed.unwrap_or_else(|_| {
                renew = None;
                vec![Renewal::Failed; keys.len()]
            });
            self.note(&ids, &renewed, asked);
            let has_failed = renewed.contains(&Renewal::Failed) || renewed.len() < keys.len();
            due = if has_failed { Instant::now() + RETRY.min(self.lease / 30) } else { asked + self.pace() };
        }
    }

    /// The time between renewals: somewhat shorter than the holders of the leases would choose themselves.
    fn pace(&self) -> Duration {
        self.lease / 4
    }

    /// Waits until leases are due, and returns those; nothing once there are no more leases.
    fn wait(&self, due: Instant) -> Option<(Vec<u64>, Vec<K>)> {
        let mut state = self.state();
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if state.held.is_empty() && (left.is_zero() || state.is_closed) {
                state.is_running = false;
                return None;
            }
            if left.is_zero() {
                let lives = state.held.iter().filter(|(_, entry)| entry.told.is_some());
                return Some(lives.map(|(id, entry)| (*id, entry.key.clone())).unzip());
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn note(&self, ids: &[u64], renewed: &[Renewal], asked: Instant) {
        let mut ends = Vec::new();
        let mut state = self.state();
        for (id, renewal) in ids.iter().zip(renewed) {
            let Some(entry) = state.held.get_mut(id) else { continue };
            match renewal {
                Renewal::Renewed => (entry.confirmed, entry.is_confirmed) = (asked, true),
                Renewal::Ended => ends.extend(entry.told.take().map(|told| (told, LeaseEnd::Ended))),
                Renewal::Lost => ends.extend(entry.told.take().map(|told| (told, LeaseEnd::Lost))),
                Renewal::Failed => {}
            }
        }
        let now = Instant::now();
        for entry in state.held.values_mut() {
            if now.saturating_duration_since(entry.confirmed) >= self.lease * 2 / 3 {
                ends.extend(entry.told.take().map(|told| (told, LeaseEnd::Lost)));
            }
        }
        drop(state);
        for (told, end) in ends {
            told(end);
        }
    }
}

/// A lease that is renewed for as long as this value lives.
///
/// ```
/// use mrtr_server::extend::HeldLease;
///
/// fn is_young(held: &HeldLease<u64>) -> bool {
///     held.confirmed().is_some_and(|moment| moment.elapsed().as_secs() < 10)
/// }
/// ```
pub struct HeldLease<K> {
    shared: Arc<Shared<K>>,
    id: u64,
}

impl<K> HeldLease<K> {
    /// The time at which the thread last asked for a renewal that was confirmed.
    pub fn confirmed(&self) -> Option<Instant> {
        let state = self.shared.state();
        state.held.get(&self.id).filter(|entry| entry.is_confirmed).map(|entry| entry.confirmed)
    }

    /// Notes that the work itself renewed the lease, and asked for that at this moment.
    pub fn was_renewed(&self, asked: Instant) {
        if let Some(entry) = self.shared.state().held.get_mut(&self.id) {
            entry.confirmed = entry.confirmed.max(asked);
        }
    }
}

impl<K> Drop for HeldLease<K> {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.held.remove(&self.id);
        if state.held.is_empty() && state.is_closed {
            self.shared.changed.notify_all();
        }
    }
}

impl<K> fmt::Debug for HeldLease<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldLease").finish_non_exhaustive()
    }
}

/// The time that the thread waits after a renewal that failed, if the lease leaves it the time.
const RETRY: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const LEASE: Duration = Duration::from_millis(120);

    fn leases(
        renew: impl Fn(&[&'static str]) -> Vec<Renewal> + Send + Sync + Clone + 'static,
    ) -> LeaseThread<&'static str> {
        LeaseThread::new("test-renewals", LEASE, move || {
            let renew = renew.clone();
            Box::new(move |keys| renew(keys))
        })
    }

    #[test]
    fn all_that_is_held_is_renewed_at_once_until_it_is_let_go() {
        let (said, heard) = mpsc::channel();
        let leases = leases(move |keys| {
            let mut keys = keys.to_vec();
            keys.sort_unstable();
            drop(said.send(keys.clone()));
            vec![Renewal::Renewed; keys.len()]
        });
        let hold = |key| leases.hold(key, Instant::now(), |_| panic!("it was renewed"));
        let (one, two) = (hold("one"), hold("two"));
        assert_eq!(heard.recv().unwrap(), ["one", "two"]);
        drop(one);
        while heard.recv().unwrap() != ["two"] {}
        assert!(two.confirmed().is_some());
        drop(two);
        leases.close();
        while leases.0.state().is_running {
            thread::yield_now();
        }
    }

    #[test]
    fn what_the_store_says_of_a_lease_is_told_once() {
        for (renewal, end) in [(Renewal::Ended, LeaseEnd::Ended), (Renewal::Lost, LeaseEnd::Lost)] {
            let leases = leases(move |keys| vec![renewal; keys.len()]);
            let (said, heard) = mpsc::channel();
            let _held = leases.hold("one", Instant::now(), move |end| said.send(end).unwrap());
            assert_eq!(heard.recv(), Ok(end));
            assert!(heard.recv().is_err(), "the one who tells is gone");
        }
    }

    #[test]
    fn a_lease_that_cannot_be_renewed_is_lost_before_it_is_over_whether_the_store_fails_or_panics() {
        for panics in [false, true] {
            let leases =
                leases(move |keys| if panics { panic!("on purpose") } else { vec![Renewal::Failed; keys.len()] });
            let (said, heard) = mpsc::channel();
            let began = Instant::now();
            let _held = leases.hold("one", began, move |end| said.send((end, Instant::now())).unwrap());
            let (end, told) = heard.recv().unwrap();
            assert_eq!(end, LeaseEnd::Lost);
            assert!(told - began >= LEASE * 2 / 3);
        }
    }

    /// The thread's own first look is far away.
    #[test]
    fn a_lease_is_lost_once_two_thirds_of_it_have_passed_without_a_renewal_and_no_sooner() {
        let lease = Duration::from_mins(10);
        let now = Instant::now();
        for (passed, is_lost) in [(lease / 2, false), (lease * 2 / 3, true)] {
            let leases = LeaseThread::new("test-renewals", lease, || Box::new(|_: &[u8]| Vec::new()));
            let (said, heard) = mpsc::channel();
            let _held = leases.hold(1, now.checked_sub(passed).unwrap(), move |end| said.send(end).unwrap());
            leases.0.note(&[], &[], now);
            assert_eq!(heard.try_recv().ok(), is_lost.then_some(LeaseEnd::Lost), "after {passed:?}");
        }
    }

    #[test]
    fn a_thread_that_had_nothing_to_do_is_started_again() {
        let leases = leases(|keys| vec![Renewal::Renewed; keys.len()]);
        for _ in 0..2 {
            let held = leases.hold("one", Instant::now(), |_| panic!("it was renewed"));
            while held.confirmed().is_none() {
                thread::yield_now();
            }
            drop(held);
            while leases.0.state().is_running {
                thread::yield_now();
            }
        }
    }

    #[test]
    fn a_quarter_of_the_lease_passes_before_each_renewal() {
        let (said, heard) = mpsc::channel();
        let leases = leases(move |keys| {
            said.send(()).ok();
            vec![Renewal::Renewed; keys.len()]
        });
        let began = Instant::now();
        let _held = leases.hold("one", began, |_| {});
        for _ in 0..8 {
            heard.recv().unwrap();
        }
        assert!(began.elapsed() >= LEASE * 2, "{:?}", began.elapsed());
    }

    /// Measures the time until `times` renewals have failed of a lease that its work renews itself, and that is not
    /// lost.
    fn time_to_fail(lease: Duration, answer: Vec<Renewal>, times: usize) -> Duration {
        let (said, heard) = mpsc::channel();
        let leases = LeaseThread::new("test-renewals", lease, move || {
            let (said, answer) = (said.clone(), answer.clone());
            Box::new(move |_| {
                said.send(()).ok();
                answer.clone()
            })
        });
        let (tell, told) = mpsc::channel();
        let began = Instant::now();
        let held = leases.hold("one", began, move |end| tell.send(end).unwrap());
        held.was_renewed(began + Duration::from_hours(1));
        for _ in 0..times {
            heard.recv().unwrap();
        }
        assert_eq!(told.try_recv(), Err(mpsc::TryRecvError::Empty), "it was renewed otherwise");
        began.elapsed()
    }

    #[test]
    fn a_renewal_that_failed_is_tried_again_after_a_thirtieth_of_the_lease() {
        let took = time_to_fail(LEASE, vec![Renewal::Failed], 31);
        assert!(took >= LEASE / 4 + LEASE, "{took:?}");
        assert!(took < RETRY * 25, "{took:?}");
    }

    #[test]
    fn one_that_was_not_answered_for_has_failed() {
        let lease = Duration::from_secs(3);
        for answer in [vec![Renewal::Failed], Vec::new()] {
            let took = time_to_fail(lease, answer, 6);
            assert!(took < lease * 5 / 4, "six at a quarter of the lease would take longer: {took:?}");
        }
    }

    #[test]
    fn a_thread_that_is_closed_or_dropped_ends_as_soon_as_it_holds_nothing() {
        for is_dropped in [false, true] {
            let leases = LeaseThread::new("test-renewals", Duration::from_hours(1), || Box::new(|_: &[u8]| Vec::new()));
            let shared = Arc::clone(&leases.0);
            let held = leases.hold(1, Instant::now(), |_| {});
            if is_dropped {
                drop(leases);
            } else {
                leases.close();
            }
            drop(held);
            let latest = Instant::now() + Duration::from_secs(30);
            while shared.state().is_running {
                assert!(Instant::now() < latest, "dropped: {is_dropped}");
                thread::yield_now();
            }
        }
    }
}
