//! The evidence of a server's era in its reply to a request of the modern era. This module decides, and does no I/O.

use mrtr_schema::error_object::{MissingCapabilityData, UnsupportedVersionData};
use mrtr_schema::{Envelope, Era, ErrorCode, ErrorObject, RawMembers, RequestId, Revision, Wire};
use serde_json::value::RawValue;

use crate::{TransportError, TransportResponse};

/// The evidence of the server's era in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// No server of the legacy era says this.
    Modern,
    /// Servers of both eras say this, or those of the legacy era alone: `server/discover` tells them apart.
    Unclear,
    /// The reply is not from an MCP server, or not about the request: it is from the network or a gateway, or about a
    /// lack of credentials; or its result says too little.
    Nothing,
}

impl Evidence {
    /// Reads the evidence in a reply to the request with this id.
    ///
    /// No single code decides that a server is of the legacy era: such servers answer with codes of their own choice.
    pub(super) fn of(reply: &Result<TransportResponse, TransportError>, id: &RequestId) -> Self {
        let response = match reply {
            Ok(response) => response,
            Err(error) if error.status.is_some_and(is_refusal) => return Self::Unclear,
            Err(_) => return Self::Nothing,
        };
        match Envelope::parse(response.text.as_bytes()) {
            // A text with such a status is from a gateway, or from a server that is not well.
            _ if response.status.is_some_and(|status| status >= 500) => Self::Nothing,
            Ok(Envelope::Result { id: answered, result }) if answered == *id => Self::of_result(result),
            Ok(Envelope::Error { error, .. }) => Self::of_error(error),
            _ if was_refused(reply) => Self::Unclear,
            _ => Self::Nothing,
        }
    }

    fn of_result(result: &RawValue) -> Self {
        let Ok(members) = RawMembers::of(result) else { return Self::Nothing };
        match members.get("supportedVersions") {
            Some(versions) => {
                Self::of_versions(&Vec::read(versions, Revision::default().lenient()).unwrap_or_default())
            }
            None if members.get("resultType").is_some() => Self::Modern,
            // A modern server may leave the type out, and a legacy server without sessions has none.
            None => Self::Nothing,
        }
    }

    /// An error that only servers of the modern era have, in its code and in the shape of its data.
    fn of_error(error: &RawValue) -> Self {
        let Ok(error) = ErrorObject::read(error, Revision::default().lenient()) else { return Self::Unclear };
        if error.code == ErrorCode::HEADER_MISMATCH || matches!(error.data_as::<MissingCapabilityData>(), Some(Ok(_))) {
            return Self::Modern;
        }
        match error.data_as::<UnsupportedVersionData>() {
            Some(Ok(data)) => Self::of_versions(&data.supported),
            _ => Self::Unclear,
        }
    }

    /// A server that names versions of the legacy era alone wants to be spoken to in one of those.
    fn of_versions(versions: &[String]) -> Self {
        let is_modern = |version: &String| Revision::era_of(version) == Era::Modern;
        if versions.iter().any(is_modern) { Self::Modern } else { Self::Unclear }
    }
}

/// True if the server refused the request by its status: then it has not run.
pub(super) fn was_refused(reply: &Result<TransportResponse, TransportError>) -> bool {
    let status = match reply {
        Ok(response) => response.status,
        Err(error) => error.status,
    };
    status.is_some_and(is_refusal)
}

/// True if a server that is known to be modern does not speak like one any more: it refuses the request, with something
/// that is no error about it.
pub(super) fn is_unlike_modern(reply: &Result<TransportResponse, TransportError>, id: &RequestId) -> bool {
    if !was_refused(reply) || Evidence::of(reply, id) != Evidence::Unclear {
        return false;
    }
    let Ok(response) = reply else { return true };
    !matches!(Envelope::parse(response.text.as_bytes()), Ok(Envelope::Error { id: Some(answered), .. }) if answered == *id)
}

