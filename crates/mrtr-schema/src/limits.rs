//! Limits the members of an object of the protocol.

/// The most members of an object of the protocol whose keys are its sender's to choose: metadata, capabilities,
/// parameters, answers. Each member takes a hundred bytes and more, however short its text is.
///
/// A value that a handler or an application reads by itself, such as `arguments`, is kept as text and has no such
/// limit.
///
/// ```
/// use mrtr_schema::{ClientCapabilities, MOST_MEMBERS, Revision, Wire};
///
/// let members: Vec<_> = (0..=MOST_MEMBERS).map(|number| format!("\"x{number}\":{{}}")).collect();
/// let text = format!("{{\"experimental\":{{{}}}}}", members.join(","));
/// let error = ClientCapabilities::from_json(&text, Revision::V2026_07_28.strict()).unwrap_err();
/// assert_eq!(error.to_string(), "$.experimental: has 1025 members; at most 1024 are allowed");
/// ```
pub const MOST_MEMBERS: usize = 1024;
