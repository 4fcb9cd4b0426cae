//! The runner: it polls a handler until the handler is done, or until nothing but questions is left. It also watches
//! the time of the run, and has limited patience with steps that the handler leaves unpolled.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::contained::Contained;
use super::outcome::RunReport;
use super::pace::poll_apart;
use super::sink::Recorder;
use super::state::{ActiveRun, Rest, Unpolled};
use crate::error::Failure;
use crate::support::clock::Clock;

/// Runs the future that a handler makes of a run. The output of a handler that returned while a question was open does
/// not count.
///
/// The caller makes the run, since a journal and a context are large, and would be moved into this future otherwise.
pub(crate) async fn run_to_its_end<T, H>(handler: H, run: Arc<ActiveRun>) -> RunReport<T>
where
    H: AsyncFnOnce(Arc<ActiveRun>) -> Result<T, Failure>,
{
    let mut deadline = Deadline::new(&*run.context.environment.clock, run.context.deadline);
    let mut handler = pin!(Contained::new(async { handler(Arc::clone(&run)).await }));
    // If this future is dropped, the runner gives up, and not the handler. It is dropped before the handler is.
    let given_up = Closing(&run);
    let mut recorder = Recorder::default();
    // Polled only so that it wakes this task: the loop below and each call on the flow check whether it was raised.
    let mut stopping = run.context.stop.clone().map(|signal| Box::pin(async move { signal.wait().await }));
    let mut unpolled = UnpolledSince::new(&*run.context.environment.clock);
    let (mut seen, mut turn) = (0, 0_u32);
    let returned = poll_fn(|cx| {
        run.pace.begin();
        loop {
            turn = turn.wrapping_add(1);
            match run.in_body(turn, || handler.as_mut().poll(cx)) {
                Poll::Ready(Ok(returned)) => return Poll::Ready(Some(returned)),
                Poll::Ready(Err(panicked)) => {
                    run.panicked(&panicked);
                    return Poll::Ready(None);
                }
                Poll::Pending => {}
            }
            let gave_way = run.pace.take_gave_way();
            if gave_way {
                // The call that gave way is not relied on to wake the task: the handler may have dropped it.
                cx.waker().wake_by_ref();
            }
            // The entries that the sink has kept may let a step begin, or its handler continue.
            if recorder.poll(&run, cx).is_ready() && !gave_way {
                continue;
            }
            if stopping.as_mut().is_some_and(|stopping| poll_apart(stopping.as_mut(), cx).is_ready()) {
                stopping = None;
            }
            match run.rest(cx.waker(), gave_way) {
                // Once more, until no new question appears: what was just answered may have opened the next branch.
                Rest::At(turns) if recorder.is_idle() && turns > seen => seen = turns,
                Rest::At(_) if recorder.is_idle() => return Poll::Ready(None),
                Rest::AfterSteps if unpolled.look(&run, cx) => {}
                rest => {
                    if !matches!(rest, Rest::AfterSteps) {
                        unpolled.forget();
                    }
                    if deadline.poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    run.fail_overdue();
                    return Poll::Ready(None);
                }
            }
        }
    })
    .await;
    if !run.close_if_idle() {
        outlast_steps(&run, &mut recorder, &mut deadline).await;
    }
    std::mem::forget(given_up);
    if let Err(panicked) = handler.as_mut().clear() {
        run.panicked_at_its_end(&panicked);
    }
    if run.context.sink.is_some() {
        let mut deadline = Deadline::new(&*run.context.environment.clock, run.context.deadline);
        if deadline.bound(recorder.finish(&run)).await.is_none() {
            run.fail_overdue();
        }
    }
    run.finish(returned)
}

/// Closes the flow when it is dropped.
struct Closing<'a>(&'a ActiveRun);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Waits for a step that the handler has let out of its hands, and closes the flow: such a step must have no effect
/// after the reply.
async fn outlast_steps(run: &ActiveRun, recorder: &mut Recorder, deadline: &mut Deadline<'_>) {
    let idle = poll_fn(|cx| {
        while recorder.poll(run, cx).is_ready() {}
        run.poll_idle(cx.waker())
    });
    if !deadline.has_passed() && deadline.bound(idle).await.is_none() {
        run.fail_overdue();
    }
    run.close();
}

/// The end of a run's time. It counts from the moment at which the handler first waits for something: most handlers
/// never wait, and need no timer.
struct Deadline<'a> {
    clock: &'a dyn Clock,
    limit: Duration,
    timer: Timer<'a>,
}

enum Timer<'a> {
    Unset,
    Set(Pin<Box<dyn Future<Output = ()> + Send + 'a>>),
    Passed,
}

impl<'a> Deadline<'a> {
    fn new(clock: &'a dyn Clock, limit: Duration) -> Self {
        Self { clock, limit, timer: Timer::Unset }
    }

    fn has_passed(&self) -> bool {
        matches!(self.timer, Timer::Passed)
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Timer::Unset = self.timer {
            self.timer = Timer::Set(self.clock.sleep(self.limit));
        }
        if let Timer::Set(sleep) = &mut self.timer {
            std::task::ready!(poll_apart(sleep.as_mut(), cx));
            self.timer = Timer::Passed;
        }
        Poll::Ready(())
    }

    /// Waits for something until then; `None` if it has not come by then.
    async fn bound<F: Future>(&mut self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => self.poll(cx).map(|()| None),
        })
        .await
    }
}

/// The time for which a handler may leave a woken step or check unpolled.
const PATIENCE: Duration = Duration::from_secs(1);

/// The steps and checks that are unpolled now, each since a moment of its own.
struct UnpolledSince<'a> {
    clock: &'a dyn Clock,
    since: Vec<Since<'a>>,
}

struct Since<'a> {
    unpolled: Unpolled,
    patience: Pin<Box<dyn Future<Output = ()> + Send + 'a>>,
}

impl<'a> UnpolledSince<'a> {
    fn new(clock: &'a dyn Clock) -> Self {
        Self { clock, since: Vec::new() }
    }

    /// Forgets them all: nothing waits for any of them.
    fn forget(&mut self) {
        self.since.clear();
    }

    /// Looks which are unpolled, after the handler has returned. The run gives up those that have been unpolled for too
    /// long. Returns true if it gave any up.
    fn look(&mut self, run: &ActiveRun, cx: &mut Context<'_>) -> bool {
        let unpolled = run.unpolled();
        self.since.retain(|since| unpolled.contains(&since.unpolled));
        for unpolled in unpolled {
            if self.since.iter().all(|since| since.unpolled != unpolled) {
                self.since.push(Since { unpolled, patience: self.clock.sleep(PATIENCE) });
            }
        }
        let mut gave_up = false;
        self.since.retain_mut(|since| {
            let is_over = poll_apart(since.patience.as_mut(), cx).is_ready();
            if is_over {
                run.give_up_unpolled(&since.unpolled);
                gave_up = true;
            }
            !is_over
        });
        gave_up
    }
}
