//! Forms: a Rust type becomes the flat `requestedSchema` of a question, or a reason why it cannot.

mod field;
mod in_revision;
mod of_type;
#[cfg(feature = "validate")]
mod plain;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use mrtr_macros::Wire;
use schemars::Schema;
use serde::de::DeserializeOwned;
use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::error::ReadError;
use crate::json::{self, JsonObject, Members, RawMembers};
use crate::printable::Printable;
use crate::revision::{Dialect, Revision};
use crate::types::elicitation::{NumberKind, NumberSchema, PrimitiveSchema};
use crate::wire::schema::Definitions;
use crate::wire::{Wire, serde_at_published_revision};

#[cfg(feature = "validate")]
use crate::error::JsonPath;
#[cfg(feature = "validate")]
use crate::json::Json;
#[cfg(feature = "validate")]
use crate::validate::{Violation, Violations};

#[cfg(feature = "validate")]
pub use field::EntryError;
pub use field::{Constraints, Field, FieldKind, FieldOption};

/// The fields of a question, flat and in order. Cheap to clone, and rendered once.
///
/// ```
/// use mrtr_schema::Form;
/// use schemars::JsonSchema;
///
/// #[derive(JsonSchema)]
/// enum Resolution { Fixed, Duplicate }
///
/// #[derive(JsonSchema)]
/// struct Resolved {
///     /// Resolution type for this bug
///     resolution: Resolution,
///     note: Option<String>,
/// }
///
/// let form = Form::of::<Resolved>()?;
/// assert_eq!(serde_json::to_value(&form)?, serde_json::json!({
///     "type": "object",
///     "properties": {
///         "resolution": {
///             "type": "string",
///             "description": "Resolution type for this bug",
///             "enum": ["Fixed", "Duplicate"],
///         },
///         "note": { "type": "string" },
///     },
///     "required": ["resolution"],
/// }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Form(Arc<Inner>);

struct Inner {
    fields: Fields,
    rendered: Box<RawValue>,
    #[cfg(feature = "validate")]
    check: std::sync::OnceLock<Result<crate::validate::SchemaCheck, crate::error::SchemaError>>,
}

/// The members of a `requestedSchema`.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag(type = "object"))]
struct Fields {
    /// The dialect of JSON Schema, if said.
    #[wire(rename = "$schema")]
    schema_dialect: Option<String>,
    /// The fields, by name.
    properties: IndexMap<String, PrimitiveSchema>,
    /// The fields that must be filled in.
    required: Option<Vec<String>>,
    /// Members that this type does not name.
    #[wire(extra)]
    extra: Members,
}

impl Fields {
    fn render(&self) -> Box<RawValue> {
        let rendered = self.to_json(Revision::default()).and_then(RawValue::from_string);
        rendered.expect("a form has no member that a revision could demand")
    }
}

impl Form {
    /// Reads a form from JSON text.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        Self::from_json(text, Revision::default().strict())
    }

    /// Returns the schema of a field.
    fn schema_of(&self, name: &str) -> Option<&PrimitiveSchema> {
        self.0.fields.properties.get(name)
    }

    /// The names of the fields that must be filled in, as the form lists them.
    ///
    /// ```
    /// use mrtr_schema::Form;
    ///
    /// let form = r#"{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}"#;
    /// assert_eq!(Form::parse(form)?.required().collect::<Vec<_>>(), ["a"]);
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn required(&self) -> impl Iterator<Item = &str> {
        self.0.fields.required.iter().flatten().map(String::as_str)
    }

    /// Returns true if a field must be filled in. It looks through [`required`](Self::required): a caller that asks for
    /// every field had better collect that once.
    pub fn is_required(&self, name: &str) -> bool {
        self.required().any(|required| required == name)
    }

    /// The form as JSON text.
    pub fn as_str(&self) -> &str {
        self.0.rendered.get()
    }

    /// Reads an answer as the type whose form it is: only the form's own fields, and whole numbers in any spelling.
    ///
    /// ```
    /// use mrtr_schema::{Form, JsonObject};
    ///
    /// #[derive(schemars::JsonSchema, serde::Deserialize)]
    /// #[serde(deny_unknown_fields)]
    /// struct Person { age: u8 }
    ///
    /// let form = Form::of::<Person>().unwrap();
    /// let answer = JsonObject::parse(r#"{"age": 30.0, "unknown": 1}"#)?;
    /// assert_eq!(form.answer::<Person>(&answer).unwrap().age, 30);
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn answer<T: DeserializeOwned>(&self, content: &JsonObject) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.known_content(content).get())
    }

    /// Returns the fields of the form that an answer fills in.
    fn known_content<'a>(&self, content: &'a JsonObject) -> Cow<'a, RawValue> {
        let members = RawMembers::of(content.as_raw()).unwrap_or_default();
        let stays =
            |(name, value): (&str, &RawValue)| self.schema_of(name).is_some_and(|field| is_spelt_so(field, value));
        if members.iter().all(stays) {
            return Cow::Borrowed(content.as_raw());
        }
        let known = members.iter().filter_map(|(name, value)| Some((name, self.schema_of(name)?, value)));
        let known: BTreeMap<&str, Box<RawValue>> = known
            .map(|(name, field, value)| (name, respelt(field, value).unwrap_or_else(|| value.to_owned())))
            .collect();
        Cow::Owned(serde_json::value::to_raw_value(&known).expect("raw values are JSON"))
    }

    fn from_fields(fields: Fields) -> Self {
        let rendered = fields.render();
        Self::rendered(fields, rendered)
    }

    fn rendered(fields: Fields, rendered: Box<RawValue>) -> Self {
        Self(Arc::new(Inner {
            fields,
            rendered,
            #[cfg(feature = "validate")]
            check: std::sync::OnceLock::new(),
        }))
    }
}

