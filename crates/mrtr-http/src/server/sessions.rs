//! Sessions of the legacy era over HTTP: which one a request belongs to, and how each reply goes out.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use mrtr_schema::{ErrorCode, Feature};
use mrtr_server::Reply;
use mrtr_server::transport::{LegacyMessage, LegacyReply, ListenError};

use super::accounts::Charges;
use super::budget::BodyReservation;
use super::endpoint::Endpoint;
use super::head;
use super::link::Peer;
use super::rejection::Rejection;
use super::respond::{JSON, event_stream, forbidden, message as answer, respond, with_type};
use super::response_body::{ResponseBody, StreamPermits};

impl Endpoint {
    /// Answers a message that does not say its version.
    pub(super) async fn answer_legacy(
        &self,
        message: LegacyMessage,
        head: &Parts,
        is_anonymous: bool,
        charges: Charges,
    ) -> Result<Response<ResponseBody>, Rejection> {
        let version = head::version(&head.headers);
        Ok(match message.answer(session_id(&head.headers), &version).await {
            LegacyReply::Opened { body, session } => {
                let mut response = with_type(StatusCode::OK, ResponseBody::message(body, charges), JSON);
                let id = HeaderValue::from_str(session.as_str()).map_err(|_| Rejection::Overloaded)?;
                response.headers_mut().insert(SESSION_ID, id);
                response
            }
            LegacyReply::Message { body, error: Some((ErrorCode::NOT_ALLOWED, _)), .. }
            | LegacyReply::Modern(Reply::Message { body, error: Some((ErrorCode::NOT_ALLOWED, _)) }) => {
                forbidden(body, self, is_anonymous, charges)
            }
            LegacyReply::Message { body, error, revision } => answer(body, error, revision, charges),
            LegacyReply::Events(events) => {
                let permits = StreamPermits::none();
                event_stream(ResponseBody::session_events(events, self.config.keep_alive, permits, charges))
            }
            LegacyReply::NoSession { body } => with_type(StatusCode::NOT_FOUND, ResponseBody::whole(body), JSON),
            LegacyReply::Overloaded => return Err(Rejection::Overloaded),
            LegacyReply::Modern(reply) => respond(reply, &self.config, StreamPermits::none(), charges),
            // The server accepted the message, and has nothing to say.
            _ => accepted(),
        })
    }

    /// Answers a request that is not a POST: to listen, to resume a stream, or to end a session.
    pub(super) async fn answer_without_body(
        &self,
        head: &Parts,
        peer: Peer<'_>,
    ) -> Result<Response<ResponseBody>, Rejection> {
        let config = &self.config;
        config.allowed.check(head).map_err(|foreign| self.refused(Rejection::Foreign(foreign, None), head, peer))?;
        // Only the endpoint of both eras has sessions; the drafts are on paths of their own.
        let has_sessions = config.revision.has(Feature::RequestMetadata);
        let Some(session) = session_id(&head.headers).filter(|_| has_sessions) else { return Err(Rejection::NotPost) };
        let listens = head.method == Method::GET;
        if !listens && head.method != Method::DELETE {
            return Err(Rejection::NotPost);
        }
        head::check_listener(&head.headers, listens)?;
        let identity = self.identify(head, peer).await?;
        let accounts = peer.accounts(config, head, &identity);
        let (context, sessions) = (self.context(head, identity, &accounts), self.server().sessions());
        if !listens {
            let mut response = Response::new(ResponseBody::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            return if sessions.end(session, &context) { Ok(response) } else { Err(Rejection::NoSession) };
        }
        let charges = Charges::new(Arc::clone(&accounts), peer.link);
        let permit = charges.subscribe(accounts.take_subscription()?);
        let permits = StreamPermits::new(Some(permit), BodyReservation::default());
        let version = head::version(&head.headers);
        let last_event = head.headers.get("last-event-id").map(|id| id.to_str().unwrap_or_default());
        let events = sessions.listen(session, &context, &version, last_event).map_err(|error| match error {
            ListenError::NoSession => Rejection::NoSession,
            ListenError::Nothing => Rejection::NotPost,
            ListenError::OtherVersion => Rejection::OtherVersion,
            _ => Rejection::StreamGone,
        })?;
        Ok(event_stream(ResponseBody::session_events(events, config.keep_alive, permits, charges)))
    }
}

/// Returns the id of the session that a request says it belongs to. Two ids, or one that cannot be read, name no
/// session that exists.
fn session_id(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(SESSION_ID).iter();
    let id = values.next()?;
    Some(if values.next().is_some() { "" } else { id.to_str().unwrap_or_default() })
}

fn accepted() -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

const SESSION_ID: header::HeaderName = header::HeaderName::from_static("mcp-session-id");
