//! What the headers of a request claim of its body; the server compares it with what the body says.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue};
use mrtr_server::{HeaderClaim, Headers};

use crate::header_text;

pub(super) fn claims(headers: &HeaderMap) -> Headers<'_> {
    Headers {
        version: claim(headers, &PROTOCOL_VERSION, plain),
        method: claim(headers, &METHOD, plain),
        name: claim(headers, &NAME, header_text::decode),
        params: headers
            .keys()
            .filter_map(|name| {
                let param = name.as_str().strip_prefix(PARAM_PREFIX)?;
                Some((param.into(), claim(headers, name, header_text::decode)))
            })
            .collect(),
    }
}

fn claim<'h>(headers: &'h HeaderMap, name: &HeaderName, read: fn(&str) -> Option<Cow<'_, str>>) -> HeaderClaim<'h> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => HeaderClaim::Missing,
        (Some(value), None) => text(value).and_then(read).map_or(HeaderClaim::Unreadable, HeaderClaim::Text),
        // Two headers of one name could each be believed by somebody.
        (Some(_), Some(_)) => HeaderClaim::Unreadable,
    }
}

/// What is never encoded: whoever routes by it reads it as it stands.
#[expect(clippy::unnecessary_wraps, reason = "one of two ways to read a header")]
fn plain(text: &str) -> Option<Cow<'_, str>> {
    Some(text.into())
}

fn text(value: &HeaderValue) -> Option<&str> {
    value.to_str().ok().map(|text| text.trim_matches([' ', '\t']))
}

pub(super) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAM_PREFIX: &str = "mcp-param-";
