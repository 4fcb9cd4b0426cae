//! What a server counts, through the `metrics` facade: the operator brings a recorder.
//!
//! | name | labels | what |
//! |---|---|---|
//! | `mrtr_rounds_total` | `method`, `outcome` | rounds, by how they ended |
//! | `mrtr_asks_total` | `kind` | questions sent |
//! | `mrtr_answers_total` | | answers that entered a journal |
//! | `mrtr_refusals_total` | `reason` | states refused |
//! | `mrtr_sheds_total` | | flows put down at a yield point |
//! | `mrtr_replays_total` | | replays that got the stored reply |
//! | `mrtr_state_bytes` | | sizes of the states sent |

use metrics::{counter, histogram};
use mrtr_schema::{InputRequest, MethodInfo};

pub(crate) fn round(method: &MethodInfo, outcome: &'static str) {
    counter!("mrtr_rounds_total", "method" => known(method), "outcome" => outcome).increment(1);
}

/// The methods whose handlers are flows, and no others: a stranger's word never becomes a label.
fn known(method: &MethodInfo) -> &'static str {
    method.name.filter(|_| method.runs_flow).unwrap_or("other")
}

pub(crate) fn asked<'a>(requests: impl Iterator<Item = &'a InputRequest>, state_bytes: usize) {
    for request in requests {
        counter!("mrtr_asks_total", "kind" => kind(request)).increment(1);
    }
    if state_bytes > 0 {
        #[expect(clippy::cast_precision_loss, reason = "states are far smaller than that")]
        histogram!("mrtr_state_bytes").record(state_bytes as f64);
    }
}

pub(crate) fn answered() {
    counter!("mrtr_answers_total").increment(1);
}

pub(crate) fn refused(reason: &'static str) {
    counter!("mrtr_refusals_total", "reason" => reason).increment(1);
}

pub(crate) fn shed() {
    counter!("mrtr_sheds_total").increment(1);
}

pub(crate) fn replayed() {
    counter!("mrtr_replays_total").increment(1);
}

/// The kind of a question; an application's own are one kind, so that no client can make up labels.
fn kind(request: &InputRequest) -> &'static str {
    match request {
        InputRequest::Elicit(_) => "elicitation",
        InputRequest::Sample(_) => "sampling",
        InputRequest::Roots(_) => "roots",
        _ => "namespaced",
    }
}
