//! The head of a request: what can be refused before its body is read, and the headers that mirror the body.

use std::borrow::Cow;

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use mrtr_server::transport::{HeaderClaim, Headers};

use super::origin::Allowed;
use super::rejection::Rejection;
use crate::header_text;

/// Checks the head of a POST, in the order of the protocol.
pub(super) fn check(head: &Parts, allowed: &Allowed) -> Result<(), Rejection> {
    allowed.check(head).map_err(|foreign| Rejection::Foreign(foreign, None))?;
    if !is_json(&head.headers) {
        return Err(Rejection::NotJson);
    }
    if is_encoded(&head.headers) {
        return Err(Rejection::Encoded);
    }
    if !accepts_both(&head.headers) {
        return Err(Rejection::NotAcceptable);
    }
    if has_two_credentials(&head.headers) {
        return Err(Rejection::TwoCredentials);
    }
    Ok(())
}

/// Checks the head of a request without a body, which may want to listen.
pub(super) fn check_listener(headers: &HeaderMap, listens: bool) -> Result<(), Rejection> {
    if listens && !accepts(headers, "text", "event-stream") {
        return Err(Rejection::NotAcceptable);
    }
    if has_two_credentials(headers) {
        return Err(Rejection::TwoCredentials);
    }
    Ok(())
}

/// Returns true if a body comes in another coding than in chunks. The endpoint would read it as it stands.
pub(super) fn is_transfer_coded(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::TRANSFER_ENCODING).iter();
    let first = values.next();
    values.next().is_some() || first.is_some_and(|value| !value.as_bytes().eq_ignore_ascii_case(b"chunked"))
}

/// Estimates the bytes that a head takes: in the buffer of its connection, which is up to twice as large as its
/// content, and in the copy of the headers that are kept.
pub(super) fn size(head: &Parts) -> usize {
    let headers = head.headers.iter().map(|(name, value)| {
        let copies = if is_needed(name) { 3 } else { 2 };
        copies * (name.as_str().len() + value.len()) + ENTRY
    });
    headers.sum::<usize>() + head.uri.path().len() + head.uri.query().map_or(0, str::len)
}

/// Keeps the headers that are needed later. It copies them, so that the connection can use its read buffer again.
pub(super) fn keep_needed(head: &mut Parts) {
    head.uri = Uri::default();
    let needed = |(name, value): (&HeaderName, &HeaderValue)| {
        is_needed(name).then(|| Some((name.clone(), HeaderValue::from_bytes(value.as_bytes()).ok()?))).flatten()
    };
    head.headers = head.headers.iter().filter_map(needed).fold(HeaderMap::new(), |mut kept, (name, value)| {
        kept.append(name, value);
        kept
    });
    head.extensions.clear();
}

/// Returns true for a header that is needed once the body is there: those that mirror it, and the session.
fn is_needed(name: &HeaderName) -> bool {
    name.as_str().starts_with("mcp-")
}

/// The bytes that a header takes beside its text.
const ENTRY: usize = 100;

fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    value == "application/json" || value.to_str().is_ok_and(is_json_in_utf8)
}

fn is_json_in_utf8(value: &str) -> bool {
    essence(value).eq_ignore_ascii_case("application/json")
        && parameters(value).all(|(name, value)| {
            let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
            // RFC 8259 has no other charset for JSON. Some clients write it without the hyphen.
            !name.eq_ignore_ascii_case("charset") || ["utf-8", "utf8"].iter().any(|it| value.eq_ignore_ascii_case(it))
        })
}

/// Returns true if a body has a content coding. The endpoint would read it as it stands.
fn is_encoded(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
    !values.all(|value| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity"))
}

/// Returns true if there are two credentials. A proxy could believe the one, and an authenticator the other.
fn has_two_credentials(headers: &HeaderMap) -> bool {
    headers.get_all(header::AUTHORIZATION).iter().nth(1).is_some()
}

/// Returns true if the client accepts a reply of either kind: which one comes is not known yet.
fn accepts_both(headers: &HeaderMap) -> bool {
    // Nearly every client writes it this way, and then there is nothing to parse.
    headers.get(header::ACCEPT).is_some_and(|value| value == "application/json, text/event-stream")
        || accepts(headers, "application", "json") && accepts(headers, "text", "event-stream")
}

fn accepts(headers: &HeaderMap, group: &str, kind: &str) -> bool {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut ranges = values.flat_map(|value| value.split(','));
    ranges.any(|range| {
        let Some((its_group, its_kind)) = essence(range).split_once('/') else { return false };
        let fits = |name: &str, wanted: &str| name == "*" || name.eq_ignore_ascii_case(wanted);
        fits(its_group, group) && fits(its_kind, kind) && !is_refused(range)
    })
}

/// Returns true if a range has a weight of zero, which refuses it.
fn is_refused(range: &str) -> bool {
    let weight = parameters(range).find(|(name, _)| name.eq_ignore_ascii_case("q"));
    weight.is_some_and(|(_, weight)| weight.parse() == Ok(0.0_f32))
}

/// Returns the parameters of a media type, with their values as written, quotes included.
fn parameters(value: &str) -> impl Iterator<Item = (&str, &str)> {
    let all = value.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    all.map(|(name, value)| (name.trim(), value.trim()))
}

/// A media type without its parameters.
fn essence(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

/// Reads what the headers say of the body, in one pass over them: looking each one up would take longer.
pub(super) fn mirrored(headers: &HeaderMap) -> Headers<'_> {
    let mut claims = Headers::default();
    for (name, value) in headers {
        match name.as_str() {
            PROTOCOL_VERSION => add(&mut claims.version, value, plain),
            METHOD => add(&mut claims.method, value, plain),
            NAME => add(&mut claims.name, value, header_text::decode),
            name => {
                let Some(param) = name.strip_prefix(PARAM_PREFIX) else { continue };
                let index = claims.params.iter().position(|(known, _)| known == param).unwrap_or_else(|| {
                    claims.params.push((param.into(), HeaderClaim::Missing));
                    claims.params.len() - 1
                });
                add(&mut claims.params[index].1, value, header_text::decode);
            }
        }
    }
    claims
}

/// Reads the header of the version alone.
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

/// A header that is never encoded: a proxy that routes by it reads it as it stands.
#[expect(clippy::unnecessary_wraps, reason = "one of two ways to read a header")]
fn plain(text: &str) -> Option<Cow<'_, str>> {
    Some(text.into())
}

fn text(value: &HeaderValue) -> Option<&str> {
    value.to_str().ok().map(|text| text.trim_matches([' ', '\t']))
}

const METHOD: &str = "mcp-method";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";
const NAME: &str = "mcp-name";
const PARAM_PREFIX: &str = "mcp-param-";
