//! The errors of this crate: each says why, and its docs say who is to blame.
//!
//! Two errors stand elsewhere: `EnvelopeError` beside the envelope, because it knows ids and codes, and nothing here
//! imports types; `UnknownRevision` in `revision.rs`, which alone knows the names of revisions.

mod read;

use crate::revision::Revision;

pub use read::{JsonPath, Problem, ReadError};
pub(crate) use read::{LONGEST_REASON, shortened};

/// The reason why a text is not a key that an application may use.
///
/// ```
/// use mrtr_schema::error::MetaKeyError;
/// use mrtr_schema::meta::MetaKey;
///
/// assert_eq!(MetaKey::new("tools.mcp.com/trace"), Err(MetaKeyError::Reserved));
/// assert_eq!(MetaKey::new("com..example/trace"), Err(MetaKeyError::Prefix));
/// assert_eq!(MetaKey::new("com.example/trace-"), Err(MetaKeyError::Name));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetaKeyError {
    /// The part before the slash breaks the rules.
    #[error(
        "a prefix is labels joined by dots; a label begins with a letter, ends with a letter or digit, and holds \
         hyphens only in between"
    )]
    Prefix,
    /// The prefix is the protocol's own.
    #[error("prefixes whose second label is `modelcontextprotocol` or `mcp` are reserved")]
    Reserved,
    /// The part after the slash breaks the rules.
    #[error("a name begins and ends with a letter or digit, and holds hyphens, underscores and dots only in between")]
    Name,
}

/// The reason why a text is not the method of an application's own input.
///
/// ```
/// use mrtr_schema::Method;
/// use mrtr_schema::error::MethodError;
///
/// assert_eq!(Method::new("sampling/createMessage"), Err(MethodError::NotNamespaced));
/// assert_eq!(Method::new("dev.mcp/approval"), Err(MethodError::Reserved));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MethodError {
    /// The method is not a reverse-DNS prefix of two labels or more, a slash and a name. All standard methods are of
    /// this kind.
    #[error("not a reverse-DNS prefix, a slash and a name, such as `com.example/approval`")]
    NotNamespaced,
    /// The prefix is the protocol's own.
    #[error("prefixes whose second label is `modelcontextprotocol` or `mcp` are reserved")]
    Reserved,
}

/// The reason why a form cannot ask for a Rust type. The author of the type is to blame.
///
/// ```
/// use mrtr_schema::{Form, FormError};
///
/// #[derive(schemars::JsonSchema)]
/// struct Order {
///     lines: Vec<(String, u32)>,
/// }
///
/// assert!(matches!(Form::of::<Order>(), Err(FormError::Field { field, .. }) if field == "lines"));
/// assert!(matches!(Form::of::<String>(), Err(FormError::Type { .. })));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormError {
    /// The type as a whole is not a struct whose fields are all known by name.
    #[error("`{type_name}` cannot be a form: {reason}")]
    Type {
        /// The Rust type.
        type_name: &'static str,
        /// The reason for the refusal.
        reason: String,
    },
    /// One of its fields is of a kind that forms do not have.
    #[error("field `{field}` of `{type_name}` cannot be in a form: {reason}")]
    Field {
        /// The Rust type.
        type_name: &'static str,
        /// The field, as it is called on the wire.
        field: String,
        /// The reason for the refusal.
        reason: String,
    },
}

/// The reason why a revision has no way to ask a server's question. The author of the handler is told: the server
/// cannot ask a client of that revision so.
///
/// ```
/// use mrtr_schema::{Form, NotInRevision, Revision};
///
/// let tags = r#"{"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}"#;
/// let form = Form::parse(&format!(r#"{{"type": "object", "properties": {{"tags": {tags}}}}}"#))?;
/// let error = form.in_revision(Revision::V2025_06_18).unwrap_err();
/// assert_eq!(error.to_string(), "field `tags` of the form takes several values, which 2025-06-18 cannot ask for");
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotInRevision {
    /// A form has a field of a kind that the revision does not have.
    #[error("field `{field}` of the form takes several values, which {revision} cannot ask for")]
    Field {
        /// The field.
        field: String,
        /// The revision.
        revision: Revision,
    },
    /// A person is to visit a URL.
    #[error("{revision} cannot ask a person to visit a URL")]
    Url {
        /// The revision.
        revision: Revision,
    },
    /// A model is to use tools.
    #[error("{revision} cannot ask a model to use tools")]
    SamplingTools {
        /// The revision.
        revision: Revision,
    },
    /// A message to a model is not of one block.
    #[error("a message to a model has exactly one block of content in {revision}")]
    SamplingBlocks {
        /// The revision.
        revision: Revision,
    },
    /// The revision has no such input at all.
    #[error("`{method}` is not an input request of {revision}")]
    Input {
        /// The method of the input.
        method: String,
        /// The revision.
        revision: Revision,
    },
}

/// The reason why the tool uses and tool results of a conversation do not match.
///
/// ```
/// use mrtr_schema::JsonObject;
/// use mrtr_schema::content::Role;
/// use mrtr_schema::sampling::{CreateMessageParams, SamplingContent, SamplingMessage, ToolUseContent};
///
/// let wants = SamplingContent::ToolUse(ToolUseContent::new("use-1", "get_weather", JsonObject::default()));
/// let params = CreateMessageParams::new([SamplingMessage::new(Role::Assistant, wants)], 100_u64);
/// let error = params.check_tool_results().unwrap_err();
/// assert_eq!(error.to_string(), "tool use `use-1` has no result in the message after it");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolResultsError {
    /// A message holds results beside something else, or results or uses are on the wrong side.
    #[error(
        "tool uses belong in the assistant's messages; tool results in the user's, each once and without other content"
    )]
    Mixed,
    /// Two uses in one message have the same id.
    #[error("two tool uses have the id `{0}`")]
    Repeated(String),
    /// A use has no result in the message that follows.
    #[error("tool use `{0}` has no result in the message after it")]
    Unanswered(String),
    /// A result has no use in the message before.
    #[error("tool result `{0}` answers no tool use of the message before it")]
    Unasked(String),
}

/// The reason why a document is not a schema that values can be checked against.
///
/// ```
/// use mrtr_schema::{Json, SchemaCheck};
///
/// let elsewhere = Json::parse(r#"{"$ref": "https://example.com/schema.json"}"#)?;
/// let error = SchemaCheck::new(elsewhere.as_raw()).unwrap_err();
/// assert!(error.to_string().starts_with("not a usable JSON Schema: "), "nothing is ever fetched");
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[cfg(feature = "validate")]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a usable JSON Schema: {0}")]
pub struct SchemaError(pub(crate) String);
