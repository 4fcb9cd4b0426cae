//! What a session hears outside its calls: that lists have changed, or resources that it watches.

use futures_util::stream;
use tokio::sync::broadcast::error::RecvError;

use super::notices;
use super::one::{Listener, Session};
use super::stream::{Primed, SessionEvent, SessionStream, event_id, parse_event_id};
use crate::definition::parts::Parts;
use crate::support::changes::Change;
use std::sync::Arc;

/// Why a client cannot listen.
///
/// ```
/// use mrtr_server::{Context, Server};
/// use mrtr_server::transport::{HeaderClaim, ListenError};
///
/// let server = Server::builder("empty", "1.0.0").build()?;
/// let listening = server.sessions().listen("no such id", &Context::new(), &HeaderClaim::Missing, None);
/// assert_eq!(listening.unwrap_err(), ListenError::NoSession);
/// # Ok::<(), mrtr_server::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// There is no such session, or it is another principal's.
    #[error("there is no such session: begin anew with `initialize`")]
    NoSession,
    /// The session has another protocol version.
    #[error("the session has another protocol version")]
    OtherVersion,
    /// There is nothing to listen for: the server has neither lists nor resources.
    #[error("there is nothing to listen for")]
    Nothing,
    /// The stream that is to be resumed is not there any more, or never was.
    #[error("the stream that is to be resumed is gone")]
    StreamGone,
}

/// The stream that a client resumes, or one of what changes.
pub(super) fn listen(
    parts: &Parts,
    session: &Arc<Session>,
    primed: Primed,
    last_event: Option<&str>,
) -> Result<SessionStream, ListenError> {
    let resumed = last_event.map(|id| parse_event_id(id).ok_or(ListenError::StreamGone)).transpose()?;
    if let Some((number, place)) = resumed.filter(|(number, _)| *number != LISTENING) {
        let stream = session.stream(number).ok_or(ListenError::StreamGone)?;
        return Ok(SessionStream::of(stream.read_after(place), None, Primed::No));
    }
    if parts.tools.is_empty() && parts.prompts.is_empty() && !parts.has_resources() {
        return Err(ListenError::Nothing);
    }
    // What changed meanwhile is not kept: a client that comes back reads the lists anew.
    let place = resumed.map_or(0, |(_, place)| place);
    let (listener, changes) = (session.listen(), parts.shared.changes.subscribe());
    let listening = Listening { listener, changes, place };
    let prime = (primed == Primed::Yes).then(|| SessionEvent::prime(event_id(LISTENING, place)));
    let events = stream::unfold(listening, |mut listening| async {
        let event = listening.next().await?;
        Some((event, listening))
    });
    Ok(SessionStream::new(futures_util::StreamExt::chain(stream::iter(prime), events)))
}

struct Listening {
    listener: Listener,
    changes: tokio::sync::broadcast::Receiver<Change>,
    place: u64,
}

impl Listening {
    async fn next(&mut self) -> Option<SessionEvent> {
        loop {
            let change = tokio::select! {
                () = self.listener.replaced() => return None,
                changed = self.changes.recv() => match changed {
                    // If it missed some, better that it comes anew than that it believes to be up to date.
                    Ok(Change::End) | Err(RecvError::Closed | RecvError::Lagged(_)) => return None,
                    Ok(change) => change,
                },
            };
            let session = &self.listener.session;
            if let Some(message) = notices::changed(&change, |uri| session.watches(uri), session.revision) {
                self.place += 1;
                return Some(SessionEvent::message(event_id(LISTENING, self.place), message));
            }
        }
    }
}

/// The number of the stream that belongs to no call.
const LISTENING: u64 = 0;
