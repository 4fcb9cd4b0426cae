//! One exchange with the server: within its time, within its size, and read as what it is.

use mrtr_schema::{
    Envelope, ErrorObject, Json, LoggingMessageParams, ProgressParams, RawMembers, ReadError, RequestId, Revision, Wire,
};
use serde_json::value::RawValue;

use super::drive::Driven;
use crate::raw::subject;
use crate::transport::{Exchange, Notified, Replied};
use crate::{CallError, EventKind, Outgoing, Stop, TransportError};

impl Driven<'_> {
    /// Sends a request, and tells the call what came back.
    pub(super) async fn exchange(&mut self, outgoing: Outgoing) -> Result<(), CallError> {
        let revision = self.call.pending().revision();
        let id = RequestId::from(self.client.next_id());
        let replied = match self.reply(&outgoing, &id, revision).await {
            Ok(replied) => replied,
            Err(error) => match error.busy {
                Some(busy) => {
                    self.call.put_off(busy.retry_after);
                    return Ok(());
                }
                None => return Err(CallError::Transport { source: error, pending: self.pending() }),
            },
        };
        let longest = self.client.0.limits.reply_bytes;
        if replied.text.len() > longest {
            self.call.refuse_reply(Stop::ReplyTooLong(replied.text.len()));
            return Ok(());
        }
        match read(&replied.text, &id, revision) {
            Ok(reply) => self.call.replied(reply, replied.retry_after),
            Err(error) => self.call.refuse_reply(Stop::BadReply(error)),
        }
        Ok(())
    }

    async fn reply(&self, outgoing: &Outgoing, id: &RequestId, revision: Revision) -> Result<Replied, TransportError> {
        let client = &self.client.0;
        let params = RawMembers::of(&outgoing.params).unwrap_or_default();
        let message = self.client.message(id, &outgoing.method, &params, revision);
        let name = subject(&outgoing.method, &params);
        let exchange = Exchange {
            message: &message,
            id,
            method: &outgoing.method,
            name: name.as_deref(),
            arguments: params.get("arguments"),
            revision,
            reply_bytes: client.limits.reply_bytes,
        };
        let mut notified = |notified: Notified| {
            self.client.hear(&notified);
            self.report.tell(event_of(notified, revision));
        };
        let exchanged = client.transport.exchange(exchange, &mut notified);
        match tokio::time::timeout(client.limits.exchange, exchanged).await {
            Ok(exchanged) => exchanged,
            Err(_) => Err(TransportError::new("the server did not answer in time")),
        }
    }
}

/// The result or the error that a response carries, if it is one to this request.
fn read<'a>(text: &'a str, id: &RequestId, revision: Revision) -> Result<Result<&'a RawValue, ErrorObject>, ReadError> {
    let is_ours = |answered: &RequestId| answered == id;
    match Envelope::parse(text.as_bytes()) {
        Ok(Envelope::Result { id: answered, result }) if is_ours(&answered) => Ok(Ok(result)),
        // A server that could not read the id of a request leaves it out.
        Ok(Envelope::Error { id: answered, error }) if answered.as_ref().is_none_or(is_ours) => {
            checked(error).and_then(|error| ErrorObject::read(error, revision.lenient())).map(Err)
        }
        Ok(_) => Err(ReadError::refused("it answers something else")),
        Err(error) => Err(ReadError::refused(error.to_string())),
    }
}

/// JSON that holds no key twice and is not nested too deeply.
fn checked(raw: &RawValue) -> Result<&RawValue, ReadError> {
    Json::from_raw(raw).map(|_| raw)
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
