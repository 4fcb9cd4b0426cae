//! The phase of a run: its handler continues, or the run ends for a reason.

use super::StopReason;
use crate::error::Failure;

/// The phase of a run, which only goes forward. Only the code here changes it.
pub(super) enum Phase {
    /// The handler continues, and its calls on the flow have effect.
    Active,
    /// The run ends for this reason as soon as the steps that are under way have ended. Calls on the flow wait until
    /// then.
    Ending(Ending),
    /// The flow is closed: code that still holds it has no effect any more. Without a reason, the handler has returned,
    /// or only answers are missing.
    Closed(Option<Ending>),
}

/// The reason why a run ends though its handler would continue.
pub(crate) enum Ending {
    IntoTask,
    Yielded,
    Stopped(StopReason),
    Failed(Failure),
}

impl Phase {
    pub(super) fn is_active(&self) -> bool {
        matches!(self, Self::Active)
    }

    pub(super) fn is_ending(&self) -> bool {
        matches!(self, Self::Ending(_))
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }

    /// Ends the run for a reason. The first one stands.
    pub(super) fn end(&mut self, ending: Ending) {
        match self {
            Self::Active => *self = Self::Ending(ending),
            Self::Closed(reason @ None) => *reason = Some(ending),
            Self::Ending(_) | Self::Closed(Some(_)) => {}
        }
    }

    /// Ends the run by a failure. The first reason stands.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.end(Ending::Failed(failure));
    }

    /// Fails the run, in place of any other ending, which cannot be trusted.
    pub(super) fn overrule(&mut self, failure: Failure) {
        match self {
            Self::Active => *self = Self::Ending(Ending::Failed(failure)),
            Self::Ending(reason) => *reason = Ending::Failed(failure),
            Self::Closed(reason) => *reason = Some(Ending::Failed(failure)),
        }
    }

    /// Fails the run unless it has failed already: the first failure says more than that the run also took too long.
    pub(super) fn fail_late(&mut self, failure: Failure) {
        if !matches!(self, Self::Ending(Ending::Failed(_)) | Self::Closed(Some(Ending::Failed(_)))) {
            self.overrule(failure);
        }
    }

    /// Closes the flow. The reason stands, if there is one.
    pub(super) fn close(&mut self) {
        if let Self::Active = self {
            *self = Self::Closed(None);
        } else if let Self::Ending(_) = self {
            *self = Self::Closed(self.take());
        }
    }

    /// Takes the reason out of a run that is over.
    pub(super) fn take(&mut self) -> Option<Ending> {
        match std::mem::replace(self, Self::Closed(None)) {
            Self::Active => None,
            Self::Ending(reason) => Some(reason),
            Self::Closed(reason) => reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_stands_and_goes_along_when_the_flow_is_closed() {
        let mut phase = Phase::Active;
        phase.end(Ending::Yielded);
        phase.fail(Failure::misuse("later".to_owned()));
        assert!(phase.is_ending());
        phase.close();
        phase.close();
        phase.end(Ending::IntoTask);
        assert!(phase.is_closed());
        assert!(matches!(phase.take(), Some(Ending::Yielded)));
    }

    #[test]
    fn a_closed_flow_may_still_learn_of_a_failure() {
        let mut phase = Phase::Active;
        phase.close();
        phase.fail(Failure::misuse("when it was dropped".to_owned()));
        assert!(phase.is_closed());
        assert!(matches!(phase.take(), Some(Ending::Failed(_))));
    }

    #[test]
    fn a_run_that_failed_does_not_fail_for_being_late_as_well() {
        let told = |phase: &mut Phase| match phase.take() {
            Some(Ending::Failed(failure)) => format!("{failure:?}"),
            _ => String::new(),
        };
        let (mut failed, mut stopped) = (Phase::Active, Phase::Active);
        failed.fail(Failure::misuse("first".to_owned()));
        failed.fail_late(Failure::misuse("late".to_owned()));
        assert!(told(&mut failed).contains("first"));
        stopped.end(Ending::Stopped(StopReason::Shutdown));
        stopped.fail_late(Failure::misuse("late".to_owned()));
        assert!(told(&mut stopped).contains("late"));
    }
}
