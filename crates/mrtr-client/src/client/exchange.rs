//! One exchange with the server: in its era, within its time and its size, and read as the kind of reply that it is.

use std::borrow::Cow;
use std::sync::Arc;

use mrtr_schema::{Envelope, Era, ErrorObject, Json, MethodInfo, RawMembers, ReadError, RequestId, Revision, Wire};
use serde_json::value::RawValue;

use super::Client;
use super::converse::{Conversed, Ended};
use super::drive::CallDriver;
use super::era::{EraError, Mode, Way};
use super::evidence::{Evidence, is_unlike_modern, was_refused};
use super::session::{NO_RESULT, Session};
use crate::raw::subject;
use crate::transport::{EraMemory, ServerMessage, SessionId, TransportRequest, TransportResponse};
use crate::{CallError, CallErrorKind, Outgoing, Stop, TransportError, TransportFailure};

impl CallDriver<'_> {
    /// Sends a request, and tells the call what came back. If the server turns out to speak the other era, and has not run
    /// it, the call still wants it sent.
    pub(super) async fn exchange(&mut self, outgoing: Outgoing) -> Result<(), CallError> {
        let way = match self.client.known_way(self.call.pending()) {
            Some(way) => way,
            // This is rare and long, so it is boxed and costs other calls nothing.
            None => Box::pin(self.client.find_way()).await.map_err(|refusal| refusal.into_error(self.pending()))?,
        };
        match way {
            Way::Modern => self.exchange_by_itself(outgoing).await,
            Way::Session(session) => Box::pin(self.exchange_in_session(outgoing, &session)).await,
        }
    }

    /// A request of the modern era.
    async fn exchange_by_itself(&mut self, outgoing: Outgoing) -> Result<(), CallError> {
        // The call was prepared for a session that is over.
        if self.call.pending().revision().era() == Era::Legacy {
            self.call.move_to(self.client.modern_revision());
        }
        let revision = self.call.pending().revision();
        let id = RequestId::from(self.client.next_id());
        let exchanged = self.reply(&outgoing, &id, revision).await;
        if let Mode::Either(memory) = &self.client.0.mode
            && (memory.era() != Some(Era::Modern) || was_refused(&exchanged.reply))
            && Box::pin(self.look_for_era(memory, &exchanged, &id, &outgoing.method)).await
        {
            return Ok(());
        }
        self.take(exchanged, &id, revision)
    }

    /// Learns from a reply which era the server speaks. Returns true if the call continues in a session, or is over.
    async fn look_for_era(&mut self, memory: &EraMemory, exchanged: &Exchanged, id: &RequestId, method: &str) -> bool {
        let reply = &exchanged.reply;
        if memory.era() == Some(Era::Modern) {
            if !is_unlike_modern(reply, id) {
                return false;
            }
            memory.forget();
        }
        match Evidence::of(reply, id) {
            Evidence::Modern => memory.remember(Era::Modern),
            Evidence::Nothing => {
                if matches!(reply, Err(error) if error.failure() == TransportFailure::LegacyServer) {
                    memory.remember(Era::Legacy);
                }
            }
            Evidence::Unclear => {
                // A call that was run is not run again, whichever era it was run in.
                let was_not_run = !exchanged.has_begun && (was_refused(reply) || MethodInfo::of(method).only_reads);
                // The probe decides, and not the reply: an unknown tool must not move the client of a server of both
                // eras into a session.
                match self.client.settle(memory, method == "server/discover").await {
                    Ok(Way::Session(_)) => return was_not_run && self.switch_era(),
                    Err(EraError::Stop(stop @ Stop::OtherVersion(_))) => {
                        self.call.refuse_reply(stop);
                        return true;
                    }
                    // The server's first reply is its answer.
                    Ok(Way::Modern) | Err(_) => {}
                }
            }
        }
        false
    }

    /// Counts a change of era, and returns true if the call may be sent in the other one. The client does not follow
    /// for ever a server that goes back and forth.
    fn switch_era(&mut self) -> bool {
        self.era_switches += 1;
        self.era_switches <= MAX_ERA_SWITCHES
    }

    /// A request of a session.
    async fn exchange_in_session(&mut self, outgoing: Outgoing, session: &Arc<Session>) -> Result<(), CallError> {
        self.call.move_to(session.revision);
        if outgoing.method == "server/discover" {
            // The server described itself when the session began.
            self.call.replied(Ok(session.as_discovered().as_raw()), None);
            return Ok(());
        }
        let id = RequestId::from(self.client.next_id());
        let written = Written::new(self.client, &outgoing, &id, session.revision);
        self.is_held = !MethodInfo::of(&outgoing.method).only_reads;
        let Conversed { outcome, asked, has_begun } =
            self.converse(written.request(session.id.as_ref()), session).await;
        self.is_held = false;
        self.call.hold(asked);
        let reply = match outcome {
            Ok(reply) => reply,
            Err(ended) => return self.end_in_session(ended, &outgoing.method),
        };
        if !has_begun && self.leave_lost_session(&reply, session).await && self.switch_era() {
            return Ok(());
        }
        match reply {
            Err(error) if has_begun || error.may_have_run() => Err(self.in_doubt(error, &outgoing.method)),
            reply => self.take(Exchanged::new(reply, has_begun, &outgoing.method), &id, session.revision),
        }
    }

    /// Makes the error for a call that the server may have begun, and whose end this client has not heard of. Neither
    /// this client nor a caller that resumes it sends it again, unless it only reads.
    fn in_doubt(&mut self, failure: TransportError, method: &str) -> CallError {
        if MethodInfo::of(method).only_reads {
            return CallErrorKind::Transport { source: failure }.of(self.pending());
        }
        self.call.hold(1);
        CallErrorKind::InDoubt { failure }.of(self.pending())
    }

    /// Leaves the session if the server does not know it, or has come to speak the modern era: then it has not run the
    /// request. Returns true if it left.
    async fn leave_lost_session(
        &self,
        reply: &Result<TransportResponse, TransportError>,
        session: &Arc<Session>,
    ) -> bool {
        let memory = if let Mode::Either(memory) = &self.client.0.mode { Some(memory) } else { None };
        if matches!(reply, Err(error) if error.failure() == TransportFailure::SessionEnded) {
            self.client.drop_session(session);
            if let Some(memory) = memory {
                memory.forget_origin();
            }
            return true;
        }
        let Some(memory) = memory.filter(|_| was_refused(reply)) else { return false };
        let is_modern = self.client.probe_modern().await;
        if is_modern {
            self.client.drop_session(session);
            memory.remember(Era::Modern);
        }
        is_modern
    }

    fn end_in_session(&mut self, ended: Ended, method: &str) -> Result<(), CallError> {
        let pending = self.pending();
        match ended {
            Ended::Transport(error) => Err(self.in_doubt(error, method)),
            Ended::Stop(stop) => {
                self.call.refuse_reply(stop);
                Ok(())
            }
            Ended::Unanswered { key, method, unanswered } => Err(self.unanswered(key, method, unanswered)),
            Ended::InvalidAnswer(error) => Err(CallErrorKind::InvalidAnswer { error }.of(pending)),
            Ended::GatheringTooLong => Err(CallErrorKind::GatheringTooLong.of(pending)),
            Ended::ByHand => Err(CallErrorKind::HeldByServer.of(pending)),
        }
    }

    /// Tells the call what came back.
    fn take(&mut self, exchanged: Exchanged, id: &RequestId, revision: Revision) -> Result<(), CallError> {
        let Exchanged { reply, has_begun } = exchanged;
        let response = match reply {
            Ok(response) => response,
            Err(error) => match error.busy {
                Some(busy) if !has_begun => {
                    self.call.back_off(busy.retry_after);
                    return Ok(());
                }
                _ => return Err(CallErrorKind::Transport { source: error }.of(self.pending())),
            },
        };
        let longest = self.client.0.limits.reply_bytes;
        if response.text.len() > longest {
            self.call.refuse_reply(Stop::ReplyTooLong(response.text.len()));
            return Ok(());
        }
        self.credentials = response.credentials;
        match read(&response, id, revision) {
            // If the server is busy by now, or has another version, that is no reason to send the call again.
            Ok(Err(error)) if has_begun => self.call.fail(error),
            Ok(reply) => self.call.replied(reply, response.retry_after),
            Err(stop) => self.call.refuse_reply(stop),
        }
        Ok(())
    }

    async fn reply(&self, outgoing: &Outgoing, id: &RequestId, revision: Revision) -> Exchanged {
        let written = Written::new(self.client, outgoing, id, revision);
        let mut has_heard = false;
        let mut on_message = |message: ServerMessage| {
            has_heard = true;
            if let ServerMessage::Notification(notification) = message {
                self.hear(notification, revision);
            }
        };
        let exchange = self.client.0.transport.exchange(written.request(None), &mut on_message);
        let reply = self.client.within_time(exchange, NO_RESULT).await;
        Exchanged::new(reply, has_heard, &outgoing.method)
    }
}

