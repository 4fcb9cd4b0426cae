//! Prompts: listed, described and filled in.

use indexmap::IndexMap;
use mrtr_macros::Wire;

use crate::json::Members;
use crate::revision::Feature;
use crate::types::caching::CachingHints;
use crate::types::content::{ContentBlock, Role};
use crate::types::implementation::Icon;
use crate::types::input::InputResponses;
use crate::types::meta::{Meta, RequestMeta, ResultMeta};
use crate::types::params::required_params;
use crate::types::request_state::RequestState;
use crate::types::result::CompleteType;

/// A prompt, as a server describes it.
///
/// ```
/// use mrtr_schema::prompts::{Prompt, PromptArgument};
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
    /// A description of what it is for.
    pub description: Option<String>,
    /// The arguments it takes.
    pub arguments: Option<Vec<PromptArgument>>,
    /// Pictures of it for user interfaces.
    #[wire(when = Feature::Icons)]
    pub icons: Option<Vec<Icon>>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<Meta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// An argument of a prompt.
///
/// ```
/// use mrtr_schema::prompts::PromptArgument;
///
/// let mut code = PromptArgument::new("code");
/// code.required = Some(true);
/// assert_eq!(serde_json::to_string(&code)?, r#"{"name":"code","required":true}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "PromptArgument")]
#[non_exhaustive]
pub struct PromptArgument {
    /// A name for programs.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// A description of what to put in.
    pub description: Option<String>,
    /// True if it must be given.
    pub required: Option<bool>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// One message of a prompt.
///
/// ```
/// use mrtr_schema::ContentBlock;
/// use mrtr_schema::content::Role;
/// use mrtr_schema::prompts::PromptMessage;
///
/// let message = PromptMessage::new(Role::User, ContentBlock::text("Review this."));
/// assert_eq!(
///     serde_json::to_string(&message)?,
///     r#"{"role":"user","content":{"type":"text","text":"Review this."}}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "PromptMessage")]
#[non_exhaustive]
pub struct PromptMessage {
    /// The author of the message.
    pub role: Role,
    /// The content of the message.
    pub content: ContentBlock,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Parameters of `prompts/get`, first attempts and retries alike.
///
/// ```
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::prompts::GetPromptParams;
///
/// let mut params = GetPromptParams::new("code_review");
/// params.arguments.get_or_insert_default().insert("language".into(), "python".into());
/// assert_eq!(params.to_json(Revision::Sep2322)?, r#"{"name":"code_review","arguments":{"language":"python"}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "GetPromptRequestParams")]
#[non_exhaustive]
pub struct GetPromptParams {
    /// The prompt.
    pub name: String,
    /// Its arguments.
    pub arguments: Option<IndexMap<String, String>>,
    /// Answers to what the server asked.
    #[wire(when = Feature::InterimResults)]
    pub input_responses: Option<InputResponses>,
    /// The server's state for the client to carry, byte for byte.
    #[wire(when = Feature::InterimResults)]
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
///
/// ```
/// use mrtr_schema::ContentBlock;
/// use mrtr_schema::content::Role;
/// use mrtr_schema::prompts::{GetPromptResult, PromptMessage};
///
/// let message = PromptMessage::new(Role::User, ContentBlock::text("Review this."));
/// let result = GetPromptResult::new([message]);
/// assert!(serde_json::to_string(&result)?.starts_with(r#"{"resultType":"complete","messages":[{"role":"user","#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "GetPromptResult")]
#[non_exhaustive]
pub struct GetPromptResult {
    /// Says that the result is complete, not an interim one.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// A description of what it is for.
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
///
/// ```
/// use mrtr_schema::CachingHints;
/// use mrtr_schema::prompts::{ListPromptsResult, Prompt};
///
/// let mut page = ListPromptsResult::new([Prompt::new("code_review")]);
/// assert!(serde_json::to_string(&page).is_err(), "it must say whether it may be kept");
/// page.caching = CachingHints::do_not_keep();
/// assert!(serde_json::to_string(&page).is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ListPromptsResult")]
#[non_exhaustive]
pub struct ListPromptsResult {
    /// Says that the result is complete, not an interim one.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// The prompts.
    pub prompts: Vec<Prompt>,
    /// The place where the next page begins; absent on the last one.
    pub next_cursor: Option<String>,
    /// Hints on caching the result.
    #[wire(flatten, lenient)]
    pub caching: CachingHints,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}
