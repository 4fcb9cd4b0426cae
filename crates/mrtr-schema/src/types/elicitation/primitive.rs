//! The fields of a form: strings, numbers, booleans, and selects of one or several options.

use mrtr_macros::Wire;
use schemars::Schema;
use serde::Serializer;
use serde_json::value::RawValue;

use crate::error::ReadError;
use crate::json::{Members, Number, RawMembers};
use crate::revision::{Dialect, Feature, Revision};
use crate::wire::schema::Definitions;
use crate::wire::{Wire, WireObject, serde_at_published_revision};

/// Runs an expression for whichever schema a field has.
macro_rules! for_each_kind {
    ($field:expr, $schema:ident => $run:expr) => {
        match $field {
            Self::String($schema) => $run,
            Self::Number($schema) => $run,
            Self::Boolean($schema) => $run,
            Self::UntitledSingleSelect($schema) => $run,
            Self::TitledSingleSelect($schema) => $run,
            Self::UntitledMultiSelect($schema) => $run,
            Self::TitledMultiSelect($schema) => $run,
            Self::LegacyTitledSelect($schema) => $run,
        }
    };
}

/// One field of a form. Forms are flat: there is no nesting.
///
/// ```
/// use mrtr_schema::elicitation::PrimitiveSchema;
///
/// let field: PrimitiveSchema = serde_json::from_str(r#"{"type": "string", "enum": ["red", "green"]}"#)?;
/// assert!(matches!(field, PrimitiveSchema::UntitledSingleSelect(_)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PrimitiveSchema {
    /// Text.
    String(StringSchema),
    /// A number or an integer.
    Number(NumberSchema),
    /// Yes or no.
    Boolean(BooleanSchema),
    /// One of several values.
    UntitledSingleSelect(UntitledSingleSelectEnumSchema),
    /// One of several values, each with a title.
    TitledSingleSelect(TitledSingleSelectEnumSchema),
    /// Some of several values.
    UntitledMultiSelect(UntitledMultiSelectEnumSchema),
    /// Some of several values, each with a title.
    TitledMultiSelect(TitledMultiSelectEnumSchema),
    /// One of several values, with titles in a list beside them: the older spelling.
    LegacyTitledSelect(LegacyTitledEnumSchema),
}

impl PrimitiveSchema {
    /// The title, which a user interface shows as the field's name.
    pub fn title(&self) -> Option<&str> {
        for_each_kind!(self, schema => schema.title.as_deref())
    }

    /// Returns the description that tells a person what to put in.
    pub fn description(&self) -> Option<&str> {
        for_each_kind!(self, schema => schema.description.as_deref())
    }

    /// Drops what its sender added, at every depth.
    #[cfg(feature = "validate")]
    pub(crate) fn forget_extra(&mut self) {
        for_each_kind!(self, schema => schema.extra = Members::default());
        match self {
            Self::TitledSingleSelect(schema) => schema.options.iter_mut().for_each(EnumOption::forget_extra),
            Self::UntitledMultiSelect(schema) => schema.items.extra = Members::default(),
            Self::TitledMultiSelect(schema) => {
                schema.items.extra = Members::default();
                schema.items.options.iter_mut().for_each(EnumOption::forget_extra);
            }
            _ => {}
        }
    }

    /// Members that its type does not name.
    pub fn extra(&self) -> &Members {
        for_each_kind!(self, schema => &schema.extra)
    }
}

impl Wire for PrimitiveSchema {
    const NAME: Option<&'static str> = Some("PrimitiveSchemaDefinition");

