//! A reply that comes as server-sent events: notifications, and the response as the last message.

use mrtr_client::{Notified, TransportError};
use mrtr_schema::{Envelope, Json};
use reqwest::Response;

/// The messages of a stream, one by one, within bounds.
pub(super) struct Events {
    response: Response,
    /// What has come and is not a whole line yet.
    unread: Vec<u8>,
    /// The data of the event that is coming.
    data: String,
    has_data: bool,
    limit: usize,
}

impl Events {
    pub(super) fn new(response: Response, limit: usize) -> Self {
        Self { response, unread: Vec::new(), data: String::new(), has_data: false, limit }
    }

    /// Tells of notifications as they come, and gives the response.
    pub(super) async fn last(mut self, notified: &mut (dyn FnMut(Notified) + Send)) -> Result<String, TransportError> {
        while let Some(message) = self.next().await? {
            match Envelope::parse(message.as_bytes()).map_err(TransportError::new)? {
                Envelope::Notification { method, .. } => {
                    let method = method.into_owned();
                    notified(Notified { method, params: params(&message) });
                }
                Envelope::Result { .. } | Envelope::Error { .. } => return Ok(message),
                Envelope::Request { method, .. } => {
                    return Err(TransportError::new(format!("the server sent a request on a stream: `{method}`")));
                }
            }
        }
        Err(TransportError::new("the stream ended without a response"))
    }

    /// The data of the next event.
    async fn next(&mut self) -> Result<Option<String>, TransportError> {
        loop {
            while let Some(line) = self.line()? {
                if line.is_empty() && self.has_data {
                    self.has_data = false;
                    return Ok(Some(std::mem::take(&mut self.data)));
                }
                let Some(data) = line.strip_prefix("data:") else { continue };
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
                self.has_data = true;
            }
            match self.response.chunk().await.map_err(TransportError::new)? {
                Some(chunk) => self.unread.extend_from_slice(&chunk),
                None => return Ok(None),
            }
            if self.unread.len() + self.data.len() > self.limit {
                return Err(TransportError::new(format!("an event is longer than {} bytes", self.limit)));
            }
        }
    }

    /// The next whole line, without its end.
    fn line(&mut self) -> Result<Option<String>, TransportError> {
        let Some(end) = self.unread.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else { return Ok(None) };
        let ends_in_return = self.unread[end] == b'\r';
        if ends_in_return && end + 1 == self.unread.len() {
            // A line feed may follow, and would belong to this end.
            return Ok(None);
        }
        let longer = ends_in_return && self.unread[end + 1] == b'\n';
        let rest = self.unread.split_off(end + 1 + usize::from(longer));
        let mut line = std::mem::replace(&mut self.unread, rest);
        line.truncate(end);
        String::from_utf8(line).map(Some).map_err(TransportError::new)
    }
}

/// The parameters of a notification, as they came.
fn params(message: &str) -> Json {
    let empty = || Json::from(serde_json::json!({}));
    let Ok(message) = mrtr_schema::RawMembers::parse(message) else { return empty() };
    message.get("params").and_then(|params| Json::from_raw(params).ok()).unwrap_or_else(empty)
}
