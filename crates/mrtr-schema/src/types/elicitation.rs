//! Elicitation: a question to a person, as a form or as a URL to visit.

mod primitive;

use fluent_uri::Uri;
use mrtr_macros::Wire;
use schemars::Schema;
use serde::Serializer;
use serde::ser::{Error, SerializeMap};
use serde_json::value::RawValue;

use crate::error::{NotInRevision, ReadError};
use crate::json::{self, JsonObject, Members, RawMembers};
use crate::revision::{Dialect, Feature, Revision};
use crate::types::form::Form;
use crate::types::meta::{Meta, RequestMeta};
use crate::types::params::required_params;
use crate::wire::schema::Definitions;
use crate::wire::{Wire, WireObject, serde_at_published_revision, wire_text, write_object};

#[cfg(feature = "validate")]
pub use crate::types::form::EntryError;
pub use crate::types::form::{Constraints, Field, FieldKind, FieldOption};
pub use primitive::{
    BooleanSchema, EnumOption, LegacyTitledEnumSchema, NumberKind, NumberSchema, PrimitiveSchema, StringFormat,
    StringSchema, TitledMultiSelectEnumSchema, TitledOptions, TitledSingleSelectEnumSchema,
    UntitledMultiSelectEnumSchema, UntitledOptions, UntitledSingleSelectEnumSchema,
};

/// Asks a person something.
///
/// ```
/// use mrtr_schema::Form;
/// use mrtr_schema::elicitation::{ElicitFormParams, ElicitRequest};
///
/// let form = Form::parse(r#"{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}"#)?;
/// let request = ElicitRequest::new(ElicitFormParams::ask("Please provide your GitHub username", form));
/// assert!(serde_json::to_string(&request).unwrap().starts_with(r#"{"method":"elicitation/create","params":{"#));
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ElicitRequest", when = Feature::InterimResults, tag(method = "elicitation/create"))]
#[non_exhaustive]
pub struct ElicitRequest {
    /// The question, as a form or as a URL.
    pub params: ElicitParams,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A form, or a URL: told apart by `mode`, which a form may leave out.
///
/// ```
/// use mrtr_schema::elicitation::ElicitParams;
///
/// let form = r#"{"message": "Your name?", "requestedSchema": {"type": "object", "properties": {}}}"#;
/// assert!(matches!(serde_json::from_str(form)?, ElicitParams::Form(_)), "a form may leave `mode` out");
/// let url = r#"{"mode": "url", "message": "Please connect", "url": "https://example.com/connect"}"#;
/// assert!(matches!(serde_json::from_str(url)?, ElicitParams::Url(_)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ElicitParams {
    /// A form to fill in.
    Form(ElicitFormParams),
    /// A URL to visit.
    Url(ElicitUrlParams),
}

impl ElicitParams {
    /// Returns the message to the person, to be changed.
    pub fn message_mut(&mut self) -> &mut String {
        match self {
            Self::Form(params) => &mut params.message,
            Self::Url(params) => &mut params.message,
        }
    }

    /// Returns the message to the person.
    pub fn message(&self) -> &str {
        match self {
            Self::Form(params) => &params.message,
            Self::Url(params) => &params.message,
        }
    }
}

impl From<ElicitFormParams> for ElicitParams {
    fn from(params: ElicitFormParams) -> Self {
        Self::Form(params)
    }
}

impl From<ElicitUrlParams> for ElicitParams {
    fn from(params: ElicitUrlParams) -> Self {
        Self::Url(params)
    }
}

impl Wire for ElicitParams {
    const NAME: Option<&'static str> = Some("ElicitRequestParams");

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        Self::read_members(RawMembers::of(value)?, dialect)
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        write_object(self, revision, serializer)
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        let mut choices = vec![definitions.reference::<ElicitFormParams>()];
        if definitions.dialect().revision.has(Feature::ElicitationModes) {
            choices.push(definitions.reference::<ElicitUrlParams>());
        }
        schemars::json_schema!({ "description": "A form to fill in, or a URL to visit.", "anyOf": choices })
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::prelude::*;
        let form = ElicitFormParams::any_value(revision).prop_map(Self::Form);
        if !revision.has(Feature::ElicitationModes) {
            return form.boxed();
        }
        prop_oneof![form, ElicitUrlParams::any_value(revision).prop_map(Self::Url)].boxed()
    }
}

