//! The metadata of a protected resource (RFC 9728): where clients learn which issuers an endpoint trusts.

use std::collections::BTreeSet;

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header};
use serde_json::json;

use super::endpoint::Endpoint;
use super::public_url::WELL_KNOWN;
use super::respond::{JSON, with_type};
use super::response_body::ResponseBody;

impl Endpoint {
    /// Returns the metadata of this endpoint, as JSON; `None` if it has no public URL, or trusts no issuer.
    pub(super) fn metadata(&self) -> Option<Bytes> {
        let (url, authenticator) = (self.config.public_url.as_ref()?, &self.config.authenticator);
        let issuers = authenticator.authorization_servers();
        if issuers.is_empty() {
            return None;
        }
        let mut document = json!({
            "resource": url.as_str(),
            "authorization_servers": issuers,
            "bearer_methods_supported": ["header"],
            "resource_name": self.server().inventory().name,
        });
        if !self.config.basic_scopes.is_empty() {
            document["scopes_supported"] = json!(self.config.basic_scopes);
        }
        let proofs = authenticator.proof_algorithms();
        if !proofs.is_empty() {
            document["dpop_signing_alg_values_supported"] = json!(proofs);
        }
        Some(document.to_string().into())
    }

    /// Returns the paths at which the metadata of this endpoint is: under the path of its public URL, and under the
    /// path where it is mounted, since a proxy in front may strip what is before it. The root is not among them.
    pub(super) fn metadata_paths(&self, mounted: &str) -> BTreeSet<String> {
        let Some(url) = &self.config.public_url else { return BTreeSet::new() };
        let paths = [url.path(), mounted].map(|path| path.trim_end_matches('/'));
        paths.into_iter().filter(|path| !path.is_empty()).map(|path| format!("{WELL_KNOWN}{path}")).collect()
    }

    /// Returns true if the metadata of this endpoint is at this path.
    pub(super) fn has_metadata_at(&self, path: &str, mounted: &str) -> bool {
        path.starts_with(WELL_KNOWN) && self.metadata_paths(mounted).contains(path)
    }
}

/// Answers a request for metadata. Pages of any origin may read it: it is public.
pub(super) fn answer(method: &Method, document: Bytes) -> Response<ResponseBody> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        let refused = ResponseBody::whole("Only GET and HEAD here.\n");
        let mut response = with_type(StatusCode::METHOD_NOT_ALLOWED, refused, "text/plain; charset=utf-8");
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let body = if *method == Method::HEAD { ResponseBody::empty() } else { ResponseBody::whole(document) };
    let mut response = with_type(StatusCode::OK, body, JSON);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}
