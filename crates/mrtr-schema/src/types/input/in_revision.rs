//! Tells whether a revision can ask for an input at all.

use super::InputRequest;
use crate::error::NotInRevision;
use crate::revision::{Feature, Revision};
use crate::types::elicitation::ElicitParams;
use crate::types::sampling::{CreateMessageParams, SamplingContent};

impl InputRequest {
    /// Checks that a revision can ask this; what its client declared is another matter.
    ///
    /// ```
    /// use mrtr_schema::{InputRequest, NotInRevision, Revision};
    /// use mrtr_schema::elicitation::{ElicitRequest, ElicitUrlParams, Url};
    ///
    /// let visit = ElicitUrlParams::new("Connect your account", Url::new("https://example.com/connect")?);
    /// let visit = InputRequest::from(ElicitRequest::new(visit));
    /// assert_eq!(visit.check_in(Revision::V2025_11_25), Ok(()));
    /// assert_eq!(visit.check_in(Revision::V2025_06_18), Err(NotInRevision::Url { revision: Revision::V2025_06_18 }));
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn check_in(&self, revision: Revision) -> Result<(), NotInRevision> {
        let exists = match self {
            Self::Elicit(request) => return check_elicitation(&request.params, revision),
            Self::Sample(request) => return check_sampling(&request.params, revision),
            Self::Roots(_) => revision.has(Feature::RootsAsInput) || revision.has(Feature::RootsAsRequest),
            Self::Namespaced(_) => revision.has(Feature::NamespacedInputs),
            Self::Unknown(_) => false,
        };
        let absent = || NotInRevision::Input { method: self.method().to_owned(), revision };
        exists.then_some(()).ok_or_else(absent)
    }
}

fn check_elicitation(params: &ElicitParams, revision: Revision) -> Result<(), NotInRevision> {
    match params {
        ElicitParams::Form(params) => params.requested_schema.in_revision(revision).map(drop),
        ElicitParams::Url(_) if revision.has(Feature::ElicitationModes) => Ok(()),
        ElicitParams::Url(_) => Err(NotInRevision::Url { revision }),
    }
}

fn check_sampling(params: &CreateMessageParams, revision: Revision) -> Result<(), NotInRevision> {
    let uses_tools =
        |content: &SamplingContent| matches!(content, SamplingContent::ToolUse(_) | SamplingContent::ToolResult(_));
    let contents = || params.messages.iter().map(|message| &message.content);
    let offers = params.tools.is_some() || params.tool_choice.is_some();
    let has_tools = offers || contents().any(|content| content.iter().any(uses_tools));
    if has_tools && !revision.has(Feature::SamplingTools) {
        return Err(NotInRevision::SamplingTools { revision });
    }
    if contents().any(|content| content.len() != 1) && !revision.has(Feature::SamplingBlocks) {
        return Err(NotInRevision::SamplingBlocks { revision });
    }
    Ok(())
}
