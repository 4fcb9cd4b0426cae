//! Every race of leases, answers, cancel and finish: all states of a small world are visited, over the real transitions.

#[path = "explorer/canonical.rs"]
mod canonical;
#[path = "explorer/faults.rs"]
mod faults;
#[path = "support/invariants.rs"]
mod invariants;
#[path = "explorer/model.rs"]
mod model;
#[path = "explorer/rules.rs"]
mod rules;
#[path = "explorer/search.rs"]
mod search;
#[path = "explorer/world.rs"]
mod world;

use mrtr_tasks::TaskRecord;

use model::Tasks;
use rules::Rule;
use search::{Report, explore, explore_until};

#[test]
fn no_race_of_two_runners_breaks_a_rule() {
    let report = sound(&Tasks { refused_answers: true, ..Tasks::new(2, TaskRecord::apply) });
    assert!(report.states > 5_000, "{}", report.states);
    assert_eq!(report.ends, ["cancelled", "completed", "stuck"]);
}

#[test]
fn no_race_of_three_runners_breaks_a_rule() {
    let report = sound(&Tasks { lossy: false, ..Tasks::new(3, TaskRecord::apply) });
    assert!(report.states > 5_000, "{}", report.states);
    assert_eq!(report.ends, ["cancelled", "completed", "stuck"]);
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
    assert_eq!(newest[4], "[ 20 s] runner 0, run 1: asks q1 and goes on");
    assert_eq!(key.len(), 6);
    assert_eq!(recorded.len(), 10);
    assert_eq!(recorded[9], "[ 10 s] runner 1, run 3: records the outcome of step a");
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

/// What a store keeps is kept twice if it is sent twice: a fault of the runner, which no transition mends.
#[test]
fn a_runner_that_does_not_hear_and_sends_again_is_found() {
    let tasks = Tasks { resends: true, ..Tasks::new(1, TaskRecord::apply) };
    let [recorded] = found(&tasks, [Rule::StepRecordedOnce]);
    let last = "[  0 s] runner 0, run 2: records the outcome of step a";
    assert_eq!(recorded[5..], [format!("{last} (the acknowledgement is lost)"), last.to_owned()]);
}

/// Explores a world with a fault until these rules were broken. Gives the shortest way to break each.
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