impl WireObject for ElicitParams {
    fn read_members(members: RawMembers<'_>, dialect: Dialect) -> Result<Self, ReadError> {
        if !dialect.revision.has(Feature::ElicitationModes) {
            return WireObject::read_members(members, dialect).map(Self::Form);
        }
        let mode = members.get("mode").map(json::text).transpose().map_err(|error| error.in_member("mode"))?;
        match mode.as_deref() {
            None | Some("form") => WireObject::read_members(members, dialect).map(Self::Form),
            Some("url") => WireObject::read_members(members, dialect).map(Self::Url),
            Some(other) => Err(ReadError::not_one_of(other, &["form", "url"]).in_member("mode")),
        }
    }

    fn write_members<M: SerializeMap>(&self, revision: Revision, map: &mut M) -> Result<(), M::Error> {
        match self {
            Self::Form(params) => params.write_members(revision, map),
            Self::Url(params) if revision.has(Feature::ElicitationModes) => params.write_members(revision, map),
            Self::Url(_) => Err(M::Error::custom(NotInRevision::Url { revision })),
        }
    }
}

serde_at_published_revision!(ElicitParams);

required_params!(ElicitParams);

/// A form to fill in. Not for secrets: those go by URL (EL-1).
///
/// ```
/// use mrtr_schema::Form;
/// use mrtr_schema::elicitation::ElicitFormParams;
///
/// let form = Form::parse(r#"{"type": "object", "properties": {"name": {"type": "string"}}}"#)?;
/// let params = ElicitFormParams::ask("Your name?", form);
/// assert!(serde_json::to_string(&params).unwrap().starts_with(r#"{"mode":"form","message":"Your name?","#));
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ElicitRequestFormParams")]
#[non_exhaustive]
pub struct ElicitFormParams {
    /// The mode `form`, if the message has one.
    #[wire(when = Feature::ElicitationModes)]
    pub mode: Option<FormMode>,
    /// The message to the person.
    pub message: String,
    /// The fields of the form.
    pub requested_schema: Form,
    /// Metadata.
    #[wire(rename = "_meta", when = Feature::InputMetadata)]
    pub meta: Option<Box<RequestMeta>>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

impl ElicitFormParams {
    /// Makes a form to fill in that names its mode.
    pub fn ask(message: impl Into<String>, form: Form) -> Self {
        Self { mode: Some(FormMode::Form), ..Self::new(message, form) }
    }
}

/// The mode of a form, which is always `form`.
///
/// ```
/// use mrtr_schema::Form;
/// use mrtr_schema::elicitation::{ElicitFormParams, FormMode};
///
/// let form = Form::parse(r#"{"type": "object", "properties": {}}"#)?;
/// assert_eq!(ElicitFormParams::ask("Go on?", form.clone()).mode, Some(FormMode::Form));
/// assert_eq!(ElicitFormParams::new("Go on?", form).mode, None, "which means the same");
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Wire)]
#[expect(clippy::exhaustive_enums, reason = "the other mode is a type of its own")]
pub enum FormMode {
    /// A form to fill in.
    Form,
}

