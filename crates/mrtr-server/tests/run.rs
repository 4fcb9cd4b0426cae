//! What a run tells its runner.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use mrtr_server::Failure;
use mrtr_server::extend::{Journal, Outcome, RunContext, run};

#[tokio::test]
async fn a_question_that_was_only_asked_leaves_nothing_in_the_journal() {
    let handler = async |flow: mrtr_server::Flow| Ok::<_, Failure>(flow.roots("roots").await?.len());
    let ran = run(handler, Journal::default(), RunContext::for_tests()).await;
    assert!(matches!(ran.outcome, Outcome::Waiting(_)));
    assert!(ran.journal.is_empty(), "{:?}", ran.journal);
}
