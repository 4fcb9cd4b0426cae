//! A subscription, message by message.

use futures_util::StreamExt;
use serde_json::Value;

use super::Client;
use crate::protocol::reply::ReplyStream;

/// A subscription: what the server tells, and at its end the response. Dropping it ends it.
///
/// ```
/// use mrtr_schema::subscriptions::SubscriptionFilter;
/// use mrtr_server::testing::Client;
/// use mrtr_server::{Failure, Flow, Server, Tool};
///
/// # async fn greet(_: Flow) -> Result<&'static str, Failure> { Ok("Hello") }
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let server = Server::builder("greeter", "1.0.0").tool(Tool::new("greet", greet)).build().unwrap();
/// let mut wanted = SubscriptionFilter::new();
/// wanted.tools_list_changed = Some(true);
/// let mut listening = Client::new(&server).listen(wanted).await;
/// assert_eq!(listening.next().await.unwrap()["method"], "notifications/subscriptions/acknowledged");
/// server.changes().tools_changed();
/// assert_eq!(listening.next().await.unwrap()["method"], "notifications/tools/list_changed");
/// # }
/// ```
#[derive(Debug)]
pub struct Listening {
    messages: ReplyStream,
    client: Client,
}

impl Listening {
    pub(super) fn new(messages: ReplyStream, client: Client) -> Self {
        Self { messages, client }
    }

    /// The next message; `None` after the response.
    pub async fn next(&mut self) -> Option<Value> {
        let message = self.messages.next().await?;
        Some(self.client.seen("subscriptions/listen", &message))
    }

    /// All messages that are there already.
    pub fn heard(&mut self) -> Vec<Value> {
        let mut heard = Vec::new();
        while let Some(Some(message)) = futures_util::FutureExt::now_or_never(self.next()) {
            heard.push(message);
        }
        heard
    }
}
