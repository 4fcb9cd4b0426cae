//! Every race of leases, answers, cancel and finish: the explorer visits all states of a small world, over the real
//! transitions.

#[path = "explorer/canonical.rs"]
mod canonical;
#[path = "explorer/faults.rs"]
mod faults;
#[path = "support/invariants.rs"]
mod invariants;
#[path = "explorer/model.rs"]
mod model;
#[path = "explorer/processes.rs"]
mod processes;
#[path = "explorer/rules.rs"]
mod rules;
#[path = "explorer/search.rs"]
mod search;
#[path = "explorer/world.rs"]
mod world;

use mrtr_tasks::TaskRecord;

use model::Tasks;
use processes::{Habit, Processes};
use rules::Rule;
use search::{Report, explore, explore_until};

#[test]
fn no_race_of_two_runners_breaks_a_rule() {
    let report = sound(&Tasks { refused_answers: true, ..Tasks::new(2, TaskRecord::apply) });
    assert!(report.states > 5_000, "{}", report.states);
    assert_eq!(report.ends, ["cancelled", "completed"]);
}

#[test]
fn no_race_of_three_runners_breaks_a_rule() {
    let report = sound(&Tasks { lossy: false, ..Tasks::new(3, TaskRecord::apply) });
    assert!(report.states > 5_000, "{}", report.states);
    assert_eq!(report.ends, ["cancelled", "completed"]);
}

#[test]
fn no_race_with_the_end_of_the_ttl_breaks_a_rule() {
    let report = sound(&Tasks { ttl_ticks: Some(4), lossy: false, ..Tasks::new(2, TaskRecord::apply) });
    assert!(report.states > 5_000, "{}", report.states);
    assert_eq!(report.ends, ["cancelled", "completed", "expired"]);
}

#[test]
fn a_record_or_a_finish_that_ignores_the_fence_is_found() {
    let broken = [Rule::NewestRunOnly, Rule::KeyOnce, Rule::StepRecordedOnce, Rule::RecordedStepNotBegun];
    let [newest, key, recorded, begun] = found(&Tasks::new(2, faults::ignores_the_fence), broken);
    assert_eq!(newest.len(), 5);
    assert_eq!(newest[4], "[1200 s] runner 0, run 1: asks q1 and goes on");
    assert_eq!(key.len(), 6);
    assert_eq!(recorded.len(), 10);
    assert_eq!(recorded[9], "[600 s] runner 1, run 3: records the outcome of step a");
    assert_eq!(begun, recorded[..9]);
}

#[test]
fn a_park_that_forgets_the_answer_of_meanwhile_is_found() {
    let tasks = Tasks::new(2, faults::forgets_the_answer);
    // Whether an end is in reach is known once all has been visited.
    let [forgotten, without_end] = found(&tasks, [Rule::NotForgotten, Rule::EndInReach]);
    let trace = [
        "[  0 s] runner 0 acquires the task",
        "[  0 s] runner 0, run 1: asks q1 and goes on",
        "[  0 s] the client answers q1",
        "[  0 s] runner 0, run 1: parks",
    ];
    assert_eq!(forgotten, trace);
    assert_eq!(without_end, trace, "nor does it go on by itself");
}

#[test]
fn a_finish_that_overwrites_a_cancel_is_found() {
    let tasks = Tasks::new(2, faults::finishes_what_is_cancelled);
    let [told, after_cancel] = found(&tasks, [Rule::EndIsFinal, Rule::NothingAfterCancel]);
    assert_eq!(told.len(), 13, "the handler takes eleven steps to the point where it finishes");
    assert_eq!(told[11..], ["[  0 s] the client cancels", "[  0 s] runner 0, run 3: finishes"]);
    assert_eq!(after_cancel, told);
}

/// A store keeps twice what a runner sends twice: this is a fault of the runner, which no transition mends.
#[test]
fn a_runner_that_does_not_hear_and_sends_again_is_found() {
    let tasks = Tasks { resends: true, ..Tasks::new(1, TaskRecord::apply) };
    let [recorded] = found(&tasks, [Rule::StepRecordedOnce]);
    let last = "[  0 s] runner 0, run 2: records the outcome of step a";
    assert_eq!(recorded[5..], [format!("{last} (the acknowledgement is lost)"), last.to_owned()]);
}

#[test]
fn no_process_that_dies_with_several_runs_has_another_task_set_aside() {
    for (processes, innocent) in [(2, 1), (1, 2)] {
        let report = explored(&Processes::new(processes, innocent, TaskRecord::apply, Habit::Sound));
        assert!(report.found.is_empty(), "a rule is broken, as printed");
        assert!(report.states > 1_000, "{}", report.states);
        assert_eq!(report.ends, ["far enough", "the innocent have completed"]);
    }
}

#[test]
fn a_loss_that_counts_though_it_had_company_is_found() {
    let report = explored(&Processes::new(1, 1, faults::counts_company, Habit::Sound));
    assert!(report.found.contains_key(&Rule::InnocentNotCounted), "{report}");
}

#[test]
fn a_first_loss_that_puts_on_trial_is_found() {
    let report = explored(&Processes::new(1, 1, faults::tries_after_one_loss, Habit::Sound));
    assert!(report.found.contains_key(&Rule::FirstLossIsNoTrial), "{report}");
}

#[test]
fn a_runner_that_has_company_before_the_store_knows_is_found() {
    let report = explored(&Processes::new(1, 1, TaskRecord::apply, Habit::CallsBeginAtOnce));
    assert!(report.found.contains_key(&Rule::TrialIsAlone), "{report}");
    let report = explored(&Processes::new(1, 1, TaskRecord::apply, Habit::ClaimsBesideTrials));
    assert!(report.found.contains_key(&Rule::TrialIsAlone), "{report}");
}

fn explored(processes: &Processes) -> Report {
    let report = explore(processes);
    println!("{report}");
    report
}

/// Explores a world with a fault until these rules were broken. Returns the shortest way to break each.
fn found<const N: usize>(tasks: &Tasks, rules: [Rule; N]) -> [Vec<String>; N] {
    let mut report = explore_until(tasks, &rules);
    println!("{report}");
    rules.map(|rule| report.found.remove(&rule).unwrap_or_else(|| panic!("it is not found: {rule}")))
}

/// Explores a world in which nothing may be found.
fn sound(tasks: &Tasks) -> Report {
    let report = explore(tasks);
    println!("{report}");
    assert!(report.found.is_empty(), "a rule is broken, as printed");
    report
}
