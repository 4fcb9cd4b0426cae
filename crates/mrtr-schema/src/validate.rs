//! Checks values against JSON Schema 2020-12 documents, without the network and within bounds.

mod patterns;
mod references;

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::{JsonPath, LONGEST_REASON, SchemaError, shortened};
use crate::json::Json;

/// A JSON Schema, compiled: 2020-12 unless it says otherwise, formats checked, references to elsewhere refused.
///
/// A schema may come from the peer, so its work is bounded: 1 MiB of text, references that stand for 100,000 members,
/// 256 patterns of 2 KiB each and 16 KiB together, and about 16 MiB for what they are compiled to.
///
/// ```
/// use mrtr_schema::{Json, SchemaCheck};
///
/// let check = SchemaCheck::new(Json::parse(r#"{"type": "string", "format": "email"}"#)?.as_raw())?;
/// assert!(check.check(Json::parse(r#""ada@example.com""#)?.as_raw()).is_ok());
/// assert!(check.check(Json::parse(r#""ada""#)?.as_raw()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SchemaCheck(Validator);

impl SchemaCheck {
    /// Compiles a schema, and never fetches anything for it.
    pub fn new(schema: &RawValue) -> Result<Self, SchemaError> {
        let schema = tree(schema).map_err(SchemaError)?;
        references::bound(&schema).map_err(SchemaError)?;
        let options = jsonschema::options()
            .offline()
            .should_validate_formats(true)
            .with_pattern_options(patterns::options(&schema).map_err(SchemaError)?);
        options.build(&schema).map(Self).map_err(|error| SchemaError(refusal(&error)))
    }

    /// Returns the schema of a Rust type, as its values are read, compiled once per type.
    ///
    /// ```
    /// use mrtr_schema::{Json, SchemaCheck};
    ///
    /// #[derive(schemars::JsonSchema)]
    /// struct Seat {
    ///     #[schemars(range(min = 1, max = 30))]
    ///     row: u32,
    /// }
    ///
    /// let check = SchemaCheck::of::<Seat>()?;
    /// assert!(check.check(Json::parse(r#"{"row": 30}"#)?.as_raw()).is_ok());
    /// let beyond = check.check(Json::parse(r#"{"row": 31}"#)?.as_raw()).unwrap_err();
    /// assert_eq!(beyond.to_string(), "$.row: 31 is greater than the maximum of 30");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of<T: JsonSchema + 'static>() -> Result<Arc<Self>, SchemaError> {
        let known = COMPILED.read().unwrap_or_else(PoisonError::into_inner).get(&TypeId::of::<T>()).cloned();
        known.unwrap_or_else(|| {
            let compiled = Self::new(Json::from(schema_of::<T>()).as_raw()).map(Arc::new);
            let mut all = COMPILED.write().unwrap_or_else(PoisonError::into_inner);
            all.entry(TypeId::of::<T>()).or_insert(compiled).clone()
        })
    }

    /// Checks a value.
    pub fn check(&self, value: &RawValue) -> Result<(), Violations> {
        let value = tree(value).map_err(Violations::of)?;
        // Most values are right, and seeing that takes less time than finding what is wrong.
        if self.0.is_valid(&value) {
            return Ok(());
        }
        let violations: Vec<_> = self
            .0
            .iter_errors(&value)
            .take(MOST_VIOLATIONS)
            .map(|error| Violation {
                path: JsonPath::from_pointer(error.instance_path().as_str()),
                label: None,
                reason: shortened(&error.to_string(), LONGEST_REASON),
            })
            .collect();
        if violations.is_empty() { Ok(()) } else { Err(Violations(violations)) }
    }
}

/// One entry per type that was ever asked for: as many as the program's source has.
#[expect(clippy::type_complexity, reason = "this is the name for it")]
static COMPILED: LazyLock<RwLock<HashMap<TypeId, Result<Arc<SchemaCheck>, SchemaError>>>> =
    LazyLock::new(RwLock::default);

fn schema_of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>().into()
}

impl fmt::Debug for SchemaCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SchemaCheck")
    }
}

/// Everything that is wrong with a value, up to a bound.
///
/// ```
/// use mrtr_schema::{Form, JsonObject};
///
/// let form = r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}}}"#;
/// let violations = Form::parse(form)?.check(&JsonObject::parse(r#"{"a": 1.5, "b": 1}"#)?).unwrap_err();
/// assert_eq!(violations.iter().count(), 2);
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violations(Vec<Violation>);

/// One thing that is wrong with a value.
///
/// ```
/// use mrtr_schema::{Form, JsonObject};
///
/// let form = Form::parse(r#"{"type": "object", "properties": {"tag": {"type": "string", "maxLength": 3}}}"#)?;
/// let violations = form.check(&JsonObject::parse(r#"{"tag": "long"}"#)?).unwrap_err();
/// assert_eq!(violations.iter().next().unwrap().path.to_string(), "$.tag");
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The path of the value, such as `$.content[0].type`.
    pub path: JsonPath,
    /// The label of the field that the value is for, as it may be shown, if a form was filled in. Shown, it stands in
    /// place of the path.
    pub label: Option<String>,
    /// The fault of the value, in words.
    pub reason: String,
}

impl Violations {
    pub(crate) fn of(reason: String) -> Self {
        Self(vec![Violation { path: JsonPath::default(), label: None, reason }])
    }

    /// The most that is said of one value.
    pub(crate) const MOST: usize = MOST_VIOLATIONS;

    /// Makes the violations of a form: those beyond the bound are left out.
    pub(crate) fn of_fields(violations: impl IntoIterator<Item = Violation>) -> Self {
        Self(violations.into_iter().take(MOST_VIOLATIONS).collect())
    }

    /// Returns each violation.
    pub fn iter(&self) -> impl Iterator<Item = &Violation> {
        self.0.iter()
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Violation { path, label, reason }) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            match label {
                Some(label) => write!(f, "{separator}{label}: {reason}")?,
                None => write!(f, "{separator}{path}: {reason}")?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Violations {}

/// Says what is wrong with a schema. For a bad pattern it names two causes, because the compiler of patterns does not
/// tell an invalid pattern from one that is too large.
fn refusal(error: &ValidationError<'_>) -> String {
    let reason = shortened(&error.to_string(), LONGEST_REASON);
    match error.kind() {
        ValidationErrorKind::Format { format } if format == "regex" => {
            format!("{reason}, or its compiled form exceeds the limit")
        }
        _ => reason,
    }
}

/// Parses a schema, and refuses one that is too large. The parser itself limits only the depth.
fn tree(value: &RawValue) -> Result<Value, String> {
    if value.get().len() > LARGEST {
        return Err(format!("larger than {LARGEST} bytes"));
    }
    serde_json::from_str(value.get()).map_err(|error| error.to_string())
}

const LARGEST: usize = 1 << 20;
const MOST_VIOLATIONS: usize = 16;
