//! Driving a call: what the machine wants done is done, and what came of it is told to the machine.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use mrtr_schema::{
    Envelope, ErrorCode, ErrorObject, Feature, InRevision, InputRequest, Json, JsonObject, LoggingMessageParams,
    ProgressParams, ProgressToken, RequestId, RequestMeta, Revision, UnsupportedVersionData, Wire,
};
use serde_json::value::RawValue;
use tracing::{Instrument, info_span};

use super::Client;
use crate::handlers::{Asking, Unanswered};
use crate::transport::{Exchange, Notified};
use crate::{Action, Call, CallError, CallEvent, EventKind, Outcome, Outgoing, PendingCall, TransportError};

/// One round of a call that is driven by hand.
#[derive(Debug)]
#[non_exhaustive]
pub enum Round {
    /// The call is done.
    Complete(Json),
    /// The server asks: answer with [`PendingCall::answer`], and go on.
    Asked(PendingCall),
    /// The server put the call off: go on after this long.
    PutOff(PendingCall, std::time::Duration),
    /// The call has become a task: go on to look at it, after this long.
    Task(PendingCall, std::time::Duration),
}

/// A call being driven.
pub(super) struct Driven<'a> {
    client: &'a Client,
    number: u64,
    call: Call,
}

impl Client {
    /// Picks up a call that was put down, and runs it to its end.
    pub async fn resume(&self, pending: PendingCall) -> Result<Json, CallError> {
        self.drive(pending).await.map(|(result, _)| result)
    }

    /// Sends a call, or goes on with one, for a single round.
    ///
    /// Questions are handed out, not answered: whoever calls answers them, now or next week.
    pub async fn advance(&self, pending: PendingCall) -> Result<Round, CallError> {
        let mut driven = Driven::new(self, pending);
        let Action::Send(outgoing) = driven.call.action() else { return driven.round() };
        driven.send(&outgoing).await?;
        driven.round()
    }

    /// A call of a method with these parameters, not sent yet: for [`advance`](Self::advance).
    pub fn prepare(&self, method: &str, params: JsonObject) -> PendingCall {
        PendingCall::new(self.0.revision, method, params)
    }

    /// Runs a call to its end, and says whether its result may be kept.
    pub(super) async fn drive(&self, pending: PendingCall) -> Result<(Json, bool), CallError> {
        let mut driven = Driven::new(self, pending);
        let span = info_span!("call", server = &*self.0.server, method = driven.call.pending().method());
        let result = driven.run().instrument(span).await;
        driven.tell(EventKind::Done);
        result
    }
}

impl<'a> Driven<'a> {
    fn new(client: &'a Client, pending: PendingCall) -> Self {
        let seed = getrandom::u64().unwrap_or_default();
        let call = Call::resume(pending, client.0.limits, seed);
        Self { client, number: client.next_call(), call }
    }

    async fn run(&mut self) -> Result<(Json, bool), CallError> {
        let fresh = self.call.pending().rounds() == 0;
        let mut sent = 0;
        loop {
            match self.call.action() {
                Action::Send(outgoing) => {
                    sent += 1;
                    let span = info_span!("round", round = sent);
                    self.send(&outgoing).instrument(span).await?;
                }
                Action::Gather(questions) => self.gather(questions).await?,
                Action::Wait(duration) => {
                    self.tell_of_wait(duration);
                    tokio::time::sleep(duration).await;
                    self.call.waited();
                }
                Action::Done(Outcome::Complete(result)) => {
                    // What came of a retry is its answers' as much as the request's (CL-6).
                    return Ok((result, fresh && sent == 1));
                }
                Action::Done(outcome) => return Err(self.failed(outcome)),
            }
        }
    }

    /// What a single round came to.
    fn round(self) -> Result<Round, CallError> {
        match self.call.action() {
            Action::Done(Outcome::Complete(result)) => Ok(Round::Complete(result)),
            Action::Done(outcome) => Err(self.failed(outcome)),
            Action::Wait(duration) if self.call.pending().task().is_some() => {
                Ok(Round::Task(self.call.into_pending(), duration))
            }
            Action::Wait(duration) => Ok(Round::PutOff(self.call.into_pending(), duration)),
            Action::Gather(_) => Ok(Round::Asked(self.call.into_pending())),
            Action::Send(_) => Ok(Round::PutOff(self.call.into_pending(), std::time::Duration::ZERO)),
        }
    }