    /// Tells the kinds apart by `type`, and among strings and arrays by the keyword that lists the options.
    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        let members = RawMembers::of(value)?;
        let kind = members.tag("type")?;
        let has = |key| members.get(key).is_some();
        let (titled, multi) =
            (dialect.revision.has(Feature::TitledSelects), dialect.revision.has(Feature::MultiSelects));
        match &*kind {
            "string" if titled && has("oneOf") => {
                WireObject::read_members(members, dialect).map(Self::TitledSingleSelect)
            }
            "string" if has("enumNames") => WireObject::read_members(members, dialect).map(Self::LegacyTitledSelect),
            "string" if has("enum") => WireObject::read_members(members, dialect).map(Self::UntitledSingleSelect),
            "string" => WireObject::read_members(members, dialect).map(Self::String),
            "number" | "integer" => WireObject::read_members(members, dialect).map(Self::Number),
            "boolean" => WireObject::read_members(members, dialect).map(Self::Boolean),
            "array" if multi && lists_titles(&members) => {
                WireObject::read_members(members, dialect).map(Self::TitledMultiSelect)
            }
            "array" if multi => WireObject::read_members(members, dialect).map(Self::UntitledMultiSelect),
            other => {
                let kinds = ["string", "number", "integer", "boolean", "array"];
                let known = kinds.len() - usize::from(!multi);
                Err(ReadError::not_one_of(other, &kinds[..known]).in_member("type"))
            }
        }
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        for_each_kind!(self, schema => schema.write(revision, serializer))
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        let revision = definitions.dialect().revision;
        let mut choices = vec![
            definitions.reference::<StringSchema>(),
            definitions.reference::<NumberSchema>(),
            definitions.reference::<BooleanSchema>(),
            definitions.reference::<UntitledSingleSelectEnumSchema>(),
        ];
        if revision.has(Feature::TitledSelects) {
            choices.push(definitions.reference::<TitledSingleSelectEnumSchema>());
        }
        if revision.has(Feature::MultiSelects) {
            choices.push(definitions.reference::<UntitledMultiSelectEnumSchema>());
            choices.push(definitions.reference::<TitledMultiSelectEnumSchema>());
        }
        choices.push(definitions.reference::<LegacyTitledEnumSchema>());
        schemars::json_schema!({ "description": "One field of a form.", "anyOf": choices })
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::prelude::*;
        let mut kinds = vec![
            StringSchema::any_value(revision).prop_map(Self::String).boxed(),
            NumberSchema::any_value(revision).prop_map(Self::Number).boxed(),
            BooleanSchema::any_value(revision).prop_map(Self::Boolean).boxed(),
            UntitledSingleSelectEnumSchema::any_value(revision).prop_map(Self::UntitledSingleSelect).boxed(),
            LegacyTitledEnumSchema::any_value(revision)
                .prop_filter("without names it is an untitled select", |schema| schema.enum_names.is_some())
                .prop_map(Self::LegacyTitledSelect)
                .boxed(),
        ];
        if revision.has(Feature::TitledSelects) {
            kinds.push(TitledSingleSelectEnumSchema::any_value(revision).prop_map(Self::TitledSingleSelect).boxed());
        }
        if revision.has(Feature::MultiSelects) {
            kinds.push(UntitledMultiSelectEnumSchema::any_value(revision).prop_map(Self::UntitledMultiSelect).boxed());
            kinds.push(TitledMultiSelectEnumSchema::any_value(revision).prop_map(Self::TitledMultiSelect).boxed());
        }
        proptest::strategy::Union::new(kinds).boxed()
    }
}

serde_at_published_revision!(PrimitiveSchema);

fn lists_titles(field: &RawMembers<'_>) -> bool {
    let items = field.get("items").and_then(|items| RawMembers::of(items).ok());
    items.is_some_and(|items| items.get("anyOf").is_some())
}