/// The outcome of an exchange.
struct Exchanged {
    reply: Result<TransportResponse, TransportError>,
    /// True if the server has begun with something that must not be done twice.
    has_begun: bool,
}

impl Exchanged {
    /// Makes an outcome of a reply. `has_heard` says that the server said something before it.
    fn new(reply: Result<TransportResponse, TransportError>, has_heard: bool, method: &str) -> Self {
        Self { reply, has_begun: has_heard && !MethodInfo::of(method).only_reads }
    }
}

/// A request as it is written, with the parts of it that a transport wants to see.
struct Written<'a> {
    message: String,
    id: &'a RequestId,
    method: &'a str,
    params: RawMembers<'a>,
    name: Option<Cow<'a, str>>,
    revision: Revision,
    reply_bytes: usize,
}

impl<'a> Written<'a> {
    fn new(client: &Client, outgoing: &'a Outgoing, id: &'a RequestId, revision: Revision) -> Self {
        let params = RawMembers::of(&outgoing.params).unwrap_or_default();
        let message = client.message(id, &outgoing.method, &params, revision);
        let name = subject(&outgoing.method, &params);
        let reply_bytes = client.0.limits.reply_bytes;
        Self { message, id, method: &outgoing.method, params, name, revision, reply_bytes }
    }

