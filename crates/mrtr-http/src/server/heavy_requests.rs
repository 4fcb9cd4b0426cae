//! Requests that take long to read or to answer run a few at a time, in turns over callers, beside the threads that
//! serve the others.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::thread::available_parallelism;

use mrtr_server::transport::CallerKey;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;

/// The size of a message above which reading or writing it takes milliseconds, in which a thread of the runtime serves
/// no other request.
const HEAVY: usize = 128 << 10;
/// The number of requests of a caller that count as heavy after a large reply to it: the caller may ask for another.
const FOLLOWING: usize = 32;
/// The most callers to remember after a large reply. What is remembered is only a hint, so the server forgets all
/// callers if there are more.
const MOST_CALLERS: usize = 1024;

/// The turns in which heavy requests begin: those with a large body, and those of a caller whose last replies were
/// large.
///
/// The system divides cores between threads, not between the tasks of a thread. So a heavy request begins on a thread
/// that serves nothing else meanwhile, where it takes time from others only as one thread among others does. Such
/// threads would soon outnumber those that serve, so there are few of them, and callers take turns at them: however
/// many requests one caller has, another caller waits for one of them only.
#[derive(Clone)]
pub(super) struct HeavyRequests(Arc<Inner>);

struct Inner {
    /// The number of callers that are remembered. It is mostly zero, and then requests look no further.
    remembered: AtomicUsize,
    state: Mutex<State>,
}

struct State {
    free: usize,
    /// The callers that wait, the next one first, each with its requests that wait.
    waiting: VecDeque<(Arc<CallerKey>, VecDeque<oneshot::Sender<Turn>>)>,
    /// The callers that got a large reply, each with the number of its next requests that count as heavy.
    following: HashMap<Arc<CallerKey>, usize>,
}

/// A turn, which goes to the next request that waits when it is dropped.
pub(super) struct Turn(Option<HeavyRequests>);

impl HeavyRequests {
    pub(super) fn new() -> Self {
        // The other half of the cores serves other requests.
        Self::at_once((available_parallelism().map_or(1, NonZeroUsize::get) / 2).max(1))
    }

    fn at_once(free: usize) -> Self {
        let state = Mutex::new(State { free, waiting: VecDeque::new(), following: HashMap::new() });
        Self(Arc::new(Inner { remembered: AtomicUsize::new(0), state }))
    }

    /// Counts a request of this caller, and returns true if it is to wait for a turn.
    pub(super) fn count(&self, body: usize, caller: &Arc<CallerKey>) -> bool {
        body > HEAVY || (self.0.remembered.load(Ordering::Relaxed) > 0 && self.count_following(caller))
    }

    #[cold]
    fn count_following(&self, caller: &Arc<CallerKey>) -> bool {
        let mut state = self.state();
        let Some(left) = state.following.get_mut(caller) else { return false };
        *left -= 1;
        if *left == 0 {
            state.following.remove(caller);
            self.0.remembered.store(state.following.len(), Ordering::Relaxed);
        }
        true
    }

    /// Takes note of the size of a reply to this caller.
    pub(super) fn note_reply(&self, bytes: usize, caller: &Arc<CallerKey>) {
        if bytes > HEAVY {
            self.remember(caller);
        }
    }

    #[cold]
    fn remember(&self, caller: &Arc<CallerKey>) {
        let mut state = self.state();
        if state.following.len() >= MOST_CALLERS {
            state.following.clear();
        }
        state.following.insert(Arc::clone(caller), FOLLOWING);
        self.0.remembered.store(state.following.len(), Ordering::Relaxed);
    }

    /// Waits for a turn of this caller.
    pub(super) async fn turn(&self, caller: &Arc<CallerKey>) -> Turn {
        let receiver = {
            let mut state = self.state();
            if state.free > 0 {
                state.free -= 1;
                return Turn(Some(self.clone()));
            }
            let (sender, receiver) = oneshot::channel();
            match state.waiting.iter_mut().find(|(waiting, _)| waiting == caller) {
                Some((_, senders)) => senders.push_back(sender),
                None => state.waiting.push_back((Arc::clone(caller), VecDeque::from([sender]))),
            }
            receiver
        };
        // Each sender is sent a turn, for only a turn takes it out of the queue.
        receiver.await.unwrap_or(Turn(None))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes out the next request that waits. Its caller goes behind all others.
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        let (caller, mut senders) = self.waiting.pop_front()?;
        let next = senders.pop_front();
        if !senders.is_empty() {
            self.waiting.push_back((caller, senders));
        }
        next
    }
}

