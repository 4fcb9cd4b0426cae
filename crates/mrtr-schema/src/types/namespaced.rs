//! Inputs that an application defines, under a reverse-DNS method such as `com.example/approval`.

use std::borrow::Cow;
use std::fmt;

use mrtr_macros::Wire;
use schemars::{JsonSchema, json_schema};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{MethodError, ReadError};
use crate::json::{JsonObject, Members};
use crate::revision::Feature;
use crate::types::meta::{is_name, is_prefix, is_reserved};
use crate::wire::wire_text;

/// A kind of input that an application defines: its method, its parameters and its answer (NS-1).
///
/// ```
/// use mrtr_schema::{InputRequest, Method, NamespacedInput};
/// use mrtr_schema::namespaced::NamespacedInputRequest;
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// struct Approval;
///
/// #[derive(Serialize, Deserialize, JsonSchema)]
/// struct Pending { approver: String }
///
/// #[derive(Serialize, Deserialize, JsonSchema)]
/// struct Decision { approved: bool }
///
/// impl NamespacedInput for Approval {
///     const METHOD: Method = Method::from_static("com.example/approval");
///     type Params = Pending;
///     type Response = Decision;
/// }
///
/// let request = NamespacedInputRequest::ask::<Approval>(&Pending { approver: "Ada".into() })?;
/// assert_eq!(request.method, Approval::METHOD);
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
pub trait NamespacedInput {
    /// The method, which is also the name of the extension that a client declares.
    const METHOD: Method;
    /// The parameters of the request.
    type Params: Serialize + DeserializeOwned + JsonSchema;
    /// The answer to the request.
    type Response: Serialize + DeserializeOwned + JsonSchema;
}

/// The method of an application's own input: reverse-DNS, a slash, a name (NS-4).
///
/// The standard methods and the protocol's own prefixes are refused. The compiler checks a method that is a constant.
///
/// ```
/// use mrtr_schema::Method;
///
/// assert!(Method::new("com.example/approval").is_ok());
/// assert!(Method::new("elicitation/create").is_err(), "a standard method");
/// assert!(Method::new("io.modelcontextprotocol/approval").is_err(), "a reserved prefix");
/// ```
///
/// ```compile_fail
/// const METHOD: mrtr_schema::Method = mrtr_schema::Method::from_static("approval");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Method(Cow<'static, str>);

impl Method {
    /// Checks a method against the rules.
    pub fn new(method: impl Into<Cow<'static, str>>) -> Result<Self, MethodError> {
        let method = method.into();
        let Some((prefix, name)) = method.split_once('/') else { return Err(MethodError::NotNamespaced) };
        if !is_prefix(prefix) || !prefix.contains('.') || !is_name(name) {
            return Err(MethodError::NotNamespaced);
        }
        if is_reserved(prefix) {
            return Err(MethodError::Reserved);
        }
        Ok(Self(method))
    }

    /// Makes a method that is known when the program is written.
    ///
    /// # Panics
    /// If it breaks the rules; in a constant, that is an error of the compiler.
    pub const fn from_static(method: &'static str) -> Self {
        assert!(follows_the_rules(method.as_bytes()), "not a namespaced method such as `com.example/approval`");
        Self(Cow::Borrowed(method))
    }

    /// The method's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

wire_text!(
    Method,
    |text: String| Self::new(text).map_err(|error| ReadError::refused(error.to_string())),
    json_schema!({ "type": "string", "pattern": PATTERN, "not": { "pattern": RESERVED_PATTERN } }),
    {
        let words = proptest::sample::select(vec!["com", "example", "a", "x-1", "Approvals9"]);
        (words.clone(), words.clone(), words)
            .prop_map(|(top, middle, name)| Self::new(format!("{top}.{middle}/{name}")).expect("within the rules"))
            .boxed()
    }
);

/// Asks a client for an input that an application defines. Only for clients that declared its method (NS-2).
///
/// ```
/// use mrtr_schema::{JsonObject, Method, Revision, Wire};
/// use mrtr_schema::namespaced::NamespacedInputRequest;
///
/// let mut request = NamespacedInputRequest::new(Method::from_static("com.example/approval"));
/// request.params = Some(JsonObject::parse(r#"{"approver":"Ada"}"#).unwrap());
/// assert_eq!(serde_json::to_string(&request)?, r#"{"method":"com.example/approval","params":{"approver":"Ada"}}"#);
/// assert_eq!(NamespacedInputRequest::name_in(Revision::Sep2322), None, "older revisions have no such inputs");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "NamespacedInputRequest", when = Feature::NamespacedInputs)]
#[non_exhaustive]
pub struct NamespacedInputRequest {
    /// The method; its owner defines the rest.
    pub method: Method,
    /// The parameters; the owner of the method says whether there are any.
    pub params: Option<JsonObject>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

impl NamespacedInputRequest {
    /// Asks for an input.
    pub fn ask<I: NamespacedInput>(params: &I::Params) -> Result<Self, ReadError> {
        Ok(Self { params: Some(JsonObject::of(params)?), ..Self::new(I::METHOD) })
    }

