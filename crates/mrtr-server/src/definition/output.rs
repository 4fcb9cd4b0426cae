//! The output of a handler: text, content, structured values, or a question by hand.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mrtr_flow::Failure;
use mrtr_flow::for_server::Manual;
use mrtr_schema::completion::{CompleteResult, Completion, CompletionValues};
use mrtr_schema::content::{
    AudioContent, BlobResourceContents, EmbeddedResource, ImageContent, ResourceContents, ResourceLink, Role,
    StructuredContent, TextResourceContents,
};
use mrtr_schema::prompts::{GetPromptResult, PromptMessage};
use mrtr_schema::resources::ReadResourceResult;
use mrtr_schema::tools::OutputSchema;
use mrtr_schema::{CallToolResult, ContentBlock, InputRequest, InputRequests, Json, JsonObject, ReadError};
use schemars::JsonSchema;
use serde::Serialize;

/// A value that a handler may return, where the call ends in `R`.
///
/// A tool: text, content blocks, images, resources, a [`CallToolResult`] written by hand, or [`Structured`] values
/// whose schema the tool then announces. A prompt: text, messages, or a [`GetPromptResult`]. A resource: text, bytes,
/// contents, or a [`ReadResourceResult`]. A completion: the values. All of them: [`InputRequired`].
///
/// ```
/// use mrtr_schema::{CallToolResult, ContentBlock};
/// use mrtr_server::Failure;
/// use mrtr_server::handler::{IntoOutput, Output};
///
/// /// A type of one's own that tools may return.
/// struct Celsius(f64);
///
/// impl IntoOutput for Celsius {
///     fn into_output(self) -> Result<Output, Failure> {
///         Ok(Output::Complete(CallToolResult::new([ContentBlock::text(format!("{} °C", self.0))])))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the output of a handler whose call ends in `{R}`",
    label = "this handler returns a `{Self}`",
    note = "a tool returns text, content blocks, `()`, a `CallToolResult`, or, as `Structured(value)`, any value of a type with `#[data]` of `mrtr` (without `mrtr`: `#[derive(serde::Serialize, schemars::JsonSchema)]`)",
    note = "a prompt returns text, messages or a `GetPromptResult`; a resource returns text, bytes, contents or a `ReadResourceResult`",
    note = "a type of your own may implement `mrtr::server::handler::IntoOutput`"
)]
pub trait IntoOutput<R = CallToolResult> {
    /// Turns it into a result.
    fn into_output(self) -> Result<Output<R>, Failure>;

    /// The schema that its structured results follow, if it has any.
    fn output_schema() -> Result<Option<OutputSchema>, ReadError> {
        Ok(None)
    }
}

/// The output of a handler: a complete result, or a question by hand.
///
/// ```
/// use mrtr_server::handler::{IntoOutput, Output};
///
/// let output: Output = "Hello".into_output()?;
/// assert!(matches!(output, Output::Complete(_)));
/// # Ok::<(), mrtr_server::Failure>(())
/// ```
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "a result is complete, or it asks")]
pub enum Output<R = CallToolResult> {
    /// A complete result.
    Complete(R),
    /// A question by hand.
    InputRequired(InputRequired),
}

impl<R> Output<R> {
    /// Converts it into the form that the engine takes.
    pub(crate) fn into_manual(self) -> Manual<R> {
        match self {
            Self::Complete(result) => Manual::Complete(result),
            Self::InputRequired(InputRequired { requests, state }) => Manual::InputRequired(requests, state),
        }
    }
}

impl<R> IntoOutput<R> for Output<R> {
    fn into_output(self) -> Result<Output<R>, Failure> {
        Ok(self)
    }
}

