//! Counters of tasks, through the `metrics` facade: the operator brings a recorder.
//!
//! | name | labels | what |
//! |---|---|---|
//! | `mrtr_tasks_created_total` | | tasks created |
//! | `mrtr_task_runs_total` | `outcome` | runs, by how they ended |
//! | `mrtr_tasks_ended_total` | `end` | tasks that a run ended, by how |
//! | `mrtr_tasks_set_aside_total` | | tasks that were set aside, since their runs were lost |
//! | `mrtr_task_answers_total` | `outcome` | answers, by what became of them |
//! | `mrtr_tasks_expired_total` | | tasks whose time was over |
//! | `mrtr_tasks_removed_total` | | tasks that were kept no longer |

use metrics::counter;

use crate::End;
use crate::store::Swept;

pub(crate) fn created() {
    counter!("mrtr_tasks_created_total").increment(1);
}

pub(crate) fn ran(outcome: &'static str) {
    counter!("mrtr_task_runs_total", "outcome" => outcome).increment(1);
}

pub(crate) fn ended(end: End) {
    counter!("mrtr_tasks_ended_total", "end" => end.as_str()).increment(1);
}

pub(crate) fn set_aside() {
    counter!("mrtr_tasks_set_aside_total").increment(1);
}

pub(crate) fn answered(outcome: &'static str, answers: usize) {
    counter!("mrtr_task_answers_total", "outcome" => outcome).increment(answers as u64);
}

pub(crate) fn swept(swept: Swept) {
    counter!("mrtr_tasks_expired_total").increment(swept.expired as u64);
    counter!("mrtr_tasks_removed_total").increment(swept.removed as u64);
}
