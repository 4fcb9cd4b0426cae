//! A server with something of everything, answering in memory.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body::{Body, Frame};
use mrtr_http::Endpoint;
use mrtr_server::{Failure, Flow, Prompt, Resource, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::runtime::Runtime;

#[derive(Deserialize, JsonSchema)]
struct Order {
    #[schemars(extend("x-mcp-header" = "Item"))]
    item: String,
    count: Option<u8>,
}

#[derive(Deserialize, JsonSchema)]
struct Address {
    street: String,
}

async fn order(flow: Flow, order: Order) -> Result<String, Failure> {
    flow.progress(1, None, "asking").await;
    let address: Address = flow.elicit("address", "Where to?").await?;
    Ok(format!("{} times {} to {}", order.count.unwrap_or(1), order.item, address.street))
}

async fn hello(_: Flow) -> Result<String, Failure> {
    Ok("Hello".into())
}

thread_local! {
    /// An endpoint for one request at a time on each thread: if a request keeps its place, the next one fails.
    static SERVED: (Runtime, Endpoint) = (runtime(), endpoint());
}

fn endpoint() -> Endpoint {
    let server = Server::builder("fuzzed", "1.0.0")
        .tool(Tool::new("order", order))
        .tool(Tool::new("hello", hello))
        .prompt(Prompt::new("hello", hello))
        .resource(Resource::new("test://guide", "guide", hello));
    let endpoint = Endpoint::anonymous(server.build().expect("it can be built")).concurrency(1).subscriptions(1);
    // One caller has three quarters of a budget.
    endpoint.body_limit(LIMIT).body_budget(LIMIT.div_ceil(3) * 4)
}

/// The most bytes of a body: enough to be gathered in several parts, and no more, since long bodies are slow. The
/// budget has room for one.
pub(super) const LIMIT: usize = 96 << 10;

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime needs nothing")
}

/// The response that came back: of a stream, its first event.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) media_type: String,
    pub(super) first: Bytes,
}

pub(super) fn answer(request: Request<Pieces>) -> Answer {
    SERVED.with(|(runtime, endpoint)| runtime.block_on(first_of(endpoint, request)))
}

async fn first_of(endpoint: &Endpoint, request: Request<Pieces>) -> Answer {
    let response = endpoint.respond(request).await;
    let media_type = response.headers().get("content-type").and_then(|value| value.to_str().ok());
    let (status, media_type) = (response.status(), media_type.unwrap_or_default().to_owned());
    let mut body = response.into_body();
    let polled = Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()));
    let Poll::Ready(frame) = polled else { panic!("{status} {media_type}: nothing is there") };
    let first = frame.map(|frame| frame.unwrap_or_else(|never| match never {}).into_data().expect("data"));
    Answer { status, media_type, first: first.unwrap_or_default() }
}

/// A body that comes in pieces.
pub(super) struct Pieces(pub(super) VecDeque<Bytes>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }
}
