//! The server's clock alone tells how long a request has waited.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use mrtr_http::Endpoint;
use mrtr_server::extend::ShedAfterQueueing;
use mrtr_server::testing::FixedClock;
use mrtr_server::{Failure, Flow, Server, Tool};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::support::message::{Post, call};

const PATIENCE: Duration = Duration::from_millis(250);

async fn patient(flow: Flow) -> Result<&'static str, Failure> {
    flow.yield_point(&"here").await;
    Ok("done")
}

/// The answer of a server whose clock stands still, but goes on by this much before the body comes.
async fn result_after(waited: Duration) -> Value {
    let clock = FixedClock::default();
    let server = Server::builder("queueing", "1.0.0").clock(clock.clone()).shedder(ShedAfterQueueing(PATIENCE));
    let server = server.tool(Tool::new("tool", patient)).build().unwrap();
    let endpoint = Endpoint::anonymous(server);
    let post = Post::of(&call("tool", json!({})));
    let (sender, body) = oneshot::channel();
    let request = Request::post("http://localhost/mcp");
    let request = post.headers.iter().fold(request, |request, (name, value)| request.header(name, value));
    let mut responding = pin!(endpoint.respond(request.body(Late(Some(body))).unwrap()));
    let begun = responding.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop()));
    assert!(begun.is_pending(), "the body is still to come");
    clock.advance(waited);
    sender.send(Bytes::from(post.body)).unwrap();
    let reply = responding.await.into_body().collect().await.unwrap().to_bytes();
    let mut reply: Value = serde_json::from_slice(&reply).unwrap();
    reply["result"].take()
}

#[tokio::test]
async fn a_request_has_waited_as_long_as_the_servers_clock_says() {
    assert_eq!(result_after(PATIENCE).await["content"][0]["text"], "done");
    let put_down = result_after(PATIENCE + Duration::from_millis(1)).await;
    assert!(put_down["requestState"].is_string(), "{put_down}");
}

/// A body that comes in one piece, once it is sent.
struct Late(Option<oneshot::Receiver<Bytes>>);

impl Body for Late {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(body) = &mut self.0 else { return Poll::Ready(None) };
        let Poll::Ready(piece) = Pin::new(body).poll(cx) else { return Poll::Pending };
        self.0 = None;
        Poll::Ready(piece.ok().map(|piece| Ok(Frame::data(piece))))
    }
}
