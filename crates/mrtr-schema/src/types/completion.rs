//! Completion: suggestions for the rest of what a user is typing.

use indexmap::IndexMap;
use mrtr_macros::Wire;
use schemars::{Schema, json_schema};
use serde::Serializer;
use serde_json::value::RawValue;

use crate::error::ReadError;
use crate::json::Members;
use crate::revision::{Dialect, Feature, Revision};
use crate::types::meta::{RequestMeta, ResultMeta};
use crate::types::params::{RetryAnywhere, required_params};
use crate::types::result::CompleteType;
use crate::wire::Wire;
use crate::wire::schema::Definitions;

/// Parameters of `completion/complete`.
///
/// ```
/// use mrtr_schema::completion::{CompleteParams, CompletionArgument, PromptReference};
///
/// let typed = CompletionArgument::new("language", "py");
/// let params = CompleteParams::new(PromptReference::new("code_review"), typed);
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "CompleteRequestParams")]
#[non_exhaustive]
pub struct CompleteParams {
    /// The prompt or resource template that the argument belongs to.
    #[wire(rename = "ref")]
    pub reference: CompletionReference,
    /// The argument to complete, with the text typed so far.
    pub argument: CompletionArgument,
    /// The arguments that are filled in already.
    pub context: Option<CompletionContext>,
    /// The members that make the request a retry, in `draft-2026-02`.
    #[wire(flatten, lenient)]
    pub retry: RetryAnywhere,
    /// Metadata.
    #[wire(rename = "_meta", required = Feature::RequestMetadata)]
    pub meta: Option<RequestMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

required_params!(CompleteParams);

/// The prompt or resource template that an argument belongs to.
///
/// ```
/// use mrtr_schema::completion::CompletionReference;
///
/// let reference: CompletionReference = serde_json::from_str(r#"{"type": "ref/prompt", "name": "code_review"}"#)?;
/// assert!(matches!(reference, CompletionReference::Prompt(prompt) if prompt.name == "code_review"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "type")]
#[non_exhaustive]
pub enum CompletionReference {
    /// A prompt.
    #[wire(value = "ref/prompt")]
    Prompt(PromptReference),
    /// A family of resources.
    #[wire(value = "ref/resource")]
    Resource(ResourceTemplateReference),
}

/// A prompt, by name.
///
/// ```
/// use mrtr_schema::completion::PromptReference;
///
/// let prompt = PromptReference::new("code_review");
/// assert_eq!(serde_json::to_string(&prompt)?, r#"{"type":"ref/prompt","name":"code_review"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "PromptReference", tag(type = "ref/prompt"))]
#[non_exhaustive]
pub struct PromptReference {
    /// A name for programs.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A resource or a family of resources, by URI.
///
/// ```
/// use mrtr_schema::completion::ResourceTemplateReference;
///
/// let logs = ResourceTemplateReference::new("file:///logs/{date}");
/// assert_eq!(serde_json::to_string(&logs)?, r#"{"type":"ref/resource","uri":"file:///logs/{date}"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ResourceTemplateReference", tag(type = "ref/resource"))]
#[non_exhaustive]
pub struct ResourceTemplateReference {
    /// The URI or its template.
    #[wire(format = "uri-template")]
    pub uri: String,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The argument to complete, with the text typed so far.
///
/// ```
/// use mrtr_schema::completion::CompletionArgument;
///
/// let typed = CompletionArgument::new("language", "py");
/// assert_eq!(serde_json::to_string(&typed)?, r#"{"name":"language","value":"py"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[non_exhaustive]
pub struct CompletionArgument {
    /// Its name.
    pub name: String,
    /// The text typed so far.
    pub value: String,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The context in which an argument is typed.
///
/// ```
/// use mrtr_schema::completion::CompletionContext;
///
/// let known: CompletionContext = serde_json::from_str(r#"{"arguments": {"language": "python"}}"#)?;
/// assert_eq!(known.arguments.unwrap()["language"], "python");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[non_exhaustive]
pub struct CompletionContext {
    /// The arguments that are filled in.
    pub arguments: Option<IndexMap<String, String>>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The result of a completion: the values that may follow.
///
/// ```
/// use mrtr_schema::completion::{CompleteResult, Completion, CompletionValues};
///
/// let result = CompleteResult::new(Completion::new(CompletionValues::first_of(["python"])));
/// assert_eq!(
///     serde_json::to_string(&result)?,
///     r#"{"resultType":"complete","completion":{"values":["python"]}}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "CompleteResult")]
#[non_exhaustive]
pub struct CompleteResult {
    /// Says that the result is complete, not an interim one.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// The values that may follow.
    pub completion: Completion,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The values that may follow, and their number.
///
/// ```
/// use mrtr_schema::completion::{Completion, CompletionValues};
///
/// let mut some = Completion::new(CompletionValues::first_of(["python", "pytorch"]));
/// some.total = Some(10);
/// some.has_more = Some(true);
/// assert_eq!(serde_json::to_string(&some)?, r#"{"values":["python","pytorch"],"total":10,"hasMore":true}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[non_exhaustive]
pub struct Completion {
    /// The values, best first.
    pub values: CompletionValues,
    /// The number of values in all, if known.
    pub total: Option<u64>,
    /// True if there are more values than these.
    pub has_more: Option<bool>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The values that may follow: a hundred at most.
///
/// ```
/// use mrtr_schema::completion::CompletionValues;
///
/// assert_eq!(CompletionValues::first_of(["python", "pytorch"]).as_slice().len(), 2);
/// assert_eq!(CompletionValues::first_of(vec!["x"; 500]).as_slice().len(), 100);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompletionValues(Vec<String>);

impl CompletionValues {
    /// Keeps the first of the values, as many as may be sent.
    pub fn first_of<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        Self(values.into_iter().take(MOST_VALUES).map(Into::into).collect())
    }

    /// The values, best first.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }
}

impl Wire for CompletionValues {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        let values = Vec::read(value, dialect)?;
        if values.len() > MOST_VALUES {
            return Err(ReadError::refused(format!("has {} values, more than {MOST_VALUES}", values.len())));
        }
        Ok(Self(values))
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(revision, serializer)
    }

    fn schema(_: &mut Definitions) -> Schema {
        json_schema!({ "type": "array", "items": { "type": "string" }, "maxItems": MOST_VALUES })
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::strategy::Strategy;
        Vec::any_value(revision).prop_map(Self).boxed()
    }
}

const MOST_VALUES: usize = 100;
