//! Tools: listed, described and called.

use mrtr_macros::Wire;
use schemars::{Schema, json_schema};
use serde::Serializer;
use serde::ser::Error;
use serde_json::value::RawValue;

use crate::error::ReadError;
use crate::json::{JsonObject, Members, RawMembers};
use crate::revision::{Dialect, Feature, Revision};
use crate::types::caching::CachingHints;
use crate::types::content::{ContentBlock, StructuredContent};
use crate::types::implementation::Icon;
use crate::types::input::InputResponses;
use crate::types::meta::{Meta, RequestMeta, ResultMeta};
use crate::types::params::required_params;
use crate::types::request_state::RequestState;
use crate::types::result::CompleteType;
use crate::types::tasks::{TaskMetadata, ToolExecution};
use crate::wire::schema::Definitions;
use crate::wire::{Wire, serde_at_published_revision};

/// A tool, as a server describes it.
///
/// ```
/// use mrtr_schema::Tool;
/// use mrtr_schema::tools::InputSchema;
///
/// let mut tool = Tool::new("get_time", InputSchema::parse(r#"{"type": "object"}"#)?);
/// tool.description = Some("Tells the time".into());
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "Tool")]
#[non_exhaustive]
pub struct Tool {
    /// A name for programs.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// A description of what it does: for the model.
    pub description: Option<String>,
    /// The arguments it takes.
    pub input_schema: InputSchema,
    /// The structured content it returns.
    pub output_schema: Option<OutputSchema>,
    /// Says whether the tool runs as a task.
    #[wire(when = Feature::CoreTasks)]
    pub execution: Option<ToolExecution>,
    /// Hints on how it behaves, not to be trusted.
    pub annotations: Option<ToolAnnotations>,
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

/// Hints on how a tool behaves. A client must not rely on those of a server that it does not trust.
///
/// ```
/// use mrtr_schema::tools::ToolAnnotations;
///
/// let mut hints = ToolAnnotations::new();
/// hints.read_only_hint = Some(true);
/// assert_eq!(serde_json::to_string(&hints)?, r#"{"readOnlyHint":true}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "ToolAnnotations")]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// A name for people.
    pub title: Option<String>,
    /// The tool changes nothing.
    pub read_only_hint: Option<bool>,
    /// The tool may destroy something.
    pub destructive_hint: Option<bool>,
    /// A second call with the same arguments changes nothing further.
    pub idempotent_hint: Option<bool>,
    /// The tool reaches out to the world.
    pub open_world_hint: Option<bool>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The JSON Schema of a tool's arguments, kept as its author wrote it. Its `type` must be `object`.
///
/// ```
/// use mrtr_schema::tools::InputSchema;
///
/// let schema = InputSchema::parse(r#"{"type": "object", "x-order": 1.50}"#)?;
/// assert_eq!(schema.as_object().as_str(), r#"{"type": "object", "x-order": 1.50}"#);
/// assert!(InputSchema::parse(r#"{"type": "array"}"#).is_err());
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct InputSchema(JsonObject);

impl InputSchema {
    /// Reads a schema from JSON text.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        Self::from_object(JsonObject::parse(text)?)
    }

    /// Takes a schema, which must be one of objects.
    pub fn from_object(schema: JsonObject) -> Result<Self, ReadError> {
        check_dialect(&schema)?;
        RawMembers::of(schema.as_raw())?.constant("type", "object")?;
        Ok(Self(schema))
    }

    /// The schema as an object.
    pub fn as_object(&self) -> &JsonObject {
        &self.0
    }
}

/// The JSON Schema of a tool's structured content, kept as its author wrote it.
///
/// ```
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::tools::OutputSchema;
///
/// let list = OutputSchema::parse(r#"{"type":"array"}"#).unwrap();
/// assert_eq!(list.to_json(Revision::V2026_07_28)?, r#"{"type":"array"}"#);
/// assert!(list.to_json(Revision::Sep2322).is_err(), "an object there");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema(JsonObject);

impl OutputSchema {
    /// Reads a schema from JSON text.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        Self::from_object(JsonObject::parse(text)?)
    }

    /// Takes a schema of any value.
    pub fn from_object(schema: JsonObject) -> Result<Self, ReadError> {
        check_dialect(&schema)?;
        Ok(Self(schema))
    }

    /// The schema as an object.
    pub fn as_object(&self) -> &JsonObject {
        &self.0
    }
}

/// Checks that `$schema`, where there is one, is text.
fn check_dialect(schema: &JsonObject) -> Result<(), ReadError> {
    match RawMembers::of(schema.as_raw())?.get("$schema") {
        Some(dialect) => crate::json::text(dialect).map(drop).map_err(|error| error.in_member("$schema")),
        None => Ok(()),
    }
}

