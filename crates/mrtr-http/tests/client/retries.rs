//! A client sends a request again only where that is safe: where it never got there, or where twice has the effect of
//! once.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use mrtr_client::{CallErrorKind, Client, RoundOutcome};
use mrtr_http::HttpTransport;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use serde_json::json;
use socket2::{Domain, Socket, Type};

use crate::support::scripted::{Answer, Asked, Scripted};

fn client(url: &str) -> Client {
    Client::builder(HttpTransport::new(url).unwrap()).build()
}

fn done(asked: &Asked) -> Answer {
    let result = json!({ "resultType": "complete", "content": [], "tools": [] });
    Answer::json(&asked.reply(json!({ "result": result })))
}

/// An address that is taken and at which nobody listens.
fn nobody() -> (Socket, SocketAddr) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    (socket, address)
}

/// Knows these addresses for every name, one after the other.
#[derive(Debug)]
struct OneAfterTheOther(Mutex<Vec<SocketAddr>>);

impl Resolve for OneAfterTheOther {
    fn resolve(&self, _: Name) -> Resolving {
        let address = self.0.lock().unwrap().remove(0);
        Box::pin(async move { Ok(Box::new([address].into_iter()) as Addrs) })
    }
}

#[tokio::test]
async fn a_connection_that_is_refused_is_tried_again() {
    let (_kept, dead) = nobody();
    let scripted = Scripted::start(|_, asked| done(asked)).await;
    let addresses = OneAfterTheOther(Mutex::new(vec![dead, dead, scripted.address]));
    let http = reqwest::Client::builder().no_proxy().dns_resolver(Arc::new(addresses)).build().unwrap();
    let transport = HttpTransport::with_client("http://tools.test/mcp", http).unwrap();
    Client::builder(transport).build().call_tool("tool", json!({})).await.unwrap();
    assert_eq!(scripted.asked().len(), 1);
}

#[tokio::test]
async fn nobody_there_is_an_error_in_the_end() {
    let (_kept, dead) = nobody();
    let error = client(&format!("http://{dead}/mcp")).call_tool("tool", json!({})).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Transport { .. }), "{error}");
    assert!(error.pending().is_some());
}

#[tokio::test]
async fn a_call_that_may_have_arrived_is_never_sent_again() {
    let scripted = Scripted::start(|_, _| Answer::Nothing).await;
    let client = client(&scripted.url());
    let error = client.call_tool("tool", json!({})).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Transport { .. }), "{error}");
    assert!(client.get_prompt("prompt", json!({})).await.is_err());
    assert!(client.read_resource("test://x").await.is_err());
    assert_eq!(scripted.asked().len(), 3);
}

#[tokio::test]
async fn a_half_finished_reply_to_a_call_is_not_asked_for_again() {
    let scripted = Scripted::start(|_, _| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
        Answer::Bytes(vec![head.as_bytes().to_vec()])
    })
    .await;
    assert!(client(&scripted.url()).call_tool("tool", json!({})).await.is_err());
    assert_eq!(scripted.asked().len(), 1);
}

#[tokio::test]
async fn what_only_reads_is_asked_again() {
    let scripted = Scripted::start(|number, asked| if number < 3 { Answer::Nothing } else { done(asked) }).await;
    client(&scripted.url()).list_tools().await.unwrap();
    assert_eq!(scripted.asked().len(), 3);
    let broken = Scripted::start(|_, _| Answer::Nothing).await;
    assert!(client(&broken.url()).list_tools().await.is_err());
    assert_eq!(broken.asked().len(), 3, "but not for ever");
}

#[tokio::test]
async fn a_server_that_is_too_busy_is_asked_again_only_for_what_only_reads() {
    let busy = |number: usize, asked: &Asked| {
        if number == 1 { Answer::with(503, "Retry-After: 1\r\n", "") } else { done(asked) }
    };
    let scripted = Scripted::start(busy).await;
    client(&scripted.url()).list_tools().await.unwrap();
    assert_eq!(scripted.asked().len(), 2);
    let scripted = Scripted::start(busy).await;
    assert!(client(&scripted.url()).call_tool("tool", json!({})).await.is_err());
    assert_eq!(scripted.asked().len(), 1);
}

#[tokio::test]
async fn a_call_that_a_busy_server_has_not_begun_is_made_again() {
    let refused = |headers: &'static str| {
        move |number: usize, asked: &Asked| {
            let body = asked.reply(json!({ "error": { "code": -3, "message": "The server is busy" } }));
            let headers = format!("{headers}Content-Type: application/json\r\n");
            if number == 1 { Answer::with(503, &headers, &body) } else { done(asked) }
        }
    };
    let scripted = Scripted::start(refused("Retry-After: 0\r\n")).await;
    client(&scripted.url()).call_tool("tool", json!({})).await.unwrap();
    assert_eq!(scripted.asked().len(), 2);
    let scripted = Scripted::start(refused("")).await;
    let error = client(&scripted.url()).call_tool("tool", json!({})).await.unwrap_err();
    assert!(error.to_string().contains("The server is busy"), "{error}");
    assert_eq!(scripted.asked().len(), 1, "without a time the code may be an application's own");
}

#[tokio::test]
async fn a_busy_server_is_left_alone_for_as_long_as_it_wants_and_an_hour_at_most() {
    for (wanted, pause) in [("30", 30), ("3600", 3600), ("18446744073709551615", 3600)] {
        let scripted = Scripted::start(move |_, asked| {
            let body = asked.reply(json!({ "error": { "code": -3, "message": "The server is busy" } }));
            Answer::with(503, &format!("Retry-After: {wanted}\r\nContent-Type: application/json\r\n"), &body)
        })
        .await;
        let round = client(&scripted.url()).call_tool_once("tool", json!({})).await.unwrap();
        let RoundOutcome::BackOff(_, waits) = round else { panic!("{round:?}") };
        assert_eq!(waits.as_secs(), pause, "{wanted}");
    }
}

#[test]
fn a_proxy_of_the_environment_is_not_for_this_machine() {
    // In a process of its own: the environment belongs to all threads.
    const INSIDE: &str = "MRTR_HTTP_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_none() {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "retries::a_proxy_of_the_environment_is_not_for_this_machine"]);
        command.env(INSIDE, "1").env("HTTP_PROXY", "http://127.0.0.1:9").env("http_proxy", "http://127.0.0.1:9");
        assert!(command.env_remove("NO_PROXY").env_remove("no_proxy").status().unwrap().success());
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let scripted = Scripted::start(|_, asked| done(asked)).await;
        client(&scripted.url()).call_tool("tool", json!({})).await.unwrap();
    });
}
