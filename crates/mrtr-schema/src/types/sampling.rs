//! Sampling: a model's completion, asked for through the client.

use std::collections::HashSet;

use mrtr_macros::Wire;
use schemars::Schema;
use serde::Serializer;
use serde::ser::Error;
use serde_json::value::RawValue;

use crate::error::{NotInRevision, ReadError, ToolResultsError};
use crate::json::{JsonObject, Members, Number};
use crate::revision::{Dialect, Feature, Revision};
use crate::types::content::{AudioContent, ContentBlock, Fraction, ImageContent, Role, StructuredContent, TextContent};
use crate::types::meta::{Meta, RequestMeta};
use crate::types::params::required_params;
use crate::types::tools::Tool;
use crate::wire::Wire;
use crate::wire::schema::Definitions;

/// Asks a model for a completion.
///
/// ```
/// use mrtr_schema::InputRequest;
/// use mrtr_schema::sampling::{CreateMessageParams, CreateMessageRequest, SamplingMessage};
///
/// let params = CreateMessageParams::new([SamplingMessage::user("Name a colour.")], 10_u64);
/// let request = InputRequest::from(CreateMessageRequest::new(params));
/// assert_eq!(request.method(), "sampling/createMessage");
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "CreateMessageRequest", when = Feature::InterimResults, tag(method = "sampling/createMessage"))]
#[non_exhaustive]
pub struct CreateMessageRequest {
    /// The question to the model.
    pub params: CreateMessageParams,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A question to a model.
///
/// ```
/// use mrtr_schema::sampling::{CreateMessageParams, SamplingMessage};
///
/// let mut params = CreateMessageParams::new([SamplingMessage::user("What is the capital of France?")], 100_u64);
/// params.system_prompt = Some("You are a helpful assistant.".into());
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "CreateMessageRequestParams")]
#[non_exhaustive]
pub struct CreateMessageParams {
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// The most tokens to generate.
    pub max_tokens: u64,
    /// The kind of model that the server would like.
    pub model_preferences: Option<ModelPreferences>,
    /// A system prompt, which the client may change or leave out.
    pub system_prompt: Option<String>,
    /// The servers whose context to add. Needs `sampling.context`, unless it is `none`.
    pub include_context: Option<IncludeContext>,
    /// The temperature: a higher one samples more freely.
    pub temperature: Option<Number>,
    /// The texts at which the model is to stop.
    pub stop_sequences: Option<Vec<String>>,
    /// Other settings that the provider takes.
    pub metadata: Option<JsonObject>,
    /// Tools that the model may use. Needs `sampling.tools`.
    #[wire(when = Feature::SamplingTools)]
    pub tools: Option<Vec<Tool>>,
    /// Says whether the model must use a tool. Needs `sampling.tools`.
    #[wire(when = Feature::SamplingTools)]
    pub tool_choice: Option<ToolChoice>,
    /// Metadata.
    #[wire(rename = "_meta", when = Feature::InputMetadata)]
    pub meta: Option<Box<RequestMeta>>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

required_params!(CreateMessageParams);

impl CreateMessageParams {
    /// Checks the rules for tools (SA-1): each use is followed by its result, in a message of the user that holds
    /// results and nothing else.
    ///
    /// ```
    /// use mrtr_schema::JsonObject;
    /// use mrtr_schema::content::Role;
    /// use mrtr_schema::sampling::{CreateMessageParams, SamplingContent, SamplingMessage, ToolResultContent, ToolUseContent};
    ///
    /// let uses = SamplingContent::ToolUse(ToolUseContent::new("use-1", "get_weather", JsonObject::default()));
    /// let answers = SamplingContent::ToolResult(ToolResultContent::new("use-1", Vec::new()));
    /// let messages = [SamplingMessage::new(Role::Assistant, uses), SamplingMessage::new(Role::User, answers)];
    /// assert!(CreateMessageParams::new(messages, 100_u64).check_tool_results().is_ok());
    /// ```
    pub fn check_tool_results(&self) -> Result<(), ToolResultsError> {
        let mut open = HashSet::new();
        for message in &self.messages {
            let results: HashSet<_> = message.content.iter().filter_map(SamplingContent::answers).collect();
            if !results.is_empty() && (message.role != Role::User || results.len() != message.content.len()) {
                return Err(ToolResultsError::Mixed);
            }
            let uses: Vec<_> = message.content.iter().filter_map(SamplingContent::uses).collect();
            if !uses.is_empty() && message.role != Role::Assistant {
                return Err(ToolResultsError::Mixed);
            }
            if let Some(id) = results.difference(&open).next() {
                return Err(ToolResultsError::Unasked((*id).to_owned()));
            }
            if let Some(id) = open.difference(&results).next() {
                return Err(ToolResultsError::Unanswered((*id).to_owned()));
            }
            open.clear();
            for id in uses {
                if !open.insert(id) {
                    return Err(ToolResultsError::Repeated(id.to_owned()));
                }
            }
        }
        open.into_iter().next().map_or(Ok(()), |id| Err(ToolResultsError::Unanswered(id.to_owned())))
    }
}

/// One message of a conversation with a model.
///
/// ```
/// use mrtr_schema::sampling::SamplingMessage;
///
/// let message = SamplingMessage::user("Name a colour.");
/// assert_eq!(
///     serde_json::to_string(&message)?,
///     r#"{"role":"user","content":{"type":"text","text":"Name a colour."}}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "SamplingMessage")]
#[non_exhaustive]
pub struct SamplingMessage {
    /// The author of the message.
    pub role: Role,
    /// The content of the message.
    pub content: OneOrMany<SamplingContent>,
    /// Metadata.
    #[wire(rename = "_meta", when = Feature::SamplingMessageMetadata)]
    pub meta: Option<Meta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

impl SamplingMessage {
    /// Something that the user says.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, SamplingContent::Text(TextContent::new(text)))
    }

