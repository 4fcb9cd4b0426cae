//! Runs a handler of a flow over a journal.

use std::sync::Arc;

use super::Flow;
use crate::engine;
use crate::engine::context::RunContext;
use crate::engine::journal::Journal;
use crate::engine::{ActiveRun, RunReport};
use crate::error::Failure;

/// Runs a handler over a journal.
///
/// The runner polls the handler until it returns, or until questions are open and no step is under way; then it drops
/// the handler, with everything else that the handler was waiting for. A handler cannot step past an open question: its
/// output then does not count. If it takes longer than [`RunContext::deadline`] says, the run ends.
///
/// ```
/// use mrtr_flow::FlowError;
/// use mrtr_flow::{Journal, Outcome, RunContext, run};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let ran = run(
///     async |flow| Ok::<_, mrtr_flow::Failure>(flow.roots("roots").await?.len()),
///     Journal::default(),
///     RunContext::for_tests(),
/// )
/// .await;
/// let Outcome::Waiting(questions) = ran.outcome else { panic!("it asks") };
/// assert_eq!(questions[0].key, "roots");
/// # }
/// ```
pub fn run<T, H>(handler: H, journal: Journal, context: RunContext) -> impl Future<Output = RunReport<T>>
where
    H: AsyncFnOnce(Flow) -> Result<T, Failure>,
{
    let run = Arc::new(ActiveRun::new(journal, context));
    engine::run_to_its_end(async |run| handler(Flow::new(run)).await, run)
}
