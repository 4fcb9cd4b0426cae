//! Large bodies are read a few at a time, in turns over callers, beside the threads that serve everybody else.

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::thread::available_parallelism;

use mrtr_server::transport::CallerKey;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;

/// A body above this takes milliseconds to read, in which a thread of the runtime serves no other request.
pub(super) const LARGE_BODY: usize = 128 << 10;

/// The turns in which large bodies are read.
///
/// The system divides cores between threads, not between the tasks of one: reading happens where it takes time from other
/// requests only as one thread among others does. Since threads that read would outnumber those that serve, there are few,
/// and callers take turns at them: many bodies of one caller keep another's waiting for one of them.
#[derive(Clone)]
pub(super) struct LargeBodies(Arc<Mutex<State>>);

struct State {
    free: usize,
    /// Callers that wait, the next one first, each with what it waits with.
    waiting: VecDeque<(Arc<CallerKey>, VecDeque<oneshot::Sender<Turn>>)>,
}

/// A turn, which goes to the next who waits when it is dropped.
pub(super) struct Turn(Option<LargeBodies>);

impl LargeBodies {
    pub(super) fn new() -> Self {
        // Half of the cores are left to other requests.
        let free = (available_parallelism().map_or(1, NonZeroUsize::get) / 2).max(1);
        Self(Arc::new(Mutex::new(State { free, waiting: VecDeque::new() })))
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The next who waits. Its caller goes behind all others.
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
    /// Polls a future for the first time, where reading its body is in the way of nothing else. What is ready is given.
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
        let Some(bodies) = self.0.take() else { return };
        let mut turn = Self(Some(bodies.clone()));
        loop {
            let mut state = bodies.state();
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

/// Runs something that takes its time. Another thread serves the runtime's other tasks meanwhile, if there can be one.
fn aside<T>(work: impl FnOnce() -> T) -> T {
    let can_move = Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if can_move { tokio::task::block_in_place(work) } else { work() }
}

impl fmt::Debug for LargeBodies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LargeBodies").finish_non_exhaustive()
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

    fn one_at_a_time() -> LargeBodies {
        LargeBodies(Arc::new(Mutex::new(State { free: 1, waiting: VecDeque::new() })))
    }

    #[tokio::test]
    async fn callers_take_turns_whatever_each_of_them_waits_with() {
        let (bodies, ann, bob) = (one_at_a_time(), caller(1), caller(2));
        let first = bodies.turn(&ann).await;
        let (mut second, mut third) = (pin!(bodies.turn(&ann)), pin!(bodies.turn(&ann)));
        let mut other = pin!(bodies.turn(&bob));
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
        assert_eq!(bodies.state().free, 1);
    }

    #[tokio::test]
    async fn a_turn_that_is_not_wanted_any_more_goes_on() {
        let (bodies, ann) = (one_at_a_time(), caller(1));
        let first = bodies.turn(&ann).await;
        let mut given_up = Box::pin(bodies.turn(&ann));
        let mut given_up_late = Box::pin(bodies.turn(&ann));
        let mut last = pin!(bodies.turn(&ann));
        assert!(given_up.as_mut().now_or_never().is_none());
        assert!(given_up_late.as_mut().now_or_never().is_none());
        assert!(last.as_mut().now_or_never().is_none());
        drop(given_up);
        drop(first);
        assert!(last.as_mut().now_or_never().is_none(), "the one before it was given the turn");
        drop(given_up_late);
        drop(last.now_or_never().expect("it was not taken"));
        assert_eq!(bodies.state().free, 1);
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
