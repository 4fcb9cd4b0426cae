//! What a tool gives back: text, content, structured values, or a question by hand.

use mrtr_schema::{
    AudioContent, CallToolResult, ContentBlock, EmbeddedResource, ImageContent, InputRequest, InputRequests, Json,
    JsonObject, OutputSchema, ReadError, ResourceLink, StructuredContent,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Failure;

/// What a handler may return.
///
/// Text, content blocks, images, resources, a [`CallToolResult`] written by hand, [`Structured`] values whose schema
/// the tool then announces, or [`InputRequired`].
pub trait IntoOutput {
    /// Makes a result of it.
    fn into_output(self) -> Result<Output, Failure>;

    /// The schema that structured results follow, if they are.
    fn output_schema() -> Result<Option<OutputSchema>, ReadError> {
        Ok(None)
    }
}

/// What a handler returned.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "a result is complete, or it asks")]
#[expect(clippy::large_enum_variant, reason = "the large one is the usual one, and there is one a call")]
pub enum Output {
    /// A complete result.
    Complete(CallToolResult),
    /// A question by hand.
    InputRequired(InputRequired),
}

impl IntoOutput for Output {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(self)
    }
}

impl IntoOutput for CallToolResult {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::Complete(self))
    }
}

impl IntoOutput for Vec<ContentBlock> {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::Complete(CallToolResult::new(self)))
    }
}

impl IntoOutput for () {
    fn into_output(self) -> Result<Output, Failure> {
        Vec::new().into_output()
    }
}

macro_rules! one_content_block {
    ($($content:ty => $block:expr;)*) => {$(
        impl IntoOutput for $content {
            fn into_output(self) -> Result<Output, Failure> {
                let block: fn($content) -> ContentBlock = $block;
                vec![block(self)].into_output()
            }
        }
    )*};
}
one_content_block! {
    String => ContentBlock::text;
    &'static str => ContentBlock::text;
    ContentBlock => |block| block;
    ImageContent => ContentBlock::Image;
    AudioContent => ContentBlock::Audio;
    EmbeddedResource => ContentBlock::Resource;
    ResourceLink => ContentBlock::ResourceLink;
}

/// A value for programs, with its schema: goes out as structured content, and as text for those that read only that.
///
/// ```
/// # use mrtr_server::{Failure, Flow, Structured};
/// #[derive(serde::Serialize, schemars::JsonSchema)]
/// struct Weather { celsius: f64 }
///
/// async fn weather(_: Flow) -> Result<Structured<Weather>, Failure> {
///     Ok(Structured(Weather { celsius: 21.5 }))
/// }
/// ```
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "a wrapper, to be filled in and taken apart")]
pub struct Structured<T>(pub T);

impl<T: Serialize + JsonSchema> IntoOutput for Structured<T> {
    fn into_output(self) -> Result<Output, Failure> {
        let value = StructuredContent::of(&self.0)?;
        let mut result = CallToolResult::new([ContentBlock::text(value.as_json().as_str())]);
        result.structured_content = Some(value);
        Ok(Output::Complete(result))
    }

    fn output_schema() -> Result<Option<OutputSchema>, ReadError> {
        let schema = JsonObject::of(&schemars::schema_for!(T))?;
        OutputSchema::from_object(schema).map(Some)
    }
}

/// A question by hand: the low road, for those who keep their own account of where they are.
///
/// The state is sealed for them. On the retry, [`Flow::given`](crate::Flow::given) has the answers as they came, and
/// [`Flow::carried`](crate::Flow::carried) the state.
///
/// ```
/// # use mrtr_server::{Failure, Flow, InputRequired, IntoOutput, Output};
/// use mrtr_schema::ListRootsRequest;
///
/// async fn count(flow: Flow) -> Result<Output, Failure> {
///     if flow.given("roots").is_none() {
///         return InputRequired::new().ask("roots", ListRootsRequest::new()).carry(&1)?.into_output();
///     }
///     let round: u8 = flow.carried().unwrap_or_default();
///     format!("answered in round {}", round + 1).into_output()
/// }
/// ```
#[derive(Debug, Clone, Default)]
#[expect(clippy::exhaustive_structs, reason = "written as a literal by those who take the low road")]
pub struct InputRequired {
    /// What to ask, by key.
    pub requests: InputRequests,
    /// What to have carried.
    pub state: Option<Json>,
}

impl InputRequired {
    /// Nothing yet. A reply must ask or carry something.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for one more input.
    #[must_use]
    pub fn ask(mut self, key: impl Into<String>, request: impl Into<InputRequest>) -> Self {
        self.requests.insert(key, request);
        self
    }

    /// Has the client carry this, sealed.
    pub fn carry<S: Serialize>(mut self, state: &S) -> Result<Self, ReadError> {
        self.state = Some(Json::of(state)?);
        Ok(self)
    }
}

impl IntoOutput for InputRequired {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::InputRequired(self))
    }
}