impl Wire for InputSchema {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        Self::from_object(JsonObject::read(value, dialect)?)
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(revision, serializer)
    }

    fn schema(_: &mut Definitions) -> Schema {
        json_schema!({
            "type": "object",
            "properties": { "$schema": { "type": "string" }, "type": { "type": "string", "const": "object" } },
            "required": ["type"],
            "additionalProperties": {},
        })
    }

    #[cfg(feature = "proptest")]
    fn any_value(_: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::prelude::*;
        let schemas = [
            r#"{"type": "object"}"#,
            r#"{"type": "object", "$schema": "https://json-schema.org/draft/2020-12/schema", "x": [1.50, {}]}"#,
            r#"{"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}"#,
        ];
        proptest::sample::select(schemas.to_vec()).prop_map(|text| Self::parse(text).expect("of objects")).boxed()
    }
}

impl OutputSchema {
    /// Checks a schema for a revision: older ones have structured content only as objects, and its schema must say so.
    fn check_in(schema: &RawValue, revision: Revision) -> Result<(), ReadError> {
        if revision.has(Feature::AnyStructuredContent) {
            return Ok(());
        }
        RawMembers::of(schema)?.constant("type", "object")
    }
}

impl Wire for OutputSchema {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        let schema = Self::from_object(JsonObject::read(value, dialect)?)?;
        Self::check_in(value, dialect.revision)?;
        Ok(schema)
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        Self::check_in(self.0.as_raw(), revision).map_err(S::Error::custom)?;
        self.0.write(revision, serializer)
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        if !definitions.dialect().revision.has(Feature::AnyStructuredContent) {
            return InputSchema::schema(definitions);
        }
        json_schema!({
            "type": "object",
            "properties": { "$schema": { "type": "string" } },
            "additionalProperties": {},
        })
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::prelude::*;
        InputSchema::any_value(revision).prop_map(|schema| Self(schema.0)).boxed()
    }
}

serde_at_published_revision!(InputSchema);
serde_at_published_revision!(OutputSchema);

/// Parameters of `tools/call`, first attempts and retries alike.
///
/// ```
/// use mrtr_schema::JsonObject;
/// use mrtr_schema::tools::CallToolParams;
///
/// let mut params = CallToolParams::new("get_weather");
/// params.arguments = Some(JsonObject::parse(r#"{"location": "New York"}"#)?);
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "CallToolRequestParams")]
#[non_exhaustive]
pub struct CallToolParams {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Option<JsonObject>,
    /// Asks for the call to run as a task.
    #[wire(when = Feature::CoreTasks)]
    pub task: Option<TaskMetadata>,
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

required_params!(CallToolParams);

/// The result of a tool.
///
/// ```
/// use mrtr_schema::{CallToolResult, ContentBlock};
///
/// let result = CallToolResult::new([ContentBlock::text("Bug #4522 resolved")]);
/// assert_eq!(
///     serde_json::to_string(&result)?,
///     r##"{"resultType":"complete","content":[{"type":"text","text":"Bug #4522 resolved"}]}"##,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "CallToolResult")]
#[non_exhaustive]
pub struct CallToolResult {
    /// Says that the result is complete, not an interim one.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// The content that the tool returned: for the model.
    pub content: Vec<ContentBlock>,
    /// The result for programs.
    pub structured_content: Option<StructuredContent>,
    /// True if the tool failed. The model sees it and may try again.
    pub is_error: Option<bool>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

impl CallToolResult {
    /// Returns the tool's result as text, a line a block: the server's words, as they came. Show them as
    /// [`Printable`](crate::Printable).
    ///
    /// ```
    /// use mrtr_schema::CallToolResult;
    ///
    /// let result = r#"{"content": [{"type": "text", "text": "Hello"}, {"type": "text", "text": "Ada"}]}"#;
    /// assert_eq!(serde_json::from_str::<CallToolResult>(result)?.text(), "Hello\nAda");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            ContentBlock::Text(content) => Some(content.text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// One page of a server's tools.
///
/// ```
/// use mrtr_schema::{CacheScope, CachingHints, Tool};
/// use mrtr_schema::tools::ListToolsResult;
///
/// let mut page = ListToolsResult::new(Vec::<Tool>::new());
/// page.caching = CachingHints::keep(60_000, CacheScope::Public);
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ListToolsResult")]
#[non_exhaustive]
pub struct ListToolsResult {
    /// Says that the result is complete, not an interim one.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// The tools.
    pub tools: Vec<Tool>,
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
