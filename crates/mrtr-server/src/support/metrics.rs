//! The counters of a server, through the `metrics` facade: the operator brings a recorder.
//!
//! | name | labels | what |
//! |---|---|---|
//! | `mrtr_rounds_total` | `method`, `outcome` | rounds, by how they ended |
//! | `mrtr_asks_total` | `kind` | questions sent |
//! | `mrtr_answers_total` | | answers that entered a journal |
//! | `mrtr_refusals_total` | `reason` | states refused |
//! | `mrtr_sheds_total` | | flows shed at a yield point, counted by mrtr-flow |
//! | `mrtr_replays_total` | | replays that got the stored reply |
//! | `mrtr_state_bytes` | | sizes of the states sent |

use metrics::{Counter, counter, histogram};
use mrtr_schema::input::InputKind;
use mrtr_schema::{InputRequest, MethodInfo};

pub(crate) fn round(method: &MethodInfo, outcome: &'static str) {
    // The methods whose handlers are flows, and no others: a stranger's word never becomes a label.
    let method = method.name.filter(|_| method.runs_flow).unwrap_or("other");
    if (method, outcome) == ("tools/call", "done") {
        return counter!("mrtr_rounds_total", "method" => "tools/call", "outcome" => "done").increment(1);
    }
    if (method, outcome) == ("tools/call", "asked") {
        return counter!("mrtr_rounds_total", "method" => "tools/call", "outcome" => "asked").increment(1);
    }
    other_round(method, outcome);
}

/// Labels that are made for the call are made whether or not there is a recorder. Those of most rounds are made when
/// the server is compiled.
#[cold]
fn other_round(method: &'static str, outcome: &'static str) {
    counter!("mrtr_rounds_total", "method" => method, "outcome" => outcome).increment(1);
}

pub(crate) fn asked<'a>(requests: impl Iterator<Item = &'a InputRequest>, state_bytes: usize) {
    for request in requests {
        ask(request).increment(1);
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

pub(crate) fn replayed() {
    counter!("mrtr_replays_total").increment(1);
}

/// By the kind of a question; an application's own are one kind, so that no client can make up labels.
fn ask(request: &InputRequest) -> Counter {
    match request.kind() {
        InputKind::Form(_) | InputKind::Url(_) => counter!("mrtr_asks_total", "kind" => "elicitation"),
        InputKind::Sample(_) => counter!("mrtr_asks_total", "kind" => "sampling"),
        InputKind::Roots => counter!("mrtr_asks_total", "kind" => "roots"),
        InputKind::Namespaced(_) | InputKind::Unknown(_) => counter!("mrtr_asks_total", "kind" => "namespaced"),
    }
}
