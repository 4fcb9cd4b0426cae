//! One exchange with the server: within its time, within its size, and read as what it is.

use mrtr_schema::{Envelope, ErrorObject, Json, RawMembers, ReadError, RequestId, Revision, Wire};
use serde_json::value::RawValue;

use super::drive::CallDriver;
use crate::raw::subject;
use crate::transport::{ServerNotification, TransportRequest, TransportResponse};
use crate::{CallError, Outgoing, Stop, TransportError, TransportFailure};

impl CallDriver<'_> {
    /// Sends a request, and tells the call what came back.
    pub(super) async fn exchange(&mut self, outgoing: Outgoing) -> Result<(), CallError> {
        let revision = self.call.pending().revision();
        let id = RequestId::from(self.client.next_id());
        let response = match self.reply(&outgoing, &id, revision).await {
            Ok(response) => response,
            Err(error) => match error.busy {
                Some(busy) => {
                    self.call.back_off(busy.retry_after);
                    return Ok(());
                }
                None => return Err(CallError::Transport { source: error, pending: self.pending() }),
            },
        };
        let longest = self.client.0.limits.reply_bytes;
        if response.text.len() > longest {
            self.call.refuse_reply(Stop::ReplyTooLong(response.text.len()));
            return Ok(());
        }
        self.credentials = response.credentials;
        match read(&response, &id, revision) {
            Ok(reply) => self.call.replied(reply, response.retry_after),
            Err(stop) => self.call.refuse_reply(stop),
        }
        Ok(())
    }

    async fn reply(
        &self,
        outgoing: &Outgoing,
        id: &RequestId,
        revision: Revision,
    ) -> Result<TransportResponse, TransportError> {
        let client = &self.client.0;
        let params = RawMembers::of(&outgoing.params).unwrap_or_default();
        let message = self.client.message(id, &outgoing.method, &params, revision);
        let name = subject(&outgoing.method, &params);
        let request = TransportRequest {
            message: &message,
            id,
            method: &outgoing.method,
            name: name.as_deref(),
            arguments: params.get("arguments"),
            revision,
            reply_bytes: client.limits.reply_bytes,
        };
        let mut on_notification = |notification: ServerNotification| {
            self.client.invalidate_cache(&notification);
            self.reporter.emit_notification(notification, revision);
        };
        let exchanged = client.transport.exchange(request, &mut on_notification);
        tokio::time::timeout(client.limits.exchange, exchanged).await.unwrap_or_else(|_| {
            let waited = format!("nothing came within {:?}", client.limits.exchange);
            Err(TransportError::of(TransportFailure::TimedOut, waited))
        })
    }
}

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

/// What is wrong with a text that is no response, and what the transport said of it.
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
