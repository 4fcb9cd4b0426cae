//! Content blocks: what tools return and prompts hold.

use std::fmt;

use mrtr_macros::Wire;
use schemars::Schema;
use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::error::ReadError;
use crate::json::{Json, JsonObject, Members, Number, RawMembers};
use crate::revision::{Dialect, Feature, Revision};
use crate::types::implementation::Icon;
use crate::types::meta::Meta;
use crate::wire::schema::Definitions;
use crate::wire::{Wire, WireObject, serde_at_published_revision};

/// The author of something, or its audience.
///
/// ```
/// use mrtr_schema::content::Role;
///
/// assert_eq!(serde_json::from_str::<Role>(r#""assistant""#)?, Role::Assistant);
/// assert!(serde_json::from_str::<Role>(r#""system""#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Wire)]
#[wire(name = "Role")]
#[expect(clippy::exhaustive_enums, reason = "a conversation has two sides")]
pub enum Role {
    /// The user, or the application that speaks for them.
    User,
    /// The model.
    Assistant,
}

/// One piece of content.
///
/// ```
/// use mrtr_schema::ContentBlock;
///
/// let block: ContentBlock = serde_json::from_str(r#"{"type": "text", "text": "Hello"}"#)?;
/// assert_eq!(block, ContentBlock::text("Hello"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ContentBlock", tag = "type")]
#[non_exhaustive]
pub enum ContentBlock {
    /// Text.
    #[wire(value = "text")]
    Text(TextContent),
    /// An image.
    #[wire(value = "image")]
    Image(ImageContent),
    /// Sound.
    #[wire(value = "audio")]
    Audio(AudioContent),
    /// A resource that the client can read.
    #[wire(value = "resource_link")]
    ResourceLink(ResourceLink),
    /// A resource itself.
    #[wire(value = "resource")]
    Resource(EmbeddedResource),
}

impl ContentBlock {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }
}

