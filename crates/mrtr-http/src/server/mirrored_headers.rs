//! What a client mirrors of a request's body in its headers; the server compares it with what the body says.

use std::borrow::Cow;

use http::{HeaderMap, HeaderValue};
use mrtr_server::transport::{HeaderClaim, Headers};

use crate::header_text;

/// What the headers say of the body, in one pass over them: looking each one up would take longer.
pub(super) fn of(headers: &HeaderMap) -> Headers<'_> {
    let mut mirrored = Headers::default();
    for (name, value) in headers {
        match name.as_str() {
            PROTOCOL_VERSION => add(&mut mirrored.version, value, plain),
            METHOD => add(&mut mirrored.method, value, plain),
            NAME => add(&mut mirrored.name, value, header_text::decode),
            name => {
                let Some(param) = name.strip_prefix(PARAM_PREFIX) else { continue };
                let index = mirrored.params.iter().position(|(known, _)| known == param).unwrap_or_else(|| {
                    mirrored.params.push((param.into(), HeaderClaim::Missing));
                    mirrored.params.len() - 1
                });
                add(&mut mirrored.params[index].1, value, header_text::decode);
            }
        }
    }
    mirrored
}

/// What the header of the version alone says.
pub(super) fn version(headers: &HeaderMap) -> HeaderClaim<'_> {
    let mut claim = HeaderClaim::Missing;
    for value in headers.get_all(PROTOCOL_VERSION) {
        add(&mut claim, value, plain);
    }
    claim
}

fn add<'h>(claim: &mut HeaderClaim<'h>, value: &'h HeaderValue, read: fn(&str) -> Option<Cow<'_, str>>) {
    *claim = match claim {
        HeaderClaim::Missing => text(value).and_then(read).map_or(HeaderClaim::Unreadable, HeaderClaim::Text),
        // Of two headers of one name, a proxy could believe the one and the server the other.
        HeaderClaim::Text(_) | HeaderClaim::Unreadable => HeaderClaim::Unreadable,
    };
}

/// What is never encoded: a proxy that routes by it reads it as it stands.
#[expect(clippy::unnecessary_wraps, reason = "one of two ways to read a header")]
fn plain(text: &str) -> Option<Cow<'_, str>> {
    Some(text.into())
}

fn text(value: &HeaderValue) -> Option<&str> {
    value.to_str().ok().map(|text| text.trim_matches([' ', '\t']))
}

pub(super) const METHOD: &str = "mcp-method";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";
const NAME: &str = "mcp-name";
const PARAM_PREFIX: &str = "mcp-param-";
