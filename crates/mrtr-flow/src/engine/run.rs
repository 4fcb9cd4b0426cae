//! The runner: polls a handler until it is done, or until all that is left is questions.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use super::contained::Contained;
use super::deadline::Deadline;
use super::outcome::RunReport;
use super::pace::poll_apart;
use super::recorder::Recorder;
use super::state::{Rest, Run};
use super::unpolled::UnpolledSince;
use crate::error::Failure;

/// Runs what a handler makes of a run. It cannot step past an open question: what it returns then does not count.
///
/// The run is made before the future is: a journal and a context are large, and would be moved from one to the other.
pub(crate) async fn run_to_its_end<T, H>(handler: H, run: Arc<Run>) -> RunReport<T>
where
    H: AsyncFnOnce(Arc<Run>) -> Result<T, Failure>,
{
    let mut deadline = Deadline::new(&*run.context.environment.clock, run.context.deadline);
    let mut handler = pin!(Contained::new(async { handler(Arc::clone(&run)).await }));
    // If this future is dropped, the runner gives up, and not the handler. It is dropped before the handler is.
    let given_up = Closing(&run);
    let mut recorder = Recorder::default();
    // Only to be woken by it: whether it was raised is looked at below, and by each call on the flow.
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
                // Whatever becomes of the call that gave way: the handler may have dropped it.
                cx.waker().wake_by_ref();
            }
            // What was kept may let a step begin, or its handler go on.
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
                    run.is_overdue();
                    return Poll::Ready(None);
                }
            }
        }
    })
    .await;
    if !run.closes_at_rest() {
        outlast_steps(&run, &mut recorder, &mut deadline).await;
    }
    std::mem::forget(given_up);
    if let Err(panicked) = handler.as_mut().clear() {
        run.panicked_at_its_end(&panicked);
    }
    if run.context.sink.is_some() {
        let mut deadline = Deadline::new(&*run.context.environment.clock, run.context.deadline);
        if deadline.bound(recorder.finish(&run)).await.is_none() {
            run.is_overdue();
        }
    }
    run.finish(returned)
}

/// Closes the flow when it is dropped.
struct Closing<'a>(&'a Run);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Waits for a step that the handler has let out of its hands, which must have no effect after the reply, and closes the
/// flow.
async fn outlast_steps(run: &Run, recorder: &mut Recorder, deadline: &mut Deadline<'_>) {
    let idle = poll_fn(|cx| {
        while recorder.poll(run, cx).is_ready() {}
        if run.is_idle(cx.waker()) { Poll::Ready(()) } else { Poll::Pending }
    });
    if !deadline.has_passed() && deadline.bound(idle).await.is_none() {
        run.is_overdue();
    }
    run.close();
}
