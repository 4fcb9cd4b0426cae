//! Requests of the modern era: each says all there is to know, and gets one reply.

use bytes::Bytes;
use futures_util::StreamExt;
use mrtr_server::transport::ReplyStream;
use mrtr_server::{Context, Identity, Reply, Server};
use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::{Peer, RequestContext, SubscriptionSink};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use super::message::{self, FromServer, no_response};

/// Returns true if a request is of the modern era: rmcp has settled that with its client.
pub(super) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

/// Has our server answer a request, and returns the result as text. Stops when the client cancels.
pub(super) async fn call(
    server: &Server,
    method: &str,
    mut params: Value,
    context: &RequestContext<RoleServer>,
    identity: &Identity,
) -> Result<String, ErrorData> {
    params["_meta"] = meta(context)?;
    let body = message::request(&context.id, method, &params);
    let answered = async {
        match server.handle(body, Context::new().identity(identity.clone()).received(server.arrival())).await {
            Reply::Message { body, .. } => FromServer::response(&body),
            Reply::Stream(messages) => relay(messages, &context.peer).await,
            _ => Err(no_response()),
        }
    };
    tokio::select! {
        biased;
        () = context.ct.cancelled() => Err(message::cancelled()),
        answered = answered => answered,
    }
}

/// The metadata in which a request describes its client. If the client told rmcp once for all requests of a connection,
/// that is added here.
fn meta(context: &RequestContext<RoleServer>) -> Result<Value, ErrorData> {
    let mut meta = context.meta.clone();
    if let (None, Some(version)) = (meta.protocol_version(), context.protocol_version()) {
        meta.set_protocol_version(version);
    }
    if let (None, Some(client)) = (meta.client_info(), context.client_info()) {
        meta.set_client_info(client);
    }
    if let (None, Some(capabilities)) = (meta.client_capabilities(), context.client_capabilities()) {
        meta.set_client_capabilities(capabilities);
    }
    message::written(&meta)
}

/// Passes notifications on as they come, until the response is there.
pub(super) async fn relay(mut messages: ReplyStream, peer: &Peer<RoleServer>) -> Result<String, ErrorData> {
    while let Some(message) = messages.next().await {
        match FromServer::read(&message)? {
            FromServer::Response(response) => return response,
            FromServer::Notification(Some(notification)) => tell(peer, notification).await,
            // In this era a server asks in its response.
            _ => {}
        }
    }
    Err(no_response())
}

/// Sends the client a notification. A client that is gone hears nothing.
pub(super) async fn tell(peer: &Peer<RoleServer>, notification: ServerNotification) {
    if let Err(error) = peer.send_notification(notification).await {
        tracing::debug!(%error, "a notification could not be sent to the client");
    }
}

/// The request that tells our server what a subscription wants to hear.
pub(super) fn subscription(
    accepted: &SubscriptionFilter,
    context: &RequestContext<RoleServer>,
) -> Result<Bytes, ErrorData> {
    let params = json!({ "notifications": message::written(accepted)?, "_meta": meta(context)? });
    Ok(message::request(&context.id, "subscriptions/listen", &params))
}

/// The end of a subscription at our server.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Told {
    /// Our server told of changes until it ended the subscription.
    UntilItsEnd,
    /// Our server told of nothing.
    Refused,
}

/// Passes on notifications of changes, for as long as our server sends them.
pub(super) async fn listen(server: &Server, subscription: Bytes, sink: &SubscriptionSink, identity: &Identity) -> Told {
    let reply = server.handle(subscription, Context::new().identity(identity.clone())).await;
    let (Reply::Subscription(mut messages) | Reply::Stream(mut messages)) = reply else { return Told::Refused };
    while let Some(message) = messages.next().await {
        let Ok(FromServer::Notification(Some(notification))) = FromServer::read(&message) else { continue };
        // rmcp has acknowledged the subscription itself, and passes on only what the client wants to hear.
        if let Err(error) = sink.send(notification).await {
            tracing::debug!(%error, "a change could not be sent to the client");
        }
    }
    Told::UntilItsEnd
}
