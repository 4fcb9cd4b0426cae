//! Standard error, shared by messages, questions and the sign that work is in progress.

use std::collections::VecDeque;
use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// The terminal that the person looks at. Clones write to the same one.
#[derive(Clone, Default)]
pub(crate) struct Screen(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    bar: Option<ProgressBar>,
    /// The work in progress, also while it is not shown.
    doing: Option<Doing>,
    /// The number of questions that have the screen to themselves.
    questions: usize,
    /// The lines that came meanwhile.
    unsaid: VecDeque<String>,
    /// The number of earlier lines that were dropped.
    dropped: u64,
}

#[derive(Clone)]
struct Doing {
    what: String,
    /// The progress that the server reported, and the total.
    progress: Option<(u64, u64)>,
}

impl Screen {
    /// Returns true if a person can be asked here: prompts go to standard error, and answers come from the keyboard.
    pub(crate) fn has_person() -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Prints a line, or keeps it until no question is on the screen.
    pub(crate) fn say(&self, line: impl Display) {
        let mut state = self.state();
        if state.questions > 0 {
            // A person may leave a question open for days, and a server may log all the while.
            if state.unsaid.len() == MAX_UNSAID {
                state.unsaid.pop_front();
                state.dropped += 1;
            }
            state.unsaid.push_back(line.to_string());
            return;
        }
        match &state.bar {
            Some(bar) => bar.suspend(|| anstream::eprintln!("{line}")),
            None => anstream::eprintln!("{line}"),
        }
    }

    /// Shows that work is in progress.
    pub(crate) fn working(&self, what: impl Into<String>) {
        self.show(Some(Doing { what: what.into(), progress: None }));
    }

    /// Shows the progress of the work.
    pub(crate) fn progress(&self, what: impl Into<String>, done: u64, of: u64) {
        self.show(Some(Doing { what: what.into(), progress: Some((done, of)) }));
    }

    /// Ends the sign of work.
    pub(crate) fn idle(&self) {
        self.show(None);
    }

    /// Leaves the screen to a question for as long as the value lives.
    pub(crate) fn question(&self) -> Question {
        let mut state = self.state();
        state.questions += 1;
        state.hide();
        Question(self.clone())
    }

    pub(crate) fn has_question(&self) -> bool {
        self.state().questions > 0
    }

    fn show(&self, doing: Option<Doing>) {
        let mut state = self.state();
        state.doing = doing;
        if state.questions == 0 {
            state.redraw();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn hide(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn redraw(&mut self) {
        let Some(doing) = self.doing.clone() else { return self.hide() };
        let bar = self.bar.get_or_insert_with(|| {
            // The bar draws on standard error, and nothing at all where that is no terminal.
            let bar = ProgressBar::new_spinner();
            bar.enable_steady_tick(TICK);
            bar
        });
        match doing.progress {
            Some((done, of)) => {
                bar.set_style(style("{bar:30} {pos}/{len} {msg}"));
                bar.set_length(of);
                bar.set_position(done.min(of));
            }
            None => bar.set_style(style("{spinner} {msg}")),
        }
        bar.set_message(doing.what);
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// A question that has the screen to itself.
pub(crate) struct Question(Screen);

impl Drop for Question {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.questions -= 1;
        if state.questions == 0 {
            match std::mem::take(&mut state.dropped) {
                0 => {}
                dropped => anstream::eprintln!("({dropped} lines that came before are left out)"),
            }
            for line in std::mem::take(&mut state.unsaid) {
                anstream::eprintln!("{line}");
            }
            state.redraw();
        }
    }
}

/// The most lines that wait for a question to leave the screen.
const MAX_UNSAID: usize = 1000;

const TICK: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_behind_a_question_is_bounded_and_the_newest_is_kept() {
        let screen = Screen::default();
        let question = screen.question();
        for number in 0..MAX_UNSAID + 5 {
            screen.say(number);
        }
        {
            let state = screen.state();
            assert_eq!((state.unsaid.len(), state.dropped), (MAX_UNSAID, 5));
            assert_eq!(state.unsaid.back(), Some(&(MAX_UNSAID + 4).to_string()));
        }
        screen.state().unsaid.clear();
        drop(question);
        assert_eq!(screen.state().dropped, 0);
    }
}