    /// Says why the server asks again. The owner of the method defines `params`, so the reason stands beside them,
    /// where a client that does not know it passes over it.
    ///
    /// ```
    /// use mrtr_schema::Method;
    /// use mrtr_schema::namespaced::NamespacedInputRequest;
    ///
    /// let request = NamespacedInputRequest::new(Method::from_static("com.example/seat")).because("row 31 is taken");
    /// assert_eq!(request.reason().as_deref(), Some("row 31 is taken"));
    /// ```
    #[must_use]
    pub fn because(mut self, reason: &str) -> Self {
        self.extra.set(REASON, serde_json::Value::from(reason));
        self
    }

    /// Returns the reason why the server asks again: what was wrong with the last answer.
    pub fn reason(&self) -> Option<Cow<'_, str>> {
        self.extra.get(REASON)?.as_text()
    }
}

const REASON: &str = "reason";

/// The rules of [`Method::new`], as a constant can evaluate them.
const fn follows_the_rules(method: &[u8]) -> bool {
    let (mut at, mut label, mut labels, mut reserved) = (0, 0, 0, false);
    while at < method.len() && method[at] != b'/' {
        if method[at] == b'.' {
            if !is_label(method, label, at) {
                return false;
            }
            reserved |= labels == 1 && is_own(method, label, at);
            labels += 1;
            label = at + 1;
        }
        at += 1;
    }
    let prefix_ends = at;
    reserved |= labels == 1 && is_own(method, label, prefix_ends);
    let name = prefix_ends + 1;
    if reserved || labels == 0 || !is_label(method, label, prefix_ends) || name >= method.len() {
        return false;
    }
    at = name;
    while at < method.len() {
        let byte = method[at];
        let inside = at > name && at + 1 < method.len();
        if !(byte.is_ascii_alphanumeric() || (inside && matches!(byte, b'-' | b'_' | b'.'))) {
            return false;
        }
        at += 1;
    }
    true
}

const fn is_label(text: &[u8], start: usize, end: usize) -> bool {
    if start >= end || !text[start].is_ascii_alphabetic() || !text[end - 1].is_ascii_alphanumeric() {
        return false;
    }
    let mut at = start;
    while at < end {
        if !(text[at].is_ascii_alphanumeric() || text[at] == b'-') {
            return false;
        }
        at += 1;
    }
    true
}

/// Returns true if a label is one that the protocol keeps for itself.
const fn is_own(text: &[u8], start: usize, end: usize) -> bool {
    let (_, from) = text.split_at(start);
    let (label, _) = from.split_at(end - start);
    label.eq_ignore_ascii_case(b"modelcontextprotocol") || label.eq_ignore_ascii_case(b"mcp")
}

const PATTERN: &str = "^[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?(\\.[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?)+/[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$";
const RESERVED_PATTERN: &str =
    "^[^./]*\\.([Mm][Oo][Dd][Ee][Ll][Cc][Oo][Nn][Tt][Ee][Xx][Tt][Pp][Rr][Oo][Tt][Oo][Cc][Oo][Ll]|[Mm][Cc][Pp])[./]";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_is_checked_by_the_same_rules_as_a_value() {
        for method in [
            "com.example/approval",
            "com.example/a",
            "com.example/a.b_c-d",
            "a.b.c/d",
            "c-o.e1/x",
            "elicitation/create",
            "roots/list",
            "io.modelcontextprotocol/x",
            "io.MCP/x",
            "com.mcp.tools/x",
            "com.example.mcp/x",
            "com.example/",
            "com.example",
            "com..example/x",
            ".com.example/x",
            "com.-example/x",
            "com.example-/x",
            "1com.example/x",
            "com.example/-x",
            "com.example/x-",
            "com.example/x/y",
            "com.ex ample/x",
            "",
            "/",
            "com.example/é",
        ] {
            assert_eq!(Method::new(method).is_ok(), follows_the_rules(method.as_bytes()), "{method}");
        }
    }
}
