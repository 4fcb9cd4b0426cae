//! Settings for clients of the legacy era: how they are served, the id of a session, and how much sessions may take.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mrtr_flow::for_server::short_hex;
use mrtr_state::Random;

/// The way in which a server serves clients that begin with `initialize`.
///
/// ```
/// use mrtr_server::{Legacy, Server};
///
/// let modern_only = Server::builder("tracker", "1.0.0").legacy(Legacy::Refuse);
/// assert_eq!(Legacy::default(), Legacy::Sessions);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Legacy {
    /// Each client has a session, in which the server can ask it. A fleet of servers routes by the session's id.
    #[default]
    Sessions,
    /// No client has a session: plain tools work, and the server refuses a tool that would ask, with a text that says
    /// why.
    Stateless,
    /// The server refuses them, and tells them which versions there are.
    Refuse,
}

/// Limits on what sessions may take, together and each.
///
/// ```
/// use std::time::Duration;
/// use mrtr_server::{Server, SessionLimits};
///
/// let limits = SessionLimits { idle: Duration::from_mins(5), ..SessionLimits::default() };
/// let builder = Server::builder("tracker", "1.0.0").session_limits(limits);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "an operator sets any of them beside the defaults")]
pub struct SessionLimits {
    /// Limits how many sessions there are at a time. 4096 by default. The last quarter is for callers below their
    /// share.
    pub sessions: usize,
    /// The most sessions that one caller may have, where callers are known. 256 by default.
    pub sessions_of_caller: usize,
    /// The time that a session is kept while its client is silent and no stream is open. 30 minutes by default.
    pub idle: Duration,
    /// The most bytes that all sessions keep together: calls with their journals, and what waits to be sent. 256 MiB by
    /// default. What clients declared counts, too, and the last quarter is for callers below their share.
    pub bytes: usize,
    /// The most of those bytes that one session may keep. 16 MiB by default.
    pub bytes_of_session: usize,
    /// Limits how many calls of a session are open at a time. 64 by default.
    pub calls: usize,
    /// Limits how many questions of a call are open at a time. 64 by default.
    pub questions: usize,
    /// The time a client has for an answer, unless the tool or the question says otherwise. Ten minutes by default.
    pub question_timeout: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            sessions: 4096,
            sessions_of_caller: 256,
            idle: Duration::from_mins(30),
            bytes: 256 << 20,
            bytes_of_session: 16 << 20,
            calls: 64,
            questions: 64,
            question_timeout: Duration::from_mins(10),
        }
    }
}

/// The id of a session: 128 random bits as text. It names the session and grants nothing: the session belongs to its
/// principal.
///
/// ```
/// use mrtr_server::Server;
/// use mrtr_server::transport::{HeaderClaim, LegacyReply, Received};
/// use mrtr_server::Context;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let server = Server::builder("empty", "1.0.0").build().unwrap();
/// let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",
///     "capabilities":{},"clientInfo":{"name":"editor","version":"1.0.0"}}}"#;
/// let Received::Legacy(message) = server.receive(initialize.into(), Context::new()).await else { panic!("legacy") };
/// let LegacyReply::Opened { session, .. } = message.answer(None, &HeaderClaim::Missing).await else { panic!("opened") };
/// assert_eq!(session.as_str().len(), 32);
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SessionId(Arc<str>);

impl SessionId {
    pub(super) fn random(random: &impl Random) -> Self {
        let mut bytes = [0; 16];
        random.fill(&mut bytes);
        Self(short_hex(&bytes).into())
    }

    /// Its text: 32 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for SessionId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// Shows only its beginning: in a log it tells sessions apart, and is of no use otherwise.
impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({}…)", &self.0[..8])
    }
}