impl Turn {
    /// Polls a future for the first time, where its work is in the way of nothing else, and returns its output if it is
    /// ready.
    pub(super) async fn poll_first<F: Future>(self, mut future: Pin<&mut F>) -> Option<F::Output> {
        let polled = std::future::poll_fn(|context| Poll::Ready(aside(|| future.as_mut().poll(context)))).await;
        match polled {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(requests) = self.0.take() else { return };
        let mut turn = Self(Some(requests.clone()));
        loop {
            let mut state = requests.state();
            let Some(next) = state.next() else {
                state.free += 1;
                turn.0 = None;
                return;
            };
            drop(state);
            match next.send(turn) {
                Ok(()) => return,
                // Its request is gone.
                Err(unwanted) => turn = unwanted,
            }
        }
    }
}

/// Runs work that takes long. Another thread serves the runtime's other tasks meanwhile, if the runtime has several.
fn aside<T>(work: impl FnOnce() -> T) -> T {
    let can_move = Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if can_move { tokio::task::block_in_place(work) } else { work() }
}

impl fmt::Debug for HeavyRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeavyRequests").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;

    fn caller(name: u8) -> Arc<CallerKey> {
        Arc::new(CallerKey::opaque([name]))
    }

    fn one_at_a_time() -> HeavyRequests {
        HeavyRequests::at_once(1)
    }

    #[tokio::test]
    async fn callers_take_turns_whatever_each_of_them_waits_with() {
        let (requests, ann, bob) = (one_at_a_time(), caller(1), caller(2));
        let first = requests.turn(&ann).await;
        let (mut second, mut third) = (pin!(requests.turn(&ann)), pin!(requests.turn(&ann)));
        let mut other = pin!(requests.turn(&bob));
        for waiting in [second.as_mut().now_or_never(), third.as_mut().now_or_never(), other.as_mut().now_or_never()] {
            assert!(waiting.is_none(), "there is one turn");
        }
        drop(first);
        let second = second.now_or_never().expect("it has waited longest");
        assert!(third.as_mut().now_or_never().is_none());
        drop(second);
        assert!(third.as_mut().now_or_never().is_none(), "its caller had a turn");
        drop(other.now_or_never().expect("another caller has waited"));
        drop(third.now_or_never().expect("and now it is its turn"));
        assert_eq!(requests.state().free, 1);
    }

    #[tokio::test]
    async fn a_turn_that_is_not_wanted_any_more_goes_on() {
        let (requests, ann) = (one_at_a_time(), caller(1));
        let first = requests.turn(&ann).await;
        let mut given_up = Box::pin(requests.turn(&ann));
        let mut given_up_late = Box::pin(requests.turn(&ann));
        let mut last = pin!(requests.turn(&ann));
        assert!(given_up.as_mut().now_or_never().is_none());
        assert!(given_up_late.as_mut().now_or_never().is_none());
        assert!(last.as_mut().now_or_never().is_none());
        drop(given_up);
        drop(first);
        assert!(last.as_mut().now_or_never().is_none(), "the one before it was given the turn");
        drop(given_up_late);
        drop(last.now_or_never().expect("it was not taken"));
        assert_eq!(requests.state().free, 1);
    }

    #[test]
    fn requests_after_a_large_reply_count_as_heavy_for_a_while() {
        let (requests, ann, bob) = (one_at_a_time(), caller(1), caller(2));
        assert!(!requests.count(HEAVY, &ann));
        assert!(requests.count(HEAVY + 1, &ann), "its body is large");
        requests.note_reply(HEAVY, &ann);
        assert!(!requests.count(0, &ann));
        requests.note_reply(HEAVY + 1, &ann);
        assert_eq!((0..2 * FOLLOWING).filter(|_| requests.count(0, &ann)).count(), FOLLOWING);
        assert!(!requests.count(0, &bob), "another caller was sent none");
        for name in 0..=MOST_CALLERS {
            requests.note_reply(HEAVY + 1, &Arc::new(CallerKey::opaque(name.to_ne_bytes())));
        }
        assert!(requests.state().following.len() <= MOST_CALLERS);
        assert_eq!(requests.0.remembered.load(Ordering::Relaxed), requests.state().following.len());
    }

    /// On a single thread, what is read aside does not hold up the timer of another task.
    #[test]
    fn what_is_read_aside_is_in_the_way_of_nothing_else() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
        runtime.block_on(async {
            let (go_on, wait) = std::sync::mpsc::channel();
            let reading = tokio::spawn(async move {
                let turn = one_at_a_time().turn(&caller(1)).await;
                let read = pin!(async move { wait.recv_timeout(Duration::from_secs(10)).is_ok() });
                turn.poll_first(read).await
            });
            let other = tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                go_on.send(()).unwrap();
            });
            other.await.unwrap();
            assert_eq!(reading.await.unwrap(), Some(true), "the other task ran meanwhile");
        });
    }
}
