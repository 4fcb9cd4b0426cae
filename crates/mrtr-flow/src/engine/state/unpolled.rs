//! Steps and checks that nothing polls while the run waits for them.

use super::ActiveRun;
use super::settling::Stage;
use super::steps::StepUse;
use crate::engine::branches::HoldId;
use crate::error::Failure;

/// A step or a check that was woken and has not been polled since.
#[derive(Debug, PartialEq)]
pub(in crate::engine) struct Unpolled {
    what: What,
    /// The number of earlier polls.
    polls: u64,
}

#[derive(Debug, PartialEq)]
enum What {
    Step(String),
    Check(HoldId),
}

impl ActiveRun {
    /// Returns the steps and checks that were woken and not polled since, if something waits for their end: for steps,
    /// questions that could be asked; for checks, calls that their question holds as well.
    pub(in crate::engine) fn unpolled(&self) -> Vec<Unpolled> {
        let state = self.state();
        let mut unpolled = Vec::new();
        if state.asks() {
            for (name, step) in state.steps.uses.iter() {
                if let StepUse::UnderWay(watcher) = step
                    && let Some(polls) = watcher.watch(self).unpolled()
                {
                    unpolled.push(Unpolled { what: What::Step(name.to_owned()), polls });
                }
            }
        }
        if state.asks() || !state.questions.held_calls.is_empty() || state.phase.is_ending() {
            for (hold, question) in state.questions.branches.held_questions() {
                if let Stage::Checking(_, watch) = &question.stage
                    && let Some(polls) = watch.unpolled()
                {
                    unpolled.push(Unpolled { what: What::Check(hold), polls });
                }
            }
        }
        unpolled
    }

    /// Gives up a step or a check that nothing polls. A step is then in doubt, which is a mistake of the handler's; a
    /// question is asked without its check.
    pub(in crate::engine) fn give_up_unpolled(&self, Unpolled { what, .. }: &Unpolled) {
        let mut state = self.state();
        match what {
            What::Check(hold) => self.settle_otherwise(&mut state, *hold),
            What::Step(name) => {
                let Some(step) = state.steps.uses.get_mut(name) else { return };
                let StepUse::UnderWay(watcher) = std::mem::replace(step, StepUse::Left) else { return };
                watcher.watch(self).leave();
                state.in_flight -= 1;
                let asked: Vec<_> = state.questions.open.keys().map(|key| format!("`{key}`")).collect();
                let text = format!(
                    "the step `{name}` was begun and is not polled while the flow asks {}: it cannot end, and the run \
                     cannot wait for it. Use `flow.join` to do both at once, or await the step before the question",
                    if asked.is_empty() { "for a visit".to_owned() } else { asked.join(", ") }
                );
                state.phase.overrule(Failure::misuse(text));
            }
        }
    }
}