/// A URL to visit. An accept is consent, not completion (EL-4).
///
/// ```
/// use mrtr_schema::elicitation::{ElicitUrlParams, Url};
///
/// let params = ElicitUrlParams::new("Connect your account", Url::new("https://example.com/connect")?);
/// assert_eq!(params.url.as_str(), "https://example.com/connect");
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ElicitRequestURLParams", when = Feature::ElicitationModes, tag(mode = "url"))]
#[non_exhaustive]
pub struct ElicitUrlParams {
    /// The message to the person.
    pub message: String,
    /// The URL that the person is to open.
    pub url: Url,
    /// A name for this elicitation, unique on the server.
    #[wire(when = Feature::ElicitationId, required = Feature::ElicitationId)]
    pub elicitation_id: Option<String>,
    /// Metadata.
    #[wire(rename = "_meta", when = Feature::InputMetadata)]
    pub meta: Option<Box<RequestMeta>>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// An absolute URL, checked against RFC 3986: a person is going to open it.
///
/// ```
/// use mrtr_schema::elicitation::Url;
///
/// assert!(Url::new("https://example.com/connect?id=1").is_ok());
/// assert!(Url::new("/connect").is_err());
/// assert!(Url::new("https://example.com/a b").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Url(String);

impl Url {
    /// Checks a URL.
    pub fn new(url: impl Into<String>) -> Result<Self, ReadError> {
        let url = url.into();
        match Uri::parse(url.as_str()) {
            Ok(_) => Ok(Self(url)),
            Err(error) => Err(ReadError::refused(format!("not an absolute URL (RFC 3986): {error}"))),
        }
    }

    /// The URL's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The host, if there is one: what a person should recognise, whatever is written around it.
    ///
    /// ```
    /// use mrtr_schema::elicitation::Url;
    ///
    /// assert_eq!(Url::new("https://bank.example@evil.example:8443/bank.example")?.host(), Some("evil.example"));
    /// assert_eq!(Url::new("urn:isbn:0451450523")?.host(), None);
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn host(&self) -> Option<&str> {
        let authority = Uri::parse(self.0.as_str()).ok()?.authority()?;
        Some(authority.host())
    }
}

wire_text!(
    Url,
    Self::new,
    // `format` is a note to the reader of a 2020-12 schema; the pattern is what is checked.
    schemars::json_schema!({ "type": "string", "format": "uri", "pattern": "^[A-Za-z][A-Za-z0-9+.-]*:[^\\s]*$" }),
    {
        let urls = ["https://example.com/connect", "http://127.0.0.1:8000/?a=b#c", "urn:isbn:0451450523"];
        proptest::sample::select(urls.to_vec()).prop_map(|url| Self::new(url).expect("a URL")).boxed()
    }
);

/// The person's answer.
///
/// ```
/// use mrtr_schema::JsonObject;
/// use mrtr_schema::elicitation::{ElicitAction, ElicitResult};
///
/// let answer = ElicitResult::accept(JsonObject::parse(r#"{"name": "octocat"}"#)?);
/// assert_eq!(answer.action, ElicitAction::Accept);
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ElicitResult")]
#[non_exhaustive]
pub struct ElicitResult {
    /// The person's choice: to accept, to decline or to cancel.
    pub action: ElicitAction,
    /// The form as filled in; absent for a URL, and where nothing was accepted.
    #[wire(lenient)]
    pub content: Option<FormContent>,
    /// Metadata.
    #[wire(rename = "_meta", when = Feature::InputMetadata)]
    pub meta: Option<Meta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

impl ElicitResult {
    /// Accepts, with the form filled in.
    ///
    /// Its values should be those that forms hold; the reader refuses others.
    pub fn accept(content: JsonObject) -> Self {
        Self { content: Some(FormContent(content)), ..Self::new(ElicitAction::Accept) }
    }

    /// Declines: the person said no.
    ///
    /// ```
    /// let no = mrtr_schema::elicitation::ElicitResult::decline();
    /// assert_eq!(serde_json::to_string(&no)?, r#"{"action":"decline"}"#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn decline() -> Self {
        Self::new(ElicitAction::Decline)
    }

