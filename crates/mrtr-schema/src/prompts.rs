//! Prompts: listed, described and filled in.

use indexmap::IndexMap;
use mrtr_schema_derive::Wire;

use crate::content::{ContentBlock, Role};
use crate::input::InputResponses;
use crate::json::Members;
use crate::meta::{Meta, RequestMeta, ResultMeta};
use crate::params::required_params;
use crate::request_state::RequestState;
use crate::result::CompleteType;
use crate::{CachingHints, Feature, Icon};

/// A prompt, as a server describes it.
///
/// ```
/// use mrtr_schema::{Prompt, PromptArgument};
///
/// let mut prompt = Prompt::new("code_review");
/// prompt.arguments = Some(vec![PromptArgument::new("code")]);
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "Prompt")]
#[non_exhaustive]
pub struct Prompt {
    /// A name for programs.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// The arguments it takes.
    pub arguments: Option<Vec<PromptArgument>>,
    /// Pictures of it for user interfaces.
    pub icons: Option<Vec<Icon>>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<Meta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "PromptArgument")]
#[non_exhaustive]
pub struct PromptArgument {
    /// A name for programs.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What to put in.
    pub description: Option<String>,
    /// Whether it must be given.
    pub required: Option<bool>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "PromptMessage")]
#[non_exhaustive]
pub struct PromptMessage {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: ContentBlock,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Parameters of `prompts/get`, first attempts and retries alike.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "GetPromptRequestParams")]
#[non_exhaustive]
pub struct GetPromptParams {
    /// The prompt.
    pub name: String,
    /// Its arguments.
    pub arguments: Option<IndexMap<String, String>>,
    /// Answers to what the server asked.
    pub input_responses: Option<InputResponses>,
    /// What the server gave the client to carry, byte for byte.
    pub request_state: Option<RequestState>,
    /// Metadata.
    #[wire(rename = "_meta", required = Feature::RequestMetadata)]
    pub meta: Option<RequestMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

required_params!(GetPromptParams);

/// A prompt, filled in.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "GetPromptResult")]
#[non_exhaustive]
pub struct GetPromptResult {
    /// Says that it is complete.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// What it is for.
    pub description: Option<String>,
    /// The messages.
    pub messages: Vec<PromptMessage>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// One page of a server's prompts.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ListPromptsResult")]
#[non_exhaustive]
pub struct ListPromptsResult {
    /// Says that it is complete.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// The prompts.
    pub prompts: Vec<Prompt>,
    /// Where the next page begins; absent on the last one.
    pub next_cursor: Option<String>,
    /// Whether it may be kept.
    #[wire(flatten, lenient)]
    pub caching: CachingHints,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}