    /// Something that the model said.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, SamplingContent::Text(TextContent::new(text)))
    }
}

/// One piece of a conversation with a model.
///
/// ```
/// use mrtr_schema::sampling::SamplingContent;
///
/// let block = r#"{"type": "tool_use", "id": "use-1", "name": "get_weather", "input": {"city": "Paris"}}"#;
/// assert!(matches!(serde_json::from_str(block)?, SamplingContent::ToolUse(_)));
/// assert!(serde_json::from_str::<SamplingContent>(r#"{"type": "resource_link"}"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "SamplingMessageContentBlock", tag = "type")]
#[non_exhaustive]
pub enum SamplingContent {
    /// Text.
    #[wire(value = "text")]
    Text(TextContent),
    /// An image.
    #[wire(value = "image")]
    Image(ImageContent),
    /// Sound.
    #[wire(value = "audio")]
    Audio(AudioContent),
    /// The model wants a tool called.
    #[wire(value = "tool_use", when = Feature::SamplingTools)]
    ToolUse(ToolUseContent),
    /// The result of a tool, for the model.
    #[wire(value = "tool_result", when = Feature::SamplingTools)]
    ToolResult(ToolResultContent),
}

impl SamplingContent {
    fn uses(&self) -> Option<&str> {
        if let Self::ToolUse(content) = self { Some(&content.id) } else { None }
    }

    fn answers(&self) -> Option<&str> {
        if let Self::ToolResult(content) = self { Some(&content.tool_use_id) } else { None }
    }
}