    /// Cancels: the person went away without an answer.
    pub fn cancel() -> Self {
        Self::new(ElicitAction::Cancel)
    }
}

/// The person's choice: to accept, to decline or to cancel.
///
/// ```
/// use mrtr_schema::elicitation::{ElicitAction, ElicitResult};
///
/// let said = |answer: ElicitResult| match answer.action {
///     ElicitAction::Accept => "yes",
///     ElicitAction::Decline => "no",
///     ElicitAction::Cancel => "nothing",
/// };
/// assert_eq!(said(serde_json::from_str(r#"{"action": "cancel"}"#)?), "nothing");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Wire)]
#[expect(clippy::exhaustive_enums, reason = "code that answers must handle all three (EL-5)")]
pub enum ElicitAction {
    /// The person answered, or agreed to visit the URL.
    Accept,
    /// The person said no.
    Decline,
    /// The person went away without an answer.
    Cancel,
}

/// A form as filled in: strings, numbers, booleans and lists of strings, by field.
///
/// ```
/// use mrtr_schema::elicitation::ElicitResult;
///
/// let answer: ElicitResult = serde_json::from_str(r#"{"action": "accept", "content": {"tags": ["a", "b"]}}"#)?;
/// assert_eq!(answer.content.unwrap().as_object().as_str(), r#"{"tags": ["a", "b"]}"#);
/// assert!(serde_json::from_str::<ElicitResult>(r#"{"action": "accept", "content": {"a": {}}}"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FormContent(JsonObject);

impl FormContent {
    /// Takes an object whose values are all of the kinds that forms hold.
    ///
    /// ```
    /// use mrtr_schema::JsonObject;
    /// use mrtr_schema::elicitation::FormContent;
    ///
    /// assert!(FormContent::new(JsonObject::parse(r#"{"tags": ["a", "b"]}"#)?).is_ok());
    /// assert!(FormContent::new(JsonObject::parse(r#"{"tags": {}}"#)?).is_err());
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn new(values: JsonObject) -> Result<Self, ReadError> {
        Self::check(values.as_raw(), Revision::default())?;
        Ok(Self(values))
    }

    /// The values as a free-form object.
    pub fn as_object(&self) -> &JsonObject {
        &self.0
    }

    /// The values as a free-form object of their own.
    pub fn into_object(self) -> JsonObject {
        self.0
    }

    fn check(value: &RawValue, revision: Revision) -> Result<(), ReadError> {
        for (key, value) in RawMembers::of(value)?.iter() {
            Self::check_value(value, revision).map_err(|error| error.in_member(key.to_owned()))?;
        }
        Ok(())
    }

    fn check_value(value: &RawValue, revision: Revision) -> Result<(), ReadError> {
        match value.get().as_bytes().first() {
            Some(b'[') if revision.has(Feature::MultiSelects) => {
                Vec::<String>::read(value, revision.strict()).map(drop)
            }
            Some(b'[') => Err(ReadError::expected("a string, number or boolean", value)),
            Some(b'{' | b'n') => Err(ReadError::expected("a string, number, boolean or list of strings", value)),
            _ => Ok(()),
        }
    }
}

impl Wire for FormContent {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        Self::check(value, dialect.revision)?;
        JsonObject::read(value, dialect).map(Self)
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(revision, serializer)
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        let mut values = vec![serde_json::json!({ "type": ["string", "number", "boolean"] })];
        if definitions.dialect().revision.has(Feature::MultiSelects) {
            values.push(serde_json::json!({ "type": "array", "items": { "type": "string" } }));
        }
        schemars::json_schema!({ "type": "object", "additionalProperties": { "anyOf": values } })
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::prelude::*;
        let mut values = vec![
            String::any_value(revision).prop_map(|text| serde_json::Value::from(text).to_string()).boxed(),
            any::<bool>().prop_map(|value| value.to_string()).boxed(),
            crate::wire::arbitrary::number().prop_map(|value| value.to_string()).boxed(),
        ];
        if revision.has(Feature::MultiSelects) {
            let list = |list: Vec<String>| serde_json::Value::from(list).to_string();
            values.push(Vec::<String>::any_value(revision).prop_map(list).boxed());
        }
        crate::wire::arbitrary::object_text(proptest::strategy::Union::new(values))
            .prop_map(|text| Self(JsonObject::parse(&text).expect("an object with unique keys")))
            .boxed()
    }
}
