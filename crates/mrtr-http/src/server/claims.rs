//! What the headers of a request claim of its body; the server compares it with what the body says.

use std::borrow::Cow;

use http::{HeaderMap, HeaderValue};
use mrtr_server::{HeaderClaim, Headers};

use crate::header_text;

/// What the headers claim, in one pass over them: looking each one up would take longer.
pub(super) fn claims(headers: &HeaderMap) -> Headers<'_> {
    let mut claims = Headers::default();
    for (name, value) in headers {
        match name.as_str() {
            PROTOCOL_VERSION => claim(&mut claims.version, value, plain),
            METHOD => claim(&mut claims.method, value, plain),
            NAME => claim(&mut claims.name, value, header_text::decode),
            name => {
                let Some(param) = name.strip_prefix(PARAM_PREFIX) else { continue };
                let place = claims.params.iter().position(|(known, _)| known == param).unwrap_or_else(|| {
                    claims.params.push((param.into(), HeaderClaim::Missing));
                    claims.params.len() - 1
                });
                claim(&mut claims.params[place].1, value, header_text::decode);
            }
        }
    }
    claims
}

fn claim<'h>(claim: &mut HeaderClaim<'h>, value: &'h HeaderValue, read: fn(&str) -> Option<Cow<'_, str>>) {
    *claim = match claim {
        HeaderClaim::Missing => text(value).and_then(read).map_or(HeaderClaim::Unreadable, HeaderClaim::Text),
        // Two headers of one name could each be believed by somebody.
        HeaderClaim::Text(_) | HeaderClaim::Unreadable => HeaderClaim::Unreadable,
    };
}

/// What is never encoded: whoever routes by it reads it as it stands.
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
