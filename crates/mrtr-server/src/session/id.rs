//! The id of a session.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use mrtr_flow::for_server::short_hex;
use mrtr_state::Random;

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

/// Only its beginning: in a log it is to tell sessions apart, and not to be used.
impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({}…)", &self.0[..8])
    }
}
