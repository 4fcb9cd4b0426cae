//! Types for transports: the context that they give a server with a request, and the parts of a reply.

pub use crate::definition::tool::HeaderClaim;
pub use crate::protocol::context::{Arrival, Headers};
pub use crate::protocol::offers::Inventory;
pub use crate::protocol::offers::Offers;
pub use crate::protocol::reply::{ReplyStream, Stage};
pub use crate::server::Received;
pub use crate::session::{LegacyMessage, LegacyReply, ListenError, SessionEvent, SessionId, SessionStream, Sessions};
#[cfg(feature = "signal")]
pub use crate::support::end_signal::end_signal;
pub use crate::support::fair::{Account, CallerKey, FairPool, Full, Holding};
pub use crate::support::permit::Permit;
