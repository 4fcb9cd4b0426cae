//! The head of a request: what can be refused before its body is read.

use http::request::Parts;
use http::{HeaderMap, Method, header};

use super::origin::Allowed;
use super::respond::Refusal;

/// Looks at a head, in the order of the protocol.
pub(super) fn check(head: &Parts, allowed: &Allowed) -> Result<(), Refusal> {
    if !allowed.allow(head) {
        return Err(Refusal::ForeignOrigin);
    }
    if head.method != Method::POST {
        return Err(Refusal::NotPost);
    }
    if !is_json(&head.headers) {
        return Err(Refusal::NotJson);
    }
    if !accepts_both(&head.headers) {
        return Err(Refusal::NotAcceptable);
    }
    Ok(())
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    value == "application/json"
        || value.to_str().is_ok_and(|value| essence(value).eq_ignore_ascii_case("application/json"))
}

/// Whether the client takes a reply of either kind: which one comes is not known yet.
fn accepts_both(headers: &HeaderMap) -> bool {
    // Nearly every client writes it so, and then nothing need be taken apart.
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

/// A weight of zero says that this is not taken.
fn is_refused(range: &str) -> bool {
    let mut parameters = range.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let weight = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    weight.is_some_and(|(_, weight)| weight.trim().parse() == Ok(0.0_f32))
}

/// A media type without its parameters.
fn essence(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}