/// Text.
///
/// ```
/// use mrtr_schema::ContentBlock;
/// use mrtr_schema::content::TextContent;
///
/// let text = TextContent::new("Hello");
/// assert_eq!(serde_json::to_string(&text)?, r#"{"type":"text","text":"Hello"}"#);
/// assert_eq!(ContentBlock::from(text), ContentBlock::text("Hello"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "TextContent", tag(type = "text"))]
#[non_exhaustive]
pub struct TextContent {
    /// The text itself.
    pub text: String,
    /// Hints for the client that shows it.
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<Meta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// An image.
///
/// ```
/// use mrtr_schema::content::ImageContent;
///
/// let image = ImageContent::new("iVBORw0KGgo=", "image/png");
/// assert_eq!(serde_json::to_string(&image)?, r#"{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ImageContent", tag(type = "image"))]
#[non_exhaustive]
pub struct ImageContent {
    /// The image, in base64.
    #[wire(format = "byte")]
    pub data: String,
    /// Its media type, such as `image/png`.
    pub mime_type: String,
    /// Hints for the client that shows it.
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<Meta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Sound.
///
/// ```
/// use mrtr_schema::ContentBlock;
/// use mrtr_schema::content::AudioContent;
///
/// let sound = r#"{"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}"#;
/// assert_eq!(serde_json::from_str::<ContentBlock>(sound)?, AudioContent::new("UklGRg==", "audio/wav").into());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "AudioContent", tag(type = "audio"))]
#[non_exhaustive]
pub struct AudioContent {
    /// The sound, in base64.
    #[wire(format = "byte")]
    pub data: String,
    /// Its media type, such as `audio/wav`.
    pub mime_type: String,
    /// Hints for the client that plays it.
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<Meta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A resource that the client can read or subscribe to.
///
/// ```
/// use mrtr_schema::content::ResourceLink;
///
/// let mut link = ResourceLink::new("file:///src/main.rs", "main.rs");
/// link.size = Some(1024);
/// assert_eq!(
///     serde_json::to_string(&link)?,
///     r#"{"type":"resource_link","uri":"file:///src/main.rs","name":"main.rs","size":1024}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ResourceLink", tag(type = "resource_link"))]
#[non_exhaustive]
pub struct ResourceLink {
    /// The URI of the resource.
    #[wire(format = "uri")]
    pub uri: String,
    /// A name for programs.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// A description of what the resource holds.
    pub description: Option<String>,
    /// Its media type, if known.
    pub mime_type: Option<String>,
    /// Hints for the client that shows it.
    pub annotations: Option<Annotations>,
    /// Its size in bytes, before any encoding.
    pub size: Option<u64>,
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

/// A resource whose contents are embedded in a message or a result.
///
/// ```
/// use mrtr_schema::content::{EmbeddedResource, ResourceContents, TextResourceContents};
///
/// let text = TextResourceContents::new("file:///README.md", "# Read me");
/// let embedded = EmbeddedResource::new(ResourceContents::Text(text));
/// assert_eq!(
///     serde_json::to_string(&embedded)?,
///     r##"{"type":"resource","resource":{"uri":"file:///README.md","text":"# Read me"}}"##,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "EmbeddedResource", tag(type = "resource"))]
#[non_exhaustive]
pub struct EmbeddedResource {
    /// The contents of the resource.
    pub resource: ResourceContents,
    /// Hints for the client that shows it.
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<Meta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The contents of a resource: text, or bytes. The member `text` or `blob` tells which, since nothing else says.
///
/// ```
/// use mrtr_schema::content::ResourceContents;
///
/// let text: ResourceContents = serde_json::from_str(r#"{"uri": "file:///a", "text": "Hello"}"#)?;
/// assert!(matches!(text, ResourceContents::Text(_)));
/// assert!(serde_json::from_str::<ResourceContents>(r#"{"uri": "file:///a"}"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a resource is text or it is not")]
pub enum ResourceContents {
    /// Text.
    Text(TextResourceContents),
    /// Bytes.
    Blob(BlobResourceContents),
}

impl Wire for ResourceContents {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        let members = RawMembers::of(value)?;
        match (members.get("text"), members.get("blob")) {
            (Some(_), None) => WireObject::read_members(members, dialect).map(Self::Text),
            (None, Some(_)) => WireObject::read_members(members, dialect).map(Self::Blob),
            (None, None) => Err(ReadError::refused("has neither `text` nor `blob`")),
            (Some(_), Some(_)) => Err(ReadError::refused("has both `text` and `blob`")),
        }
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(contents) => contents.write(revision, serializer),
            Self::Blob(contents) => contents.write(revision, serializer),
        }
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        let choices =
            [definitions.reference::<TextResourceContents>(), definitions.reference::<BlobResourceContents>()];
        schemars::json_schema!({ "oneOf": choices })
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::prelude::*;
        prop_oneof![
            TextResourceContents::any_value(revision).prop_map(Self::Text),
            BlobResourceContents::any_value(revision).prop_map(Self::Blob),
        ]
        .boxed()
    }
}

serde_at_published_revision!(ResourceContents);

/// A resource that is text.
///
/// ```
/// use mrtr_schema::content::TextResourceContents;
///
/// let mut readme = TextResourceContents::new("file:///README.md", "# Read me");
/// readme.mime_type = Some("text/markdown".into());
/// assert!(serde_json::to_string(&readme)?.ends_with(r#""mimeType":"text/markdown"}"#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "TextResourceContents")]
#[non_exhaustive]
pub struct TextResourceContents {
    /// The URI of the resource.
    #[wire(format = "uri")]
    pub uri: String,
    /// The text itself.
    pub text: String,
    /// Its media type, if known.
    pub mime_type: Option<String>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<Meta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A resource that is bytes.
///
/// ```
/// use mrtr_schema::content::BlobResourceContents;
///
/// let picture = BlobResourceContents::new("file:///logo.png", "iVBORw0KGgo=");
/// assert_eq!(serde_json::to_string(&picture)?, r#"{"uri":"file:///logo.png","blob":"iVBORw0KGgo="}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "BlobResourceContents")]
#[non_exhaustive]
pub struct BlobResourceContents {
    /// The URI of the resource.
    #[wire(format = "uri")]
    pub uri: String,
    /// The bytes, in base64.
    #[wire(format = "byte")]
    pub blob: String,
    /// Its media type, if known.
    pub mime_type: Option<String>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<Meta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Hints for the client that shows or uses something.
///
/// ```
/// use mrtr_schema::content::{Annotations, Fraction, Role};
///
/// let mut hints = Annotations::new();
/// hints.audience = Some(vec![Role::User]);
/// hints.priority = Some(Fraction::try_from(0.9)?);
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "Annotations")]
#[non_exhaustive]
pub struct Annotations {
    /// The roles that it is meant for.
    pub audience: Option<Vec<Role>>,
    /// The importance, from 0 (entirely optional) to 1 (effectively required).
    pub priority: Option<Fraction>,
    /// The time of the last change, in ISO 8601.
    pub last_modified: Option<String>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A number from 0 to 1.
///
/// ```
/// use mrtr_schema::content::Fraction;
///
/// assert_eq!(Fraction::try_from(0.8)?.as_f64(), 0.8);
/// assert!(Fraction::try_from(1.5).is_err());
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Fraction(Number);

impl Fraction {
    /// The nearest floating-point number.
    pub fn as_f64(&self) -> f64 {
        self.0.as_f64()
    }