#[cfg(feature = "validate")]
impl Fields {
    /// Renders the form without members that its sender added: keywords that forms do not have could refer to each
    /// other without end.
    fn known(&self) -> Box<RawValue> {
        let mut known = Self { schema_dialect: None, extra: Members::default(), ..self.clone() };
        known.properties.values_mut().for_each(PrimitiveSchema::forget_extra);
        known.render()
    }
}

#[cfg(feature = "validate")]
impl Form {
    /// Checks an answer against the form: required fields, types, options, lengths, ranges and formats. The error is for
    /// the person who filled the form in: it names each field by its label, and says of it what
    /// [`Field::check`](Field::check) says.
    ///
    /// Fields that the form does not have are ignored.
    ///
    /// ```
    /// use mrtr_schema::{Form, JsonObject};
    ///
    /// let form = Form::parse(r#"{"type": "object", "properties": {"age": {"type": "integer", "minimum": 18}}}"#)?;
    /// assert!(form.check(&JsonObject::parse(r#"{"age": 30, "other": 1}"#)?).is_ok());
    /// let violations = form.check(&JsonObject::parse(r#"{"age": 7}"#)?).unwrap_err();
    /// assert_eq!(violations.to_string(), "age: expected at least 18");
    /// assert_eq!(violations.iter().next().unwrap().path.to_string(), "$.age");
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn check(&self, content: &JsonObject) -> Result<(), Violations> {
        if self.plainly_fits(content) {
            return Ok(());
        }
        let content = self.known_content(content);
        self.compiled()?.check(&content).map_err(|violations| self.in_words(&content, violations))
    }

    /// Says of each field what is wrong with it, in the words for people.
    fn in_words(&self, content: &RawValue, violations: Violations) -> Violations {
        let members = RawMembers::of(content).unwrap_or_default();
        let mut reasons = BTreeMap::new();
        for name in self.required().filter(|name| members.get(name).is_none()).take(Violations::MOST) {
            let reason = if self.schema_of(name).is_some() { MISSING } else { MISSING_FROM_FORM };
            reasons.insert(self.place_of(name), (Cow::Borrowed(name), reason.to_owned()));
        }
        for violation in violations.iter() {
            let Some(name) = violation.path.root_member() else { continue };
            let value = members.get(&name).and_then(|value| Json::from_raw(value).ok());
            if let (Some(field), Some(value)) = (self.field(&name), value) {
                let reason = field.reason(&value).unwrap_or_else(|| violation.reason.clone());
                reasons.entry(self.place_of(&name)).or_insert((name, reason));
            }
        }
        if reasons.is_empty() {
            return violations;
        }
        Violations::of_fields(reasons.into_values().map(|(name, reason)| {
            let label = self.field(&name).map_or(Printable::line(&name).into_text(), |field| field.title());
            Violation { path: JsonPath::of_member(&name), label: Some(label.into_owned()), reason }
        }))
    }

    /// Returns the place of a field in the form; names that the form does not have come after all fields.
    fn place_of(&self, name: &str) -> (usize, String) {
        let place = self.0.fields.properties.get_index_of(name);
        place.map_or_else(|| (usize::MAX, name.to_owned()), |place| (place, String::new()))
    }

    fn compiled(&self) -> Result<&crate::validate::SchemaCheck, Violations> {
        let check = self.0.check.get_or_init(|| crate::validate::SchemaCheck::new(&self.0.fields.known()));
        check.as_ref().map_err(|error| Violations::of(error.to_string()))
    }
}

#[cfg(feature = "validate")]
const MISSING: &str = "must be filled in";
#[cfg(feature = "validate")]
const MISSING_FROM_FORM: &str = "must be filled in, and the form has no such field";

/// Returns true if a value is spelt as it is read: a whole number, in few digits.
fn is_spelt_so(field: &PrimitiveSchema, value: &RawValue) -> bool {
    !is_integer(field) || is_plain_number(value.get())
}

/// Returns true if a number is a whole one of few digits, which every reader reads alike.
fn is_plain_number(json: &str) -> bool {
    json.len() < 16 && json.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_integer(field: &PrimitiveSchema) -> bool {
    matches!(field, PrimitiveSchema::Number(NumberSchema { kind: NumberKind::Integer, .. }))
}

/// Spells a whole number as digits alone: `30.0` is an integer to JSON Schema, and not to serde.
fn respelt(field: &PrimitiveSchema, value: &RawValue) -> Option<Box<RawValue>> {
    if !is_integer(field) {
        return None;
    }
    let integer: i128 = json::integer(value.get())?;
    RawValue::from_string(integer.to_string()).ok()
}

impl PartialEq for Form {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.fields == other.0.fields
    }
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Form({})", Printable::text(self.as_str()).up_to(usize::MAX))
    }
}

impl Wire for Form {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        let fields = Fields::read(value, dialect)?;
        Ok(Self::rendered(fields, value.to_owned()))
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        if Self::is_said_as_it_is(revision) {
            return self.0.rendered.serialize(serializer);
        }
        self.in_revision(revision).map_err(S::Error::custom)?.0.rendered.serialize(serializer)
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        Fields::schema(definitions)
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::strategy::Strategy;
        Fields::any_value(revision).prop_map(Self::from_fields).boxed()
    }
}

serde_at_published_revision!(Form);