/// True if a status refuses a request for what it is: not for who sends it, how often, or how slowly.
fn is_refusal(status: u16) -> bool {
    (400..500).contains(&status) && !matches!(status, 401 | 403 | 407 | 408 | 429)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::Evidence::{Modern, Nothing, Unclear};
    use super::*;
    use crate::TransportFailure;

    fn reply(status: u16, body: &Value) -> TransportResponse {
        TransportResponse::new(body.to_string()).status(status)
    }

    fn error(code: i64, data: Option<Value>) -> Value {
        let mut error = json!({ "code": code, "message": "no" });
        error.as_object_mut().expect("an object").extend(data.map(|data| ("data".to_owned(), data)));
        json!({ "jsonrpc": "2.0", "id": 1, "error": error })
    }

    fn result(result: &Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": 1, "result": result })
    }

    #[test]
    fn er_4_what_a_server_says_to_a_modern_request_tells_its_era() {
        let supports = |versions: &[&str]| Some(json!({ "requested": "2026-07-28", "supported": versions }));
        let needs = Some(json!({ "requiredCapabilities": { "sampling": {} } }));
        let discovered = |versions: &[&str]| result(&json!({ "supportedVersions": versions, "capabilities": {} }));
        for (status, body, evidence) in [
            (200, result(&json!({ "resultType": "complete", "content": [] })), Modern),
            (200, result(&json!({ "resultType": "input_required", "requestState": "s" })), Modern),
            (200, result(&json!({ "content": [] })), Nothing),
            (200, discovered(&["2026-07-28"]), Modern),
            (200, discovered(&["2025-11-25", "2027-01-01"]), Modern),
            (200, discovered(&["2025-11-25"]), Unclear),
            (200, discovered(&[]), Unclear),
            (400, error(-32020, None), Modern),
            (400, error(-32021, needs), Modern),
            (400, error(-32021, None), Unclear),
            (400, error(-32022, supports(&["2027-01-01"])), Modern),
            (400, error(-32022, supports(&["2026-07-28", "2025-11-25"])), Modern),
            (200, error(-32022, supports(&["2026-07-28"])), Modern),
            (400, error(-32022, supports(&["2025-11-25", "2024-11-05"])), Unclear),
            (400, error(-32022, Some(json!({ "supported": "all" }))), Unclear),
            (400, error(-32022, None), Unclear),
            (404, error(-32601, None), Unclear),
            (200, error(-32601, None), Unclear),
            (200, error(-32602, None), Unclear),
            (400, error(-32602, None), Unclear),
            (400, error(-32000, None), Unclear),
            (
                400,
                json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32000, "message": "no session" } }),
                Unclear,
            ),
            (
                400,
                json!({ "jsonrpc": "2.0", "id": "server-error", "error": { "code": -32600, "message": "-" } }),
                Unclear,
            ),
            (404, json!({ "detail": "Not Found" }), Unclear),
            (422, json!("Unexpected message, expect initialize request"), Unclear),
            (500, error(-32603, None), Nothing),
            (503, json!({}), Nothing),
            (200, json!({}), Nothing),
            (200, json!({ "jsonrpc": "2.0", "id": 2, "result": { "resultType": "complete" } }), Nothing),
        ] {
            assert_eq!(Evidence::of(&Ok(reply(status, &body)), &1.into()), evidence, "{status} {body}");
        }
    }

    #[test]
    fn er_4_what_is_no_message_tells_an_era_by_its_status_alone() {
        let refused = |status| Err(TransportError::new("no message").with_status(status));
        for status in [400, 404, 405, 406, 415, 422] {
            assert_eq!(Evidence::of(&refused(status), &1.into()), Unclear, "{status}");
        }
        for status in [200, 301, 401, 403, 407, 408, 429, 500, 502, 503] {
            assert_eq!(Evidence::of(&refused(status), &1.into()), Nothing, "{status}");
        }
        let lost = Err(TransportError::of(TransportFailure::Unreachable, "connection refused"));
        assert_eq!(Evidence::of(&lost, &1.into()), Nothing);
        assert_eq!(Evidence::of(&Err(TransportError::busy(None)), &1.into()), Nothing);
    }

    proptest! {
        /// The fallback hangs on no single code: but for the three that only modern servers have, all are alike.
        #[test]
        fn er_4_no_code_is_special(code in any::<i64>(), status in prop_oneof![Just(200_u16), Just(400), Just(404)]) {
            prop_assume!(code != -32020);
            prop_assert_eq!(Evidence::of(&Ok(reply(status, &error(code, None))), &1.into()), Unclear);
        }

        #[test]
        fn any_text_is_looked_at_without_a_panic(text in ".{0,200}", status in 100_u16..600) {
            let reply = Ok(TransportResponse::new(text).status(status));
            let evidence = Evidence::of(&reply, &1.into());
            prop_assert!(evidence != Modern);
            prop_assert!(!is_unlike_modern(&reply, &1.into()) || evidence == Unclear);
        }
    }
}