    fn request<'b>(&'b self, session: Option<&'b SessionId>) -> TransportRequest<'b> {
        TransportRequest {
            message: &self.message,
            id: self.id,
            method: self.method,
            name: self.name.as_deref(),
            arguments: self.params.get("arguments"),
            revision: self.revision,
            session,
            reply_bytes: self.reply_bytes,
        }
    }
}

/// The most times that one call is sent in another era than before, or in another session.
const MAX_ERA_SWITCHES: u32 = 4;

/// The result or the error that a response carries, if it is one to this request.
fn read<'a>(
    response: &'a TransportResponse,
    id: &RequestId,
    revision: Revision,
) -> Result<Result<&'a RawValue, ErrorObject>, Stop> {
    let is_ours = |answered: &RequestId| answered == id;
    let object = |error| checked(error).and_then(|error| ErrorObject::read(error, revision.lenient()));
    match Envelope::parse(response.text.as_bytes()) {
        Ok(Envelope::Result { id: answered, result }) if is_ours(&answered) => Ok(Ok(result)),
        // A server that could not read the id of a request leaves it out.
        Ok(Envelope::Error { id: answered, error }) if answered.as_ref().is_none_or(is_ours) => Ok(Err(object(error)?)),
        Ok(Envelope::Error { id: Some(answered), error }) => {
            let untrusted_message = object(error).ok().map(|error| error.message);
            Err(Stop::ForeignReply { id: answered.to_string(), untrusted_message })
        }
        Ok(Envelope::Result { id: answered, .. }) => {
            Err(Stop::ForeignReply { id: answered.to_string(), untrusted_message: None })
        }
        Ok(_) => Err(not_a_reply("it is no response".to_owned(), response)),
        Err(error) => Err(not_a_reply(error.to_string(), response)),
    }
}

/// The reason to stop at a text that is no response, with the status that it came with.
fn not_a_reply(reason: String, response: &TransportResponse) -> Stop {
    Stop::BadReply(ReadError::refused(match response.status {
        Some(status) => format!("{reason} (it came with status {status})"),
        None => reason,
    }))
}

/// JSON that holds no key twice and is not nested too deeply.
fn checked(raw: &RawValue) -> Result<&RawValue, ReadError> {
    Json::from_raw(raw).map(|_| raw)
}
