//! Arguments that a tool's schema wants mirrored in headers, with `x-mcp-header`.

use std::borrow::Cow;

use mrtr_schema::tools::InputSchema;
use mrtr_schema::{ErrorCode, ErrorObject, JsonObject};
use serde_json::Value;

/// The mirrored arguments: the path of each, and its header as it was declared, without the prefix.
pub(super) struct Mirrored(Vec<(Vec<String>, String)>);

impl Mirrored {
    pub(super) fn of(schema: &InputSchema) -> Self {
        let mut found = Vec::new();
        if schema.as_object().as_str().contains(KEYWORD)
            && let Ok(schema) = schema.as_object().to::<Value>()
        {
            collect(&schema, &mut Vec::new(), &mut found);
        }
        Self(found)
    }

    pub(super) fn check(
        &self,
        arguments: &JsonObject,
        claims: &[(Cow<'_, str>, HeaderClaim<'_>)],
    ) -> Result<(), ErrorObject> {
        if self.0.is_empty() {
            return Ok(());
        }
        let arguments: Value = arguments.to().unwrap_or_default();
        for (path, header) in &self.0 {
            let said = path.iter().try_fold(&arguments, |value, member| value.get(member)).and_then(text);
            let claimed = claims.iter().find(|(name, _)| name.eq_ignore_ascii_case(header)).map(|(_, claim)| claim);
            let reason = match (claimed, &said) {
                (None | Some(HeaderClaim::Missing), None) => continue,
                (None | Some(HeaderClaim::Missing), Some(_)) => "is missing",
                (Some(HeaderClaim::Text(claimed)), Some(said)) if claimed == said => continue,
                (Some(HeaderClaim::Text(_) | HeaderClaim::Unreadable), _) => "does not match the body",
            };
            return Err(ErrorObject::new(ErrorCode::HEADER_MISMATCH, format!("Mcp-Param-{header} {reason}")));
        }
        Ok(())
    }
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, String)>) {
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        path.push(name.clone());
        if let Some(header) = property.get(KEYWORD).and_then(Value::as_str) {
            found.push((path.clone(), header.to_owned()));
        }
        collect(property, path, found);
        path.pop();
    }
}

/// The text of an argument in a header. An argument that is absent or null has none.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(bool) => Some(bool.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The claim of one header.
///
/// ```
/// use mrtr_server::transport::{HeaderClaim, Headers};
///
/// let headers = Headers { method: HeaderClaim::Text("tools/call".into()), ..Headers::default() };
/// assert_eq!(headers.name, HeaderClaim::Missing);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a header is there and can be read, or not")]
pub enum HeaderClaim<'h> {
    /// The header is not there.
    #[default]
    Missing,
    /// This text, decoded.
    Text(Cow<'h, str>),
    /// The header is there, but cannot be read: it matches nothing.
    Unreadable,
}

impl HeaderClaim<'_> {
    pub(crate) fn into_owned(self) -> HeaderClaim<'static> {
        match self {
            Self::Missing => HeaderClaim::Missing,
            Self::Text(text) => HeaderClaim::Text(text.into_owned().into()),
            Self::Unreadable => HeaderClaim::Unreadable,
        }
    }
}

const KEYWORD: &str = "x-mcp-header";