    fn new(number: Number) -> Result<Self, ReadError> {
        if !(0.0..=1.0).contains(&number.as_f64()) {
            return Err(ReadError::refused(format!("{number} is not between 0 and 1")));
        }
        Ok(Self(number))
    }
}

impl TryFrom<f64> for Fraction {
    type Error = ReadError;

    fn try_from(value: f64) -> Result<Self, Self::Error> {
        Self::new(Number::try_from(value)?)
    }
}

impl Wire for Fraction {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        Self::new(Number::read(value, dialect)?)
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(revision, serializer)
    }

    fn schema(_: &mut Definitions) -> Schema {
        schemars::json_schema!({ "type": "number", "minimum": 0, "maximum": 1 })
    }

    #[cfg(feature = "proptest")]
    fn any_value(_: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::prelude::*;
        (0.0..=1.0_f64).prop_map(|value| Self::try_from(value).expect("between 0 and 1")).boxed()
    }
}

/// The result of a tool for programs: an object, or in later revisions any value.
///
/// ```
/// use mrtr_schema::content::StructuredContent;
///
/// let forecast = StructuredContent::of(&serde_json::json!({ "temperature": 22.5 }))?;
/// assert_eq!(forecast.as_json().as_str(), r#"{"temperature":22.5}"#);
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct StructuredContent(Json);

impl StructuredContent {
    /// Writes a Rust value as structured content.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, ReadError> {
        Json::of(value).map(Self)
    }

    /// The JSON.
    pub fn as_json(&self) -> &Json {
        &self.0
    }

    fn allowed_in(value: &RawValue, revision: Revision) -> bool {
        revision.has(Feature::AnyStructuredContent) || value.get().starts_with('{')
    }
}

/// Writes the JSON text as it came, as [`Json`] does.
///
/// ```
/// use mrtr_schema::content::StructuredContent;
///
/// assert_eq!(StructuredContent::of(&[1, 2])?.to_string(), "[1,2]");
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
impl fmt::Display for StructuredContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<JsonObject> for StructuredContent {
    fn from(object: JsonObject) -> Self {
        Self(object.into())
    }
}

serde_at_published_revision!(StructuredContent);

impl Wire for StructuredContent {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        if !Self::allowed_in(value, dialect.revision) {
            return Err(ReadError::expected("an object", value));
        }
        Json::read(value, dialect).map(Self)
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        if !Self::allowed_in(self.0.as_raw(), revision) {
            return Err(S::Error::custom(format_args!("structured content is an object in {revision}")));
        }
        self.0.write(revision, serializer)
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        if definitions.dialect().revision.has(Feature::AnyStructuredContent) {
            Json::schema(definitions)
        } else {
            JsonObject::schema(definitions)
        }
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::prelude::*;
        let object = JsonObject::any_value(revision).prop_map(Self::from);
        if revision.has(Feature::AnyStructuredContent) {
            prop_oneof![object, Json::any_value(revision).prop_map(Self)].boxed()
        } else {
            object.boxed()
        }
    }
}