/// A field of text.
///
/// ```
/// use mrtr_schema::elicitation::StringSchema;
///
/// let mut user_name = StringSchema::new();
/// user_name.title = Some("User name".into());
/// user_name.max_length = Some(39);
/// assert_eq!(serde_json::to_string(&user_name)?, r#"{"type":"string","title":"User name","maxLength":39}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "StringSchema", tag(type = "string"))]
#[non_exhaustive]
pub struct StringSchema {
    /// The field's name for people.
    pub title: Option<String>,
    /// Tells a person what to put in.
    pub description: Option<String>,
    /// The fewest characters.
    pub min_length: Option<u64>,
    /// The most characters.
    pub max_length: Option<u64>,
    /// The format that the text must have.
    pub format: Option<StringFormat>,
    /// The value that the field holds at first.
    #[wire(when = Feature::FormDefaults)]
    pub default: Option<String>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The format of a field's text.
///
/// ```
/// use mrtr_schema::elicitation::{StringFormat, StringSchema};
///
/// let field: StringSchema = serde_json::from_str(r#"{"type": "string", "format": "date-time"}"#)?;
/// assert_eq!(field.format, Some(StringFormat::DateTime));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Wire)]
#[non_exhaustive]
pub enum StringFormat {
    /// An e-mail address.
    Email,
    /// A URI.
    Uri,
    /// A date.
    Date,
    /// A date and time.
    #[wire(rename = "date-time")]
    DateTime,
}

/// A field that holds a number.
///
/// ```
/// use mrtr_schema::elicitation::{NumberKind, NumberSchema};
///
/// let mut age = NumberSchema::new(NumberKind::Integer);
/// age.minimum = Some(18.into());
/// assert_eq!(serde_json::to_string(&age)?, r#"{"type":"integer","minimum":18}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "NumberSchema")]
#[non_exhaustive]
pub struct NumberSchema {
    /// Any number, or whole ones.
    #[wire(rename = "type")]
    pub kind: NumberKind,
    /// The field's name for people.
    pub title: Option<String>,
    /// Tells a person what to put in.
    pub description: Option<String>,
    /// The least value.
    pub minimum: Option<Number>,
    /// The greatest value.
    pub maximum: Option<Number>,
    /// The value that the field holds at first.
    #[wire(when = Feature::FormDefaults)]
    pub default: Option<Number>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Any number, or whole ones.
///
/// ```
/// use mrtr_schema::elicitation::{NumberKind, NumberSchema};
///
/// let price: NumberSchema = serde_json::from_str(r#"{"type": "number", "maximum": 99.95}"#)?;
/// assert_eq!(price.kind, NumberKind::Number);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Wire)]
#[expect(clippy::exhaustive_enums, reason = "JSON Schema has these two")]
pub enum NumberKind {
    /// Any number.
    Number,
    /// A whole number.
    Integer,
}

/// A field that holds yes or no.
///
/// ```
/// use mrtr_schema::elicitation::BooleanSchema;
///
/// let mut agreed = BooleanSchema::new();
/// agreed.default = Some(false);
/// assert_eq!(serde_json::to_string(&agreed)?, r#"{"type":"boolean","default":false}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "BooleanSchema", tag(type = "boolean"))]
#[non_exhaustive]
pub struct BooleanSchema {
    /// The field's name for people.
    pub title: Option<String>,
    /// Tells a person what yes means.
    pub description: Option<String>,
    /// The value that the field holds at first.
    pub default: Option<bool>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A field that holds one of several values.
///
/// ```
/// use mrtr_schema::elicitation::UntitledSingleSelectEnumSchema;
///
/// let colour = UntitledSingleSelectEnumSchema::new(["red".to_owned(), "green".to_owned()]);
/// assert_eq!(serde_json::to_string(&colour)?, r#"{"type":"string","enum":["red","green"]}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "UntitledSingleSelectEnumSchema", tag(type = "string"))]
#[non_exhaustive]
pub struct UntitledSingleSelectEnumSchema {
    /// The field's name for people.
    pub title: Option<String>,
    /// Tells a person what to choose.
    pub description: Option<String>,
    /// The values.
    #[wire(rename = "enum")]
    pub values: Vec<String>,
    /// The value that the field holds at first.
    #[wire(when = Feature::FormDefaults)]
    pub default: Option<String>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A field that holds one of several values, each with a title.
///
/// ```
/// use mrtr_schema::elicitation::{EnumOption, TitledSingleSelectEnumSchema};
///
/// let colour = TitledSingleSelectEnumSchema::new([EnumOption::new("#f00", "Red")]);
/// assert_eq!(serde_json::to_string(&colour)?, r##"{"type":"string","oneOf":[{"const":"#f00","title":"Red"}]}"##);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "TitledSingleSelectEnumSchema", when = Feature::TitledSelects, tag(type = "string"))]
#[non_exhaustive]
pub struct TitledSingleSelectEnumSchema {
    /// The field's name for people.
    pub title: Option<String>,
    /// Tells a person what to choose.
    pub description: Option<String>,
    /// The values and their titles.
    #[wire(rename = "oneOf")]
    pub options: Vec<EnumOption>,
    /// The value that the field holds at first.
    #[wire(when = Feature::FormDefaults)]
    pub default: Option<String>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A value to choose, and its title.
///
/// ```
/// use mrtr_schema::elicitation::EnumOption;
///
/// assert_eq!(serde_json::to_string(&EnumOption::new("#f00", "Red"))?, r##"{"const":"#f00","title":"Red"}"##);
/// assert!(serde_json::from_str::<EnumOption>(r##"{"const": "#f00"}"##).is_err(), "it needs a title");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[non_exhaustive]
pub struct EnumOption {
    /// The value.
    #[wire(rename = "const")]
    pub value: String,
    /// The text that people read.
    pub title: String,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

impl EnumOption {
    #[cfg(feature = "validate")]
    fn forget_extra(&mut self) {
        self.extra = Members::default();
    }
}

/// A field that holds some of several values.
///
/// ```
/// use mrtr_schema::elicitation::{UntitledMultiSelectEnumSchema, UntitledOptions};
///
/// let options = UntitledOptions::new(["red".to_owned(), "green".to_owned()]);
/// let mut colours = UntitledMultiSelectEnumSchema::new(options);
/// colours.min_items = Some(1);
/// assert_eq!(
///     serde_json::to_string(&colours)?,
///     r#"{"type":"array","minItems":1,"items":{"type":"string","enum":["red","green"]}}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "UntitledMultiSelectEnumSchema", when = Feature::MultiSelects, tag(type = "array"))]
#[non_exhaustive]
pub struct UntitledMultiSelectEnumSchema {
    /// The field's name for people.
    pub title: Option<String>,
    /// Tells a person what to choose.
    pub description: Option<String>,
    /// The fewest that may be chosen.
    pub min_items: Option<u64>,
    /// The most that may be chosen.
    pub max_items: Option<u64>,
    /// The values.
    pub items: UntitledOptions,
    /// The values that the field holds at first.
    #[wire(when = Feature::FormDefaults)]
    pub default: Option<Vec<String>>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The values of a field that holds some of them.
///
/// ```
/// use mrtr_schema::elicitation::UntitledOptions;
///
/// let options = UntitledOptions::new(["red".to_owned()]);
/// assert_eq!(serde_json::to_string(&options)?, r#"{"type":"string","enum":["red"]}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag(type = "string"))]
#[non_exhaustive]
pub struct UntitledOptions {
    /// The values.
    #[wire(rename = "enum")]
    pub values: Vec<String>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A field that holds some of several values, each with a title.
///
/// ```
/// use mrtr_schema::elicitation::{EnumOption, PrimitiveSchema, TitledMultiSelectEnumSchema, TitledOptions};
///
/// let options = TitledOptions::new([EnumOption::new("#f00", "Red"), EnumOption::new("#0f0", "Green")]);
/// let colours = serde_json::to_string(&TitledMultiSelectEnumSchema::new(options))?;
/// assert!(matches!(serde_json::from_str(&colours)?, PrimitiveSchema::TitledMultiSelect(_)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "TitledMultiSelectEnumSchema", when = Feature::MultiSelects, tag(type = "array"))]
#[non_exhaustive]
pub struct TitledMultiSelectEnumSchema {
    /// The field's name for people.
    pub title: Option<String>,
    /// Tells a person what to choose.
    pub description: Option<String>,
    /// The fewest that may be chosen.
    pub min_items: Option<u64>,
    /// The most that may be chosen.
    pub max_items: Option<u64>,
    /// The values and their titles.
    pub items: TitledOptions,
    /// The values that the field holds at first.
    #[wire(when = Feature::FormDefaults)]
    pub default: Option<Vec<String>>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The values and titles of a field that holds some of them.
///
/// ```
/// use mrtr_schema::elicitation::{EnumOption, TitledOptions};
///
/// let options = TitledOptions::new([EnumOption::new("#f00", "Red")]);
/// assert_eq!(serde_json::to_string(&options)?, r##"{"anyOf":[{"const":"#f00","title":"Red"}]}"##);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[non_exhaustive]
pub struct TitledOptions {
    /// The values and their titles.
    #[wire(rename = "anyOf")]
    pub options: Vec<EnumOption>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A field that holds one of several values, with titles in a list beside them.
///
/// The older spelling, still in use: `enumNames` is not JSON Schema. Use
/// [`TitledSingleSelectEnumSchema`] for new forms.
///
/// ```
/// use mrtr_schema::elicitation::PrimitiveSchema;
///
/// let colour = r##"{"type": "string", "enum": ["#f00"], "enumNames": ["Red"]}"##;
/// let PrimitiveSchema::LegacyTitledSelect(colour) = serde_json::from_str(colour)? else { panic!("legacy") };
/// assert_eq!(colour.enum_names.unwrap(), ["Red"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "LegacyTitledEnumSchema", tag(type = "string"))]
#[non_exhaustive]
pub struct LegacyTitledEnumSchema {
    /// The field's name for people.
    pub title: Option<String>,
    /// Tells a person what to choose.
    pub description: Option<String>,
    /// The values.
    #[wire(rename = "enum")]
    pub values: Vec<String>,
    /// Their titles, in the same order.
    pub enum_names: Option<Vec<String>>,
    /// The value that the field holds at first.
    #[wire(when = Feature::FormDefaults)]
    pub default: Option<String>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}
