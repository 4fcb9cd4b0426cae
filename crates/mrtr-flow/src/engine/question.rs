//! A question that a run ended with.

use std::time::Duration;

use mrtr_schema::input::InputKind;
use mrtr_schema::{ClientCapabilities, InputRequest, Revision};

use super::gate;
use super::journal::Asked;

/// A question that a run ended with.
///
/// ```
/// use mrtr_flow::{Failure, Flow};
/// use mrtr_flow::{Journal, Outcome, RunContext, run};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let handler = async |flow: Flow| Ok::<_, Failure>(flow.roots("roots").await?);
/// let Outcome::Waiting(questions) = run(handler, Journal::default(), RunContext::for_tests()).await.outcome else {
///     panic!("it asks")
/// };
/// assert_eq!((questions[0].key.as_str(), questions[0].optional), ("roots", false));
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Question {
    /// Its name.
    pub key: String,
    /// The request for the client.
    pub request: InputRequest,
    /// True if the flow continues without an answer, once it has been asked.
    pub optional: bool,
    /// The time for which the runner waits for an answer, if it is not the usual one.
    pub valid_for: Option<Duration>,
    /// Its wording, which the runner keeps with the answer.
    pub asked: Asked,
    /// The time after which to run again while it is open, if it may be settled elsewhere.
    pub look_again: Option<Duration>,
    /// The reason why the last answer would not do, if there was one: a runner that uses a key only once asks under a
    /// fresh one.
    pub refused: Option<String>,
    /// True if one of the places that ask it waits as long as usual, though another set a time.
    pub(crate) as_usual: bool,
}

impl Question {
    /// Makes a question of one that a handler put together itself.
    pub(crate) fn by_hand((key, request): (String, InputRequest)) -> Self {
        Self {
            key,
            request,
            optional: false,
            valid_for: None,
            asked: Asked::default(),
            look_again: None,
            refused: None,
            as_usual: false,
        }
    }

    /// Returns true if a client that declared this may be asked it: a runner shows it to no other.
    ///
    /// ```
    /// use mrtr_schema::{ClientCapabilities, Revision};
    /// use mrtr_flow::Question;
    ///
    /// fn shown<'a>(questions: &'a [Question], capabilities: &ClientCapabilities) -> Vec<&'a Question> {
    ///     questions.iter().filter(|question| question.may_be_shown(capabilities, Revision::V2026_07_28)).collect()
    /// }
    /// ```
    pub fn may_be_shown(&self, capabilities: &ClientCapabilities, revision: Revision) -> bool {
        gate::allows(&self.request, capabilities, revision)
    }

    /// Returns the time for which the runner waits for an answer, where `usual` is the usual time: the longest time
    /// that a place that asks it wants.
    ///
    /// ```
    /// use std::time::Duration;
    /// use mrtr_flow::{Failure, Flow, Journal, Outcome, RunContext, run};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let handler = async |flow: Flow| Ok::<_, Failure>(flow.roots("roots").valid_for(Duration::from_secs(9)).await?);
    /// let Outcome::Waiting(questions) = run(handler, Journal::default(), RunContext::for_tests()).await.outcome else {
    ///     panic!("it asks")
    /// };
    /// assert_eq!(questions[0].patience(Duration::from_secs(60)), Duration::from_secs(9));
    /// # }
    /// ```
    pub fn patience(&self, usual: Duration) -> Duration {
        match self.valid_for {
            Some(valid_for) if self.as_usual => valid_for.max(usual),
            Some(valid_for) => valid_for,
            None => usual,
        }
    }

    /// Returns true if its answer makes no sense without the state it was asked with.
    pub(crate) fn needs_state(&self) -> bool {
        match self.request.kind() {
            InputKind::Url(_) | InputKind::Namespaced(_) => true,
            InputKind::Form(_) | InputKind::Sample(_) | InputKind::Roots | InputKind::Unknown(_) => false,
        }
    }
}
