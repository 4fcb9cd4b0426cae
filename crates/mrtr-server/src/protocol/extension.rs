//! Methods of extensions: a result, or a stream that ends with one.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use mrtr_flow::ProtocolError;
use mrtr_flow::for_server::internal_error;
use mrtr_schema::{ErrorObject, Json, RequestId, Revision};

use super::reply::{Reply, ReplyStream};
use crate::definition::contained::{ContainedStream, contained};
use crate::definition::extension_reply::{ExtensionMessage, ExtensionReply};
use crate::definition::parts::Parts;
use crate::round::request::Request;

/// Has an extension answer a method of its own.
pub(super) async fn answer(
    parts: &Arc<Parts>,
    id: &RequestId,
    request: &Request<'_>,
    place: usize,
) -> Result<Reply, ErrorObject> {
    let (extension, revision) = (&parts.extensions[place], request.context.revision);
    let asked = request.for_extension();
    let answer = Box::pin(async { extension.handle(&asked).await });
    match contained(extension.name(), answer).await?.map_err(ProtocolError::into_object)? {
        ExtensionReply::Result(result) => Ok(Reply::result(id, parts.results.adopt(&result, revision)?)),
        ExtensionReply::Stream(messages) => {
            let (parts, id) = (Arc::clone(parts), id.clone());
            let unended = last(&parts, &id, Err(internal_error().into()), revision);
            let messages = ContainedStream::new(extension.name(), messages);
            let written = messages.map(move |message| match message {
                Ok(ExtensionMessage::Notice(notice)) => (Some(notice.to_message()), false),
                Ok(ExtensionMessage::Result(result)) => (last(&parts, &id, result, revision), true),
                Err(error) => (last(&parts, &id, Err(error.into()), revision), true),
            });
            // Up to the result, and that too: what an extension says after it is not for this client.
            let written = stream::unfold(Some((written, unended)), |left| async {
                let (mut written, unended) = left?;
                let Some((text, is_last)) = written.next().await else {
                    tracing::error!("an extension's stream ended without a result");
                    return Some((unended, None));
                };
                Some((text, (!is_last).then_some((written, unended))))
            });
            Ok(Reply::Subscription(ReplyStream::new(written.filter_map(std::future::ready))))
        }
    }
}

fn last(parts: &Parts, id: &RequestId, result: Result<Json, ProtocolError>, revision: Revision) -> Option<String> {
    let adopted = result.map_err(ProtocolError::into_object).and_then(|result| parts.results.adopt(&result, revision));
    let reply = match adopted {
        Ok(result) => Reply::result(id, result),
        Err(error) => Reply::error(Some(id.clone()), error.into(), revision),
    };
    match reply {
        Reply::Message { body, .. } => Some(body),
        _ => None,
    }
}
