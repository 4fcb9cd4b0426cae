//! The notifications that a session sends by itself: in its calls, and to a client that listens.

use std::sync::Arc;

use futures_util::stream;
use mrtr_schema::jsonrpc::Notification;
use mrtr_schema::methods::{
    Cancelled, ElicitationComplete, NotificationMethod, PromptListChanged, ResourceListChanged, ResourceUpdated,
    ToolListChanged,
};
use mrtr_schema::notifications::{CancelledParams, ElicitationCompleteParams};
use mrtr_schema::params::NotificationParams;
use mrtr_schema::resources::ResourceUpdatedParams;
use mrtr_schema::{Feature, Revision, Wire};
use tokio::sync::broadcast::error::RecvError;

use crate::definition::parts::Parts;
use crate::session::one::{Listener, Session};
use crate::session::stream::{Primed, SessionEvent, SessionStream, event_id, parse_event_id};
use crate::support::changes::Change;

/// Writes the notification that tells the client that a question is no longer asked.
pub(super) fn withdrawn(question: i64, revision: Revision) -> Option<String> {
    let mut params = CancelledParams::default();
    params.request_id = Some(question.into());
    params.reason = Some("The question is not asked any more".to_owned());
    written(&Notification::<Cancelled>::new(params), revision)
}

/// Says that a person has done what a URL asked for.
pub(super) fn visited(elicitation: &str, revision: Revision) -> Option<String> {
    let has = revision.has(Feature::ElicitationId);
    let params = has.then(|| ElicitationCompleteParams::new(elicitation))?;
    written(&Notification::<ElicitationComplete>::new(params), revision)
}

/// Says that something changed on the server. Only a session that watches a resource hears of it.
pub(super) fn changed(change: &Change, watches: impl Fn(&str) -> bool, revision: Revision) -> Option<String> {
    let plain = NotificationParams::new;
    match change {
        Change::Tools => written(&Notification::<ToolListChanged>::new(plain()), revision),
        Change::Prompts => written(&Notification::<PromptListChanged>::new(plain()), revision),
        Change::Resources => written(&Notification::<ResourceListChanged>::new(plain()), revision),
        Change::Resource(uri) if watches(uri) => {
            written(&Notification::<ResourceUpdated>::new(ResourceUpdatedParams::new(&**uri)), revision)
        }
        Change::Resource(_) | Change::End => None,
    }
}

fn written<N: NotificationMethod>(notification: &Notification<N>, revision: Revision) -> Option<String> {
    let written = notification.to_json(revision);
    written.inspect_err(|error| tracing::warn!(%error, "a notification cannot be written in this revision")).ok()
}

/// The reason why a client cannot listen.
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
    /// The stream to resume is not there any more, or never was.
    #[error("the stream that is to be resumed is gone")]
    StreamGone,
}

/// Returns the stream that a client resumes, or a new one of changes.
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
    // Changes in the meantime are not kept: a client that comes back reads the lists anew.
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
                    // A client that missed some had better come anew than believe that it is up to date.
                    Ok(Change::End) | Err(RecvError::Closed | RecvError::Lagged(_)) => return None,
                    Ok(change) => change,
                },
            };
            let session = &self.listener.session;
            if let Some(message) = changed(&change, |uri| session.watches(uri), session.revision) {
                self.place += 1;
                return Some(SessionEvent::message(event_id(LISTENING, self.place), message));
            }
        }
    }
}

/// The number of the stream that belongs to no call.
const LISTENING: u64 = 0;