/// Results written by hand, and the parts that one is made of.
macro_rules! outputs {
    ($($result:ident { $($part:ty => $make:expr;)* })*) => {$(
        impl IntoOutput<$result> for $result {
            fn into_output(self) -> Result<Output<$result>, Failure> {
                Ok(Output::Complete(self))
            }
        }

        $(impl IntoOutput<$result> for $part {
            fn into_output(self) -> Result<Output<$result>, Failure> {
                let make: fn($part) -> $result = $make;
                Ok(Output::Complete(make(self)))
            }
        })*
    )*};
}
outputs! {
    CallToolResult {
        Vec<ContentBlock> => CallToolResult::new;
        () => |()| CallToolResult::new([]);
        String => |text| CallToolResult::new([ContentBlock::text(text)]);
        &'static str => |text| CallToolResult::new([ContentBlock::text(text)]);
        ContentBlock => |block| CallToolResult::new([block]);
        ImageContent => |image| CallToolResult::new([ContentBlock::Image(image)]);
        AudioContent => |audio| CallToolResult::new([ContentBlock::Audio(audio)]);
        EmbeddedResource => |resource| CallToolResult::new([ContentBlock::Resource(resource)]);
        ResourceLink => |link| CallToolResult::new([ContentBlock::ResourceLink(link)]);
    }
    GetPromptResult {
        Vec<PromptMessage> => GetPromptResult::new;
        PromptMessage => |message| GetPromptResult::new([message]);
        String => |text| GetPromptResult::new([PromptMessage::new(Role::User, ContentBlock::text(text))]);
        &'static str => |text| GetPromptResult::new([PromptMessage::new(Role::User, ContentBlock::text(text))]);
    }
    ReadResourceResult {
        Vec<ResourceContents> => ReadResourceResult::new;
        ResourceContents => |contents| ReadResourceResult::new([contents]);
        // The reader fills in the resource's own URI and type.
        String => |text| ReadResourceResult::new([ResourceContents::Text(TextResourceContents::new("", text))]);
        &'static str => |text| ReadResourceResult::new([ResourceContents::Text(TextResourceContents::new("", text))]);
        Vec<u8> => |bytes| {
            ReadResourceResult::new([ResourceContents::Blob(BlobResourceContents::new("", STANDARD.encode(bytes)))])
        };
    }
    CompleteResult {
        Vec<String> => |values| {
            let mut completion = Completion::new(CompletionValues::first_of(values.clone()));
            completion.total = u64::try_from(values.len()).ok();
            completion.has_more = Some(completion.values.as_slice().len() < values.len());
            CompleteResult::new(completion)
        };
    }
}

/// A value for programs, with its schema: the result has it as structured content, and as text for clients that read
/// only text.
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

/// A value that a tool can return as [`Structured`]: it can be written as JSON, and has a schema for callers.
///
/// ```
/// use mrtr_server::handler::StructuredValue;
///
/// #[derive(serde::Serialize, schemars::JsonSchema)]
/// struct Weather { celsius: f64 }
///
/// fn is_returned<T: StructuredValue>() {}
/// is_returned::<Weather>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be structured output",
    label = "this handler returns a `Structured<{Self}>`",
    note = "callers get it as JSON, and its schema: write `#[data]` of `mrtr` above its type, and above every type in it",
    note = "a program without `mrtr` writes `#[derive(serde::Serialize, schemars::JsonSchema)]` instead"
)]
pub trait StructuredValue: Serialize + JsonSchema {}

// The compiler then names the type that cannot be returned, and not each trait that it lacks.
#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> StructuredValue for T {}

impl<T: StructuredValue> IntoOutput for Structured<T> {
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

/// A question by hand, in manual mode: for a handler that keeps its own account of where it is.
///
/// The server seals the state. On the retry, [`Flow::given`](crate::Flow::given) has the answers as they came, and
/// [`Flow::carried`](crate::Flow::carried) the state.
///
/// ```
/// # use mrtr_server::{Failure, Flow, InputRequired};
/// # use mrtr_server::handler::{IntoOutput, Output};
/// use mrtr_schema::roots::ListRootsRequest;
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
#[expect(clippy::exhaustive_structs, reason = "written as a literal by those who ask by hand")]
pub struct InputRequired {
    /// The questions, by key.
    pub requests: InputRequests,
    /// The state that the client carries to the next round.
    pub state: Option<Json>,
}

impl InputRequired {
    /// A reply that is still empty. It must ask or carry something.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for one more input.
    #[must_use]
    pub fn ask(mut self, key: impl Into<String>, request: impl Into<InputRequest>) -> Self {
        self.requests.insert(key, request);
        self
    }

    /// Makes the client carry this value, in the sealed state.
    pub fn carry<S: Serialize>(mut self, state: &S) -> Result<Self, ReadError> {
        self.state = Some(Json::of(state)?);
        Ok(self)
    }
}

impl<R> IntoOutput<R> for InputRequired {
    fn into_output(self) -> Result<Output<R>, Failure> {
        Ok(Output::InputRequired(self))
    }
}
