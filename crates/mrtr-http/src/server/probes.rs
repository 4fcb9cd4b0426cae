//! The health and readiness routes, for the probes of a platform.

use std::sync::atomic::{AtomicBool, Ordering};

use http::{HeaderValue, Method, Response, StatusCode, header};

use super::respond::with_type;
use super::response_body::ResponseBody;

/// The answers to the probes of a platform. They say nothing of the server but this, and cost next to nothing: whoever
/// reaches the socket may ask.
#[derive(Debug, Default)]
pub(super) struct Probes {
    is_ending: AtomicBool,
}

impl Probes {
    pub(super) const PATHS: [&str; 2] = [HEALTH, READINESS];

    /// Fails the readiness probe from now on.
    pub(super) fn begin_end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Answers a request for one of the paths; `None` for any other.
    pub(super) fn answer(&self, method: &Method, path: &str) -> Option<Response<ResponseBody>> {
        let (status, text) = match path {
            HEALTH => (StatusCode::OK, "alive\n"),
            READINESS if self.is_ending.load(Ordering::Relaxed) => (StatusCode::SERVICE_UNAVAILABLE, "shutting down\n"),
            READINESS => (StatusCode::OK, "ready\n"),
            _ => return None,
        };
        if !matches!(*method, Method::GET | Method::HEAD) {
            let refused = ResponseBody::whole("Only GET and HEAD here.\n");
            let mut response = with_type(StatusCode::METHOD_NOT_ALLOWED, refused, TEXT);
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Some(response);
        }
        let body = if *method == Method::HEAD { ResponseBody::empty() } else { ResponseBody::whole(text) };
        let mut response = with_type(status, body, TEXT);
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Some(response)
    }
}

pub(super) const HEALTH: &str = "/healthz";
pub(super) const READINESS: &str = "/readyz";

const TEXT: &str = "text/plain; charset=utf-8";