/// The model wants a tool called.
///
/// ```
/// use mrtr_schema::JsonObject;
/// use mrtr_schema::sampling::ToolUseContent;
///
/// let wanted = ToolUseContent::new("use-1", "get_weather", JsonObject::parse(r#"{"city":"Paris"}"#).unwrap());
/// assert_eq!(
///     serde_json::to_string(&wanted)?,
///     r#"{"type":"tool_use","id":"use-1","name":"get_weather","input":{"city":"Paris"}}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ToolUseContent", when = Feature::SamplingTools, tag(type = "tool_use"))]
#[non_exhaustive]
pub struct ToolUseContent {
    /// A name for this use, which its result repeats.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub input: JsonObject,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<Meta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The result of a tool, for the model.
///
/// ```
/// use mrtr_schema::ContentBlock;
/// use mrtr_schema::sampling::ToolResultContent;
///
/// let result = ToolResultContent::new("use-1", [ContentBlock::text("Sunny")]);
/// assert_eq!(
///     serde_json::to_string(&result)?,
///     r#"{"type":"tool_result","toolUseId":"use-1","content":[{"type":"text","text":"Sunny"}]}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ToolResultContent", when = Feature::SamplingTools, tag(type = "tool_result"))]
#[non_exhaustive]
pub struct ToolResultContent {
    /// The use that it answers.
    pub tool_use_id: String,
    /// The content that the tool returned.
    pub content: Vec<ContentBlock>,
    /// The result for programs.
    pub structured_content: Option<StructuredContent>,
    /// True if the tool failed.
    pub is_error: Option<bool>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<Meta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The kind of model that a server would like; the client decides.
///
/// ```
/// use mrtr_schema::content::Fraction;
/// use mrtr_schema::sampling::ModelPreferences;
///
/// let mut fast = ModelPreferences::new();
/// fast.speed_priority = Some(Fraction::try_from(0.9)?);
/// assert_eq!(serde_json::to_string(&fast).unwrap(), r#"{"speedPriority":0.9}"#);
/// assert!(serde_json::from_str::<ModelPreferences>(r#"{"costPriority": 2}"#).is_err(), "from 0 to 1");
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "ModelPreferences")]
#[non_exhaustive]
pub struct ModelPreferences {
    /// Models by name, best first.
    pub hints: Option<Vec<ModelHint>>,
    /// The importance of a low cost.
    pub cost_priority: Option<Fraction>,
    /// The importance of speed.
    pub speed_priority: Option<Fraction>,
    /// The importance of intelligence.
    pub intelligence_priority: Option<Fraction>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A hint at the model to use, by its name.
///
/// ```
/// use mrtr_schema::sampling::{ModelHint, ModelPreferences};
///
/// let mut sonnet = ModelHint::new();
/// sonnet.name = Some("sonnet".into());
/// let mut preferences = ModelPreferences::new();
/// preferences.hints = Some(vec![sonnet]);
/// assert_eq!(serde_json::to_string(&preferences)?, r#"{"hints":[{"name":"sonnet"}]}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "ModelHint")]
#[non_exhaustive]
pub struct ModelHint {
    /// Part of a model's name.
    pub name: Option<String>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Says whether the model must use a tool.
///
/// ```
/// use mrtr_schema::sampling::{ToolChoice, ToolChoiceMode};
///
/// let mut choice = ToolChoice::new();
/// assert_eq!(serde_json::to_string(&choice)?, "{}", "the model decides");
/// choice.mode = Some(ToolChoiceMode::Required);
/// assert_eq!(serde_json::to_string(&choice)?, r#"{"mode":"required"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "ToolChoice", when = Feature::SamplingTools)]
#[non_exhaustive]
pub struct ToolChoice {
    /// The mode; absent means that the model decides.
    pub mode: Option<ToolChoiceMode>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Says whether the model must use a tool, or leaves it to the model.
///
/// ```
/// use mrtr_schema::sampling::{ToolChoice, ToolChoiceMode};
///
/// let choice: ToolChoice = serde_json::from_str(r#"{"mode": "none"}"#)?;
/// assert_eq!(choice.mode, Some(ToolChoiceMode::None));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Wire)]
#[non_exhaustive]
pub enum ToolChoiceMode {
    /// The model decides.
    Auto,
    /// The model must use one tool or more.
    Required,
    /// The model must not use a tool.
    None,
}

/// The servers whose context the client adds to a sampling request.
///
/// ```
/// use mrtr_schema::sampling::IncludeContext;
///
/// assert_eq!(serde_json::to_string(&IncludeContext::ThisServer)?, r#""thisServer""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Wire)]
#[non_exhaustive]
pub enum IncludeContext {
    /// No server's.
    None,
    /// The asking server's.
    ThisServer,
    /// Every server's.
    AllServers,
}

/// The answer of a model.
///
/// ```
/// use mrtr_schema::content::{Role, TextContent};
/// use mrtr_schema::sampling::{CreateMessageResult, SamplingContent};
///
/// let text = TextContent::new("The capital of France is Paris.");
/// let result = CreateMessageResult::new(Role::Assistant, SamplingContent::Text(text), "claude-3-sonnet-20240307");
/// assert_eq!(result.text().as_deref(), Some("The capital of France is Paris."));
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "CreateMessageResult")]
#[non_exhaustive]
pub struct CreateMessageResult {
    /// The author of the message.
    pub role: Role,
    /// The content of the message.
    pub content: OneOrMany<SamplingContent>,
    /// The model that said it.
    pub model: String,
    /// The reason why the model stopped, such as `endTurn`, `stopSequence`, `maxTokens` or `toolUse`.
    pub stop_reason: Option<String>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<Meta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

impl CreateMessageResult {
    /// All text blocks as one, if there is any.
    pub fn text(&self) -> Option<String> {
        let mut texts = self.content.iter().filter_map(|block| match block {
            SamplingContent::Text(content) => Some(content.text.as_str()),
            _ => None,
        });
        let first = texts.next()?.to_owned();
        Some(texts.fold(first, |text, more| text + more))
    }
}

/// One value, or a list of them. It remembers which, so that it is written as it was read.
///
/// ```
/// use mrtr_schema::sampling::OneOrMany;
///
/// let one = OneOrMany::One("a".to_owned());
/// let many = OneOrMany::Many(vec!["a".to_owned(), "b".to_owned()]);
/// assert_eq!((one.len(), many.len()), (1, 2));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "there is nothing between one and many")]
pub enum OneOrMany<T> {
    /// One value by itself.
    One(T),
    /// A list.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// The values.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.as_slice().iter()
    }

