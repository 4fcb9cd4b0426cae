//! The one list of the methods that this server answers, each with what answers it.

use mrtr_schema::{ErrorObject, MethodInfo, Revision};

use crate::definition::parts::Parts;
use crate::support::contained::contained_call;

/// The part of the server that answers a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    CallTool,
    ListTools,
    GetPrompt,
    ListPrompts,
    ReadResource,
    ListResources,
    ListResourceTemplates,
    Complete,
    Discover,
    Listen,
    Initialize,
    Ping,
    /// The extension at this place, which owns the method.
    Extension(usize),
}

impl Route {
    /// The route of a method in this revision, if this server has the method at all.
    #[expect(clippy::inline_always, reason = "as for the check of a request, which calls it")]
    #[inline(always)]
    pub(super) fn of(
        method: &str,
        info: &MethodInfo,
        parts: &Parts,
        revision: Revision,
    ) -> Result<Option<Self>, ErrorObject> {
        let (route, is_offered) = match method {
            "tools/call" => (Self::CallTool, !parts.tools.is_empty()),
            "tools/list" => (Self::ListTools, !parts.tools.is_empty()),
            "prompts/get" => (Self::GetPrompt, !parts.prompts.is_empty()),
            "prompts/list" => (Self::ListPrompts, !parts.prompts.is_empty()),
            "resources/read" => (Self::ReadResource, parts.has_resources()),
            "resources/list" => (Self::ListResources, parts.has_resources()),
            "resources/templates/list" => (Self::ListResourceTemplates, parts.has_resources()),
            "completion/complete" => (Self::Complete, parts.completes()),
            "server/discover" => (Self::Discover, true),
            "subscriptions/listen" => (Self::Listen, true),
            "initialize" => (Self::Initialize, true),
            "ping" => (Self::Ping, true),
            method => return Self::of_extension(method, parts, revision),
        };
        Ok((is_offered && info.exists_in(revision)).then_some(route))
    }

    fn of_extension(method: &str, parts: &Parts, revision: Revision) -> Result<Option<Self>, ErrorObject> {
        for (place, extension) in parts.extensions.iter().enumerate() {
            if contained_call("an extension", || extension.owns(method, revision))? {
                return Ok(Some(Self::Extension(place)));
            }
        }
        Ok(None)
    }
}
