//! A challenge: the credentials that a caller must send, as the value of `WWW-Authenticate`.

use std::borrow::Cow;

use http::{HeaderValue, StatusCode};

/// The credentials that a caller must send: the value of `WWW-Authenticate`.
///
/// The endpoint adds what it knows better than an authenticator: the URL of its metadata, and the scopes that the
/// request needs.
///
/// ```
/// use mrtr_http::Challenge;
///
/// let who_are_you = Challenge::bearer();
/// let expired = Challenge::bearer().error("invalid_token").description("The token has expired");
/// let not_enough = Challenge::bearer().insufficient_scope(["files:write"]);
/// assert_eq!(not_enough.to_string(), r#"Bearer error="insufficient_scope", scope="files:write""#);
/// # assert_ne!(who_are_you, expired);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    scheme: Cow<'static, str>,
    parameters: Vec<(Cow<'static, str>, String)>,
    status: StatusCode,
}

impl Challenge {
    /// Creates a challenge for a bearer token. The endpoint answers it with 401.
    pub const fn bearer() -> Self {
        Self { scheme: Cow::Borrowed(BEARER), parameters: Vec::new(), status: StatusCode::UNAUTHORIZED }
    }

    /// Creates a challenge for a token that is bound to a key of the caller's (RFC 9449).
    pub const fn dpop() -> Self {
        Self { scheme: Cow::Borrowed(DPOP), parameters: Vec::new(), status: StatusCode::UNAUTHORIZED }
    }

    /// Creates a challenge of another scheme, such as `Basic`.
    ///
    /// A scheme that no header can hold becomes `Bearer`: a rejection always names a scheme that the caller can use.
    pub fn scheme(name: impl Into<String>) -> Self {
        let name = name.into();
        let scheme = if is_token(&name) {
            Cow::Owned(name)
        } else {
            tracing::error!("a challenge names a scheme that no header can hold");
            Cow::Borrowed(BEARER)
        };
        Self { scheme, ..Self::bearer() }
    }

    /// Adds a parameter, such as a `realm`, or replaces it. A name that is none for a parameter is left out.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<String>) -> Self {
        let (name, value) = (name.into(), value.into());
        if !is_token(&name) {
            tracing::error!("a challenge has a parameter that no header can hold");
            return self;
        }
        match self.parameters.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(&name)) {
            Some((_, known)) => *known = value,
            None => self.parameters.push((name, value)),
        }
        self
    }

    /// Sets the error code, such as `invalid_token`.
    #[must_use]
    pub fn error(self, code: &'static str) -> Self {
        self.parameter("error", code)
    }

    /// Says for people what is wrong. The caller can read it: leave out what is not meant for it.
    #[must_use]
    pub fn description(self, text: impl Into<String>) -> Self {
        self.parameter("error_description", text)
    }

    /// Says that the caller is known, and lacks scopes: name all that the operation needs. The status is 403 then.
    #[must_use]
    pub fn insufficient_scope<S: AsRef<str>>(self, needed: impl IntoIterator<Item = S>) -> Self {
        self.error("insufficient_scope").needing(needed).forbidden()
    }

    /// Names the scopes that the request needs.
    #[must_use]
    pub fn needing<S: AsRef<str>>(self, scopes: impl IntoIterator<Item = S>) -> Self {
        let scopes: Vec<_> = scopes.into_iter().map(|scope| scope.as_ref().to_owned()).collect();
        if scopes.is_empty() { self } else { self.parameter("scope", scopes.join(" ")) }
    }

    /// Makes the status of the answer 403: the caller is known, and its credentials are not enough.
    #[must_use]
    pub fn forbidden(mut self) -> Self {
        self.status = StatusCode::FORBIDDEN;
        self
    }

    /// Says that the credentials cannot be read, whatever they are. The status is 400 then.
    #[must_use]
    pub fn malformed(self) -> Self {
        Self { status: StatusCode::BAD_REQUEST, ..self.error("invalid_request") }
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// Adds what the endpoint knows: the URL of its metadata, and the scopes that a request needs, unless the
    /// authenticator named them.
    pub(super) fn completed(mut self, metadata: Option<&str>, scopes: &[String]) -> Self {
        let is_oauth = [BEARER, DPOP].iter().any(|scheme| self.scheme.eq_ignore_ascii_case(scheme));
        if !is_oauth {
            return self;
        }
        if !self.has("scope") {
            self = self.needing(scopes);
        }
        match metadata {
            Some(url) if !self.has("resource_metadata") => self.parameter("resource_metadata", url),
            _ => self,
        }
    }

    fn has(&self, name: &str) -> bool {
        self.parameters.iter().any(|(known, _)| known == name)
    }

    pub(super) fn to_header(&self) -> HeaderValue {
        // `quoted` leaves nothing that a header cannot hold.
        HeaderValue::try_from(self.to_string()).unwrap_or_else(|_| HeaderValue::from_static(BEARER))
    }
}

/// Writes it as the header's value.
impl std::fmt::Display for Challenge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.scheme)?;
        for (place, (name, value)) in self.parameters.iter().enumerate() {
            write!(f, "{} {name}=\"{}\"", if place == 0 { "" } else { "," }, quoted(value))?;
        }
        Ok(())
    }
}

/// Escapes a text for a quoted string (RFC 9110, 5.6.4), and replaces what none of the OAuth parameters may hold.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            ' '..='~' => quoted.push(letter),
            _ => quoted.push('?'),
        }
    }
    quoted
}

/// Returns true for a token (RFC 9110, 5.6.2).
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

const BEARER: &str = "Bearer";
const DPOP: &str = "DPoP";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rs_13_odd_characters_are_quoted_or_replaced() {
        let odd = Challenge::bearer().description("say \"hi\" \\ now\r\nX-Injected: 1 é");
        assert_eq!(odd.to_string(), r#"Bearer error_description="say \"hi\" \\ now??X-Injected: 1 ?""#);
        assert_eq!(odd.to_header(), odd.to_string());
    }

    #[test]
    fn a_scheme_and_a_name_that_no_header_can_hold_are_left_out() {
        assert_eq!(Challenge::scheme("Bearer\r\nX: 1").to_string(), "Bearer");
        assert_eq!(
            Challenge::scheme("Basic").parameter("realm", "a").parameter("b c", "d").to_string(),
            r#"Basic realm="a""#
        );
    }

    #[test]
    fn the_endpoint_adds_only_what_is_missing() {
        let scopes = ["read".to_owned(), "write".to_owned()];
        let completed = Challenge::bearer().completed(Some("https://a.example/m"), &scopes);
        assert_eq!(completed.to_string(), r#"Bearer scope="read write", resource_metadata="https://a.example/m""#);
        let own = Challenge::bearer().needing(["own"]).completed(None, &scopes);
        assert_eq!(own.to_string(), r#"Bearer scope="own""#);
        assert_eq!(Challenge::scheme("Basic").completed(Some("https://a.example/m"), &scopes).to_string(), "Basic");
    }
}