    /// The values as a slice.
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }

    /// Counts the items.
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Returns true if there are no items.
    pub fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }
}

impl<'a, T> IntoIterator for &'a OneOrMany<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> From<T> for OneOrMany<T> {
    fn from(value: T) -> Self {
        Self::One(value)
    }
}

impl<T> From<Vec<T>> for OneOrMany<T> {
    fn from(values: Vec<T>) -> Self {
        Self::Many(values)
    }
}

/// Lists need [`Feature::SamplingBlocks`]: a revision without it has one value, and a list of one is written as that.
impl<T: Wire> Wire for OneOrMany<T> {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        if value.get().starts_with('[') && dialect.revision.has(Feature::SamplingBlocks) {
            Vec::read(value, dialect).map(Self::Many)
        } else {
            T::read(value, dialect).map(Self::One)
        }
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        match (self, self.as_slice()) {
            (Self::Many(values), _) if revision.has(Feature::SamplingBlocks) => values.write(revision, serializer),
            (_, [value]) => value.write(revision, serializer),
            _ => Err(S::Error::custom(NotInRevision::SamplingBlocks { revision })),
        }
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        let mut choices = vec![definitions.reference::<T>()];
        if definitions.dialect().revision.has(Feature::SamplingBlocks) {
            choices.push(definitions.reference::<Vec<T>>());
        }
        schemars::json_schema!({ "anyOf": choices })
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::prelude::*;
        let one = T::any_value(revision).prop_map(Self::One);
        if !revision.has(Feature::SamplingBlocks) {
            return one.boxed();
        }
        prop_oneof![one, Vec::any_value(revision).prop_map(Self::Many)].boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(ids: &[&str]) -> SamplingMessage {
        let block = |id: &&str| SamplingContent::ToolUse(ToolUseContent::new(*id, "weather", JsonObject::default()));
        SamplingMessage::new(Role::Assistant, ids.iter().map(block).collect::<Vec<_>>())
    }

    fn results(ids: &[&str]) -> SamplingMessage {
        let block = |id: &&str| SamplingContent::ToolResult(ToolResultContent::new(*id, Vec::new()));
        SamplingMessage::new(Role::User, ids.iter().map(block).collect::<Vec<_>>())
    }

    fn check(messages: Vec<SamplingMessage>) -> Result<(), ToolResultsError> {
        CreateMessageParams::new(messages, 100_u64).check_tool_results()
    }

    #[test]
    fn sa_1_each_tool_use_gets_its_result_in_a_message_of_its_own() {
        let ask = || SamplingMessage::user("Weather?");
        assert_eq!(check(vec![ask(), uses(&["a", "b"]), results(&["b", "a"])]), Ok(()));
        assert_eq!(check(vec![ask(), uses(&["a"])]), Err(ToolResultsError::Unanswered("a".into())));
        assert_eq!(check(vec![ask(), uses(&["a"]), ask()]), Err(ToolResultsError::Unanswered("a".into())));
        assert_eq!(check(vec![results(&["a"])]), Err(ToolResultsError::Unasked("a".into())));
        let mut beside_text = results(&["a"]);
        beside_text.content = OneOrMany::Many(
            beside_text.content.iter().cloned().chain([SamplingContent::Text(TextContent::new("and"))]).collect(),
        );
        assert_eq!(check(vec![uses(&["a"]), beside_text]), Err(ToolResultsError::Mixed));
        assert_eq!(check(vec![uses(&["a"]), results(&["a", "a"])]), Err(ToolResultsError::Mixed));
        assert_eq!(check(vec![uses(&["a", "a"]), results(&["a"])]), Err(ToolResultsError::Repeated("a".into())));
        let mut by_the_user = uses(&["a"]);
        by_the_user.role = Role::User;
        assert_eq!(check(vec![by_the_user, results(&["a"])]), Err(ToolResultsError::Mixed));
    }
}