    fn failed(&self, outcome: Outcome) -> CallError {
        match outcome {
            Outcome::Failed(error) => CallError::Server(Box::new(error)),
            Outcome::Stopped(stop) => CallError::Stopped { stop, pending: self.pending() },
            Outcome::Complete(_) => CallError::BadResult(mrtr_schema::ReadError::refused("the call is complete")),
        }
    }

    fn pending(&self) -> Box<PendingCall> {
        Box::new(self.call.pending().clone())
    }

    fn tell(&self, kind: EventKind) {
        let pending = self.call.pending();
        let event = CallEvent { call: self.number, method: pending.method().to_owned(), name: pending.name(), kind };
        // Nobody may be watching, which is fine.
        let _ = self.client.0.events.send(event);
    }

    fn tell_of_wait(&self, duration: std::time::Duration) {
        self.tell(match self.call.pending().task() {
            Some(task) => EventKind::Task(task.id().to_owned()),
            None => EventKind::PutOff(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)),
        });
    }

    /// Sends a request, and tells the call what came back.
    async fn send(&mut self, outgoing: &Outgoing) -> Result<(), CallError> {
        self.tell(EventKind::Round(self.call.pending().rounds() + 1));
        let mut reply = self.exchange(outgoing, self.call.pending().revision).await?;
        if let Err(error) = &reply
            && let Some(revision) = agreed_version(error, self.client.0.revision)
        {
            reply = self.exchange(outgoing, revision).await?;
        }
        self.call.replied(reply.as_ref().map(Json::as_raw).map_err(Clone::clone));
        Ok(())
    }

    /// One exchange, within its time.
    async fn exchange(&self, outgoing: &Outgoing, revision: Revision) -> Result<Result<Json, ErrorObject>, CallError> {
        let client = &self.client.0;
        let id = RequestId::from(self.client.next_id());
        let message = self.message(&id, outgoing, revision);
        let name = ["name", "uri", "taskId"]
            .iter()
            .find_map(|member| outgoing.params.get(member)?.as_text().map(std::borrow::Cow::into_owned));
        let arguments = outgoing.params.get("arguments");
        let exchange = Exchange {
            message: &message,
            id: &id,
            method: &outgoing.method,
            name: name.as_deref(),
            arguments: arguments.as_ref(),
            revision,
            reply_bytes: client.limits.reply_bytes,
        };
        let mut notified = |notified: Notified| self.tell(event_of(notified, revision));
        let exchanged = client.transport.exchange(exchange, &mut notified);
        let reply = match tokio::time::timeout(client.limits.exchange, exchanged).await {
            Ok(Ok(reply)) if reply.len() > client.limits.reply_bytes => {
                Err(TransportError::new(format!("the reply has {} bytes", reply.len())))
            }
            Ok(exchanged) => exchanged,
            Err(_) => Err(TransportError::new("the server did not answer in time")),
        };
        let reply = reply.and_then(|reply| read_reply(&reply, &id, revision));
        reply.map_err(|source| CallError::Transport { source, pending: self.pending() })
    }

    /// The whole message: the request, with an id of its own and what each request must say of its client.
    fn message(&self, id: &RequestId, outgoing: &Outgoing, revision: Revision) -> String {
        let client = &self.client.0;
        let mut members: indexmap::IndexMap<String, Box<RawValue>> =
            serde_json::from_str(outgoing.params.as_str()).expect("parameters are an object");
        let mut meta = match members.get("_meta") {
            Some(given) => RequestMeta::read(given, revision.lenient()).unwrap_or_default(),
            None => RequestMeta::default(),
        };
        if revision.has(Feature::RequestMetadata) {
            meta.protocol_version = Some(revision.to_string());
            meta.client_info = Some(client.info.clone());
            meta.client_capabilities = Some(client.capabilities.clone());
            meta.log_level = meta.log_level.or(client.log_level);
        }
        // Progress costs the server a stream: it is asked for only while somebody watches.
        if meta.progress_token.is_none() && client.events.receiver_count() > 0 {
            meta.progress_token = Some(ProgressToken(id.clone()));
        }
        if let Some(tracer) = &client.tracer {
            let context = (tracer.0)();
            meta.traceparent = meta.traceparent.or(context.traceparent);
            meta.tracestate = meta.tracestate.or(context.tracestate);
            meta.baggage = meta.baggage.or(context.baggage);
        }
        let meta = serde_json::value::to_raw_value(&InRevision::new(&meta, revision)).expect("metadata is JSON");
        members.insert("_meta".to_owned(), meta);
        let params = serde_json::to_string(&members).expect("members are JSON");
        let id = serde_json::to_string(id).expect("an id is JSON");
        let method = serde_json::to_string(&outgoing.method).expect("a method is JSON");
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#)
    }

    /// Has all questions of a round answered, at the same time. If one is not, the others are cancelled.
    async fn gather(&mut self, questions: Vec<(String, InputRequest)>) -> Result<(), CallError> {
        self.tell(EventKind::Asked(questions.iter().map(|(key, _)| key.clone()).collect()));
        match self.client.0.limits.gathering {
            None => self.gather_all(questions).await,
            Some(limit) => {
                let gathered = tokio::time::timeout(limit, self.gather_all(questions)).await;
                gathered.unwrap_or_else(|_| Err(CallError::GatheringTooLong { pending: self.pending() }))
            }
        }
    }

    async fn gather_all(&mut self, questions: Vec<(String, InputRequest)>) -> Result<(), CallError> {
        let client = self.client;
        let revision = self.call.pending().revision;
        let mut answering: FuturesUnordered<_> = questions
            .into_iter()
            .map(|(key, request)| {
                let asking = self.asking(key.clone());
                async move {
                    let method = request.method().to_owned();
                    (key, method, client.0.handlers.answer(request, asking, revision).await)
                }
            })
            .collect();
        while let Some((key, method, answered)) = answering.next().await {
            match answered {
                Ok(answer) => {
                    self.call.answered(&key, &answer).expect("it was asked");
                    self.tell(EventKind::Answered(key));
                }
                Err(Unanswered::Unknown) => self.call.skipped(&key),
                Err(unanswered) => return Err(self.unanswered(key, method, unanswered)),
            }
        }
        Ok(())
    }

    fn asking(&self, key: String) -> Asking {
        let pending = self.call.pending();
        Asking {
            server: Arc::clone(&self.client.0.server),
            method: pending.method().to_owned(),
            name: pending.name(),
            round: pending.rounds(),
            key,
        }
    }

    fn unanswered(&self, key: String, method: String, unanswered: Unanswered) -> CallError {
        let pending = self.pending();
        match unanswered {
            Unanswered::NoHandler | Unanswered::Unknown => CallError::NoHandler { key, method, pending },
            Unanswered::Failed(source) => CallError::NotAnswered { key, source, pending },
            Unanswered::Unfit(violations) => CallError::Unfit { key, violations, pending },
        }
    }
}

