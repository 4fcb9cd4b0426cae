//! The era that a request goes out in: the one that the server has shown, that the caller said, or that the client
//! finds out.

use std::pin::pin;
use std::sync::Arc;

use mrtr_schema::discovery::DiscoverResult;
use mrtr_schema::{Envelope, Era, ErrorObject, RawMembers, RequestId, Revision, Wire};

use super::Client;
use super::evidence::Evidence;
use super::session::{NO_RESULT, Session};
use crate::transport::{Detection, EraMemory, TransportRequest, TransportResponse};
use crate::{CallError, CallErrorKind, PendingCall, Stop, TransportError};

/// The eras that a client speaks.
#[derive(Debug)]
pub(super) enum Mode {
    /// The modern era: the caller said so, or the transport carries no sessions.
    Modern,
    /// Sessions, as the caller said, of this revision if the server has it.
    Legacy(Revision),
    /// The era that the server speaks.
    Either(EraMemory),
}

/// The way that a request goes out.
#[derive(Debug)]
pub(super) enum Way {
    /// By itself.
    Modern,
    /// In a session.
    Session(Arc<Session>),
}

/// The reason that there is no way for a request to go out.
#[derive(Debug)]
pub(super) enum EraError {
    Transport(TransportError),
    Server(ErrorObject),
    Stop(Stop),
}

impl EraError {
    pub(super) fn into_error(self, pending: Box<PendingCall>) -> CallError {
        match self {
            Self::Transport(source) => CallErrorKind::Transport { source }.of(pending),
            Self::Server(error) => CallErrorKind::Server { error: Box::new(error) }.of(pending),
            Self::Stop(stop) => CallErrorKind::Stopped { stop }.of(pending),
        }
    }
}

/// The result of a probe.
enum Probed {
    Modern,
    /// The server is of the legacy era, and a session may have begun while the client waited for the probe.
    Legacy(Option<Arc<Session>>),
}

impl Client {
    /// The way that a call goes out, if it is known already.
    pub(super) fn known_way(&self, pending: &PendingCall) -> Option<Way> {
        match &self.0.mode {
            Mode::Modern => return Some(Way::Modern),
            // The call holds something that a server of the modern era said, so it belongs to that era.
            _ if pending.is_modern_for_good() => return Some(Way::Modern),
            Mode::Either(memory) => match (memory.era(), memory.detection) {
                (Some(Era::Modern), _) | (None, Detection::ByRequest) => return Some(Way::Modern),
                (None, Detection::ByProbe) => return None,
                (Some(Era::Legacy), _) => {}
            },
            Mode::Legacy(_) => {}
        }
        self.current_session().map(Way::Session)
    }

    /// Finds the way that a call goes out: finds out the era, or begins a session.
    pub(super) async fn find_way(&self) -> Result<Way, EraError> {
        match &self.0.mode {
            Mode::Modern => Ok(Way::Modern),
            Mode::Legacy(_) => self.session().await.map(Way::Session),
            Mode::Either(memory) => self.settle(memory, false).await,
        }
    }

    /// Finds out which era the server speaks, unless that is known by now, and begins a session if it is the legacy
    /// one. `is_legacy` says that the server answered a probe as only a legacy one does.
    pub(super) async fn settle(&self, memory: &EraMemory, is_legacy: bool) -> Result<Way, EraError> {
        // Calls that begin at the same time find the era out once.
        let _settling = self.0.settling.lock().await;
        let mut begun = None;
        match memory.era() {
            Some(Era::Modern) => return Ok(Way::Modern),
            Some(Era::Legacy) => {}
            None if is_legacy => {}
            None => match self.probe(memory.detection).await? {
                Probed::Modern => {
                    memory.remember(Era::Modern);
                    return Ok(Way::Modern);
                }
                Probed::Legacy(session) => begun = session,
            },
        }
        let session = match (begun, self.current_session()) {
            (Some(begun), _) => self.keep_session(begun),
            (None, Some(session)) => session,
            (None, None) => self.keep_session(self.open_session().await?),
        };
        memory.remember(Era::Legacy);
        Ok(Way::Session(session))
    }

    /// The session of this client, which begins if there is none.
    async fn session(&self) -> Result<Arc<Session>, EraError> {
        let _settling = self.0.settling.lock().await;
        match self.current_session() {
            Some(session) => Ok(session),
            None => Ok(self.keep_session(self.open_session().await?)),
        }
    }

    /// Asks a server that had a session if it speaks the modern era by now, with a request that changes nothing.
    pub(super) async fn probe_modern(&self) -> bool {
        matches!(self.probe(Detection::ByRequest).await, Ok(Probed::Modern))
    }

    /// Asks the server what it is, with a request that no server of the legacy era knows.
    async fn probe(&self, detection: Detection) -> Result<Probed, EraError> {
        let id = RequestId::from(self.next_id());
        let mut probing = pin!(self.discover_once(&id));
        if detection == Detection::ByRequest {
            return self.read_probe(probing.await, &id, detection);
        }
        if let Ok(reply) = tokio::time::timeout(self.0.limits.probe, &mut probing).await {
            return self.read_probe(reply, &id, detection);
        }
        // A legacy server may never answer, and a slow server of either era may still answer.
        let mut opening = pin!(self.open_session());
        let opened = tokio::select! {
            biased;
            reply = &mut probing => match self.read_probe(reply, &id, detection)? {
                Probed::Modern => return Ok(Probed::Modern),
                Probed::Legacy(_) => opening.await,
            },
            opened = &mut opening => opened,
        };
        opened.map(|session| Probed::Legacy(Some(session)))
    }

    fn read_probe(
        &self,
        reply: Result<TransportResponse, TransportError>,
        id: &RequestId,
        detection: Detection,
    ) -> Result<Probed, EraError> {
        match (Evidence::of(&reply, id), reply) {
            (Evidence::Modern, reply) => {
                if let Ok(response) = &reply {
                    self.choose_version(response);
                }
                Ok(Probed::Modern)
            }
            // Some legacy servers end if they hear anything before `initialize`.
            (_, Err(_)) if detection == Detection::ByProbe => Ok(Probed::Legacy(None)),
            (Evidence::Nothing, Err(error)) => Err(EraError::Transport(error)),
            // A result that says nothing of versions is not one of this method.
            (Evidence::Unclear | Evidence::Nothing, _) => Ok(Probed::Legacy(None)),
        }
    }

    /// The latest version that both have, if the server does not have the one that this client speaks.
    fn choose_version(&self, response: &TransportResponse) {
        let Ok(Envelope::Result { result, .. }) = Envelope::parse(response.text.as_bytes()) else { return };
        let Ok(offer) = DiscoverResult::read(result, Revision::default().lenient()) else { return };
        let theirs = offer.supported_versions.iter().filter_map(|version| version.parse().ok());
        let theirs: Vec<Revision> = theirs.filter(|version: &Revision| version.era() == Era::Modern).collect();
        if !theirs.contains(&self.modern_revision()) {
            let Some(latest) = theirs.into_iter().max() else { return };
            self.set_revision(latest);
        }
    }

    async fn discover_once(&self, id: &RequestId) -> Result<TransportResponse, TransportError> {
        let (method, revision) = ("server/discover", self.modern_revision());
        let message = self.message(id, method, &RawMembers::default(), revision);
        let request = TransportRequest {
            message: &message,
            id,
            method,
            name: None,
            arguments: None,
            revision,
            session: None,
            reply_bytes: self.0.limits.reply_bytes,
        };
        self.within_time(self.0.transport.exchange(request, &mut |_| {}), NO_RESULT).await
    }
}
