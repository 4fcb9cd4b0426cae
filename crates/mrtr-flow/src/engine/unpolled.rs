//! Steps and checks that were woken, and that the handler leaves unpolled while something waits for them.

use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use super::pace::poll_apart;
use super::state::{Run, Unpolled};
use crate::support::clock::Clock;

/// How long a handler may leave a step or a check unpolled that was woken.
const PATIENCE: Duration = Duration::from_secs(1);

/// Those that are unpolled now, each since a moment of its own.
pub(super) struct UnpolledSince<'a> {
    clock: &'a dyn Clock,
    since: Vec<Since<'a>>,
}

struct Since<'a> {
    unpolled: Unpolled,
    patience: Pin<Box<dyn Future<Output = ()> + Send + 'a>>,
}

impl<'a> UnpolledSince<'a> {
    pub(super) fn new(clock: &'a dyn Clock) -> Self {
        Self { clock, since: Vec::new() }
    }

    /// Nothing waits for any of them.
    pub(super) fn forget(&mut self) {
        self.since.clear();
    }

    /// Looks which are unpolled, after the handler has returned; those that have been for too long, the run gives up.
    /// Says whether it gave any up.
    pub(super) fn look(&mut self, run: &Run, cx: &mut Context<'_>) -> bool {
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
