//! A question that is settled elsewhere: a check says whether it is, and the question holds its branch meanwhile.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

use crate::engine::{ActiveRun, HoldId, Unsettled, Watch, Within};
use crate::error::FlowError;

/// Runs the check of a question. The run records what it finds, and the question gives that. If it finds nothing, the
/// run treats the question as `unsettled` says.
pub(super) async fn settle<T>(
    run: &ActiveRun,
    key: &str,
    unsettled: impl Fn() -> Unsettled,
    check: impl Future<Output = Option<T>>,
    record: impl FnOnce(&T),
) -> Result<T, FlowError> {
    let watch = Arc::new(Watch::default());
    let waker = Waker::from(Arc::clone(&watch));
    let mut question = Checked { run, key, unsettled, watch, hold: None, is_unsettled: false };
    let mut check = pin!(run.inside(Within::Until, key, check));
    let found = poll_fn(|cx| {
        if !question.note_poll() {
            return Poll::Pending;
        }
        question.watch.poll(&waker, cx, |cx| check.as_mut().poll(cx))
    })
    .await;
    match found {
        Some(Some(found)) => {
            record(&found);
            question.settled();
            Ok(found)
        }
        Some(None) => match question.refused() {
            Some(error) => Err(error),
            None => question.wait().await,
        },
        // It panicked, or misused the flow: the run ends.
        None => {
            question.failed();
            pending().await
        }
    }
}

/// A question whose check runs, or has found nothing. A handler that drops it gets no further.
struct Checked<'a, U: Fn() -> Unsettled> {
    run: &'a ActiveRun,
    key: &'a str,
    unsettled: U,
    watch: Arc<Watch>,
    /// The hold on its branch, once it was polled and until it is settled.
    hold: Option<HoldId>,
    /// True if its check has found nothing.
    is_unsettled: bool,
}

impl<U: Fn() -> Unsettled> Checked<'_, U> {
    /// Notes where it is polled, and returns true if its check continues. If it lost a race and is still awaited, it
    /// holds from now on the branch that it is awaited in.
    fn note_poll(&mut self) -> bool {
        let is_checked = self.hold.and_then(|hold| self.run.polled_check(hold));
        is_checked.unwrap_or_else(|| {
            let hold = *self.hold.insert(self.run.begin_check(self.key, (self.unsettled)(), &self.watch));
            if self.is_unsettled {
                self.run.check_said_no(hold);
            }
            self.run.polled_check(hold).unwrap_or(false)
        })
    }

    fn settled(mut self) {
        if let Some(hold) = self.hold.take() {
            self.run.check_said_yes(hold);
        }
    }

    /// Notes that the check has found nothing. Returns the user's refusal, if there was one: the question ends with it.
    fn refused(&mut self) -> Option<FlowError> {
        self.is_unsettled = true;
        let refused = self.hold.and_then(|hold| self.run.check_said_no(hold))?;
        self.hold = None;
        Some(refused)
    }

    fn failed(&self) {
        if let Some(hold) = self.hold {
            self.run.check_failed(hold);
        }
    }

    /// Waits for the end of the run.
    async fn wait<T>(&mut self) -> T {
        poll_fn(|_| {
            self.note_poll();
            Poll::Pending
        })
        .await
    }
}

impl<U: Fn() -> Unsettled> Drop for Checked<'_, U> {
    fn drop(&mut self) {
        if let Some(hold) = self.hold {
            self.run.dropped_question(hold);
        }
    }
}