/// The result or the error that a response carries, if it is one to this request.
fn read_reply(text: &str, id: &RequestId, revision: Revision) -> Result<Result<Json, ErrorObject>, TransportError> {
    match Envelope::parse(text.as_bytes()) {
        Ok(Envelope::Result { id: answered, result }) if answered == *id => {
            Json::from_raw(result).map(Ok).map_err(TransportError::new)
        }
        Ok(Envelope::Error { id: answered, error }) if answered.is_none() || answered.as_ref() == Some(id) => {
            ErrorObject::read(error, revision.lenient()).map(Err).map_err(TransportError::new)
        }
        Ok(_) => Err(TransportError::new("the server answered something else")),
        Err(error) => Err(TransportError::new(error)),
    }
}

/// The version to try again with, if that is what the error is about and there is one that both know.
fn agreed_version(error: &ErrorObject, ours: Revision) -> Option<Revision> {
    if error.code != ErrorCode::UNSUPPORTED_PROTOCOL_VERSION {
        return None;
    }
    let data: UnsupportedVersionData = error.data_as()?.ok()?;
    let theirs: Vec<Revision> = data.supported.iter().filter_map(|version| version.parse().ok()).collect();
    theirs.iter().copied().find(|version| *version == ours).or_else(|| theirs.into_iter().max())
}

fn event_of(Notified { method, params }: Notified, revision: Revision) -> EventKind {
    let dialect = revision.lenient();
    match method.as_str() {
        "notifications/progress" => ProgressParams::read(params.as_raw(), dialect).ok().map(EventKind::Progress),
        "notifications/message" => LoggingMessageParams::read(params.as_raw(), dialect).ok().map(EventKind::Log),
        _ => None,
    }
    .unwrap_or(EventKind::Other { method, params })
}
