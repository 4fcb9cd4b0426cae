//! The legacy era: sessions that begin with `initialize`, and calls that stay open while their client is asked.
//!
//! It knows no transport: a message comes in with the id of its session, and what goes out is a reply or a stream of
//! events. From a message down: `message` → `table` → `one` → `call`, whose handler runs as in a round.

mod call;
mod limits;
mod memory;
mod message;
mod notices;
mod one;
mod open_questions;
mod requests;
mod stream;
mod table;

pub use limits::{Legacy, SessionId, SessionLimits};
pub use message::{LegacyMessage, LegacyReply};
pub use notices::ListenError;
pub use stream::{SessionEvent, SessionStream};
pub use table::Sessions;
