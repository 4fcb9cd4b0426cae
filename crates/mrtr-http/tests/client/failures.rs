//! Failures are told apart: by their kind, and in one line that names the place, the status and the server's words.

use std::net::SocketAddr;

use mrtr_client::{CallError, CallErrorKind, Client, TransportFailure};
use mrtr_http::HttpTransport;
use serde_json::json;
use socket2::{Domain, Socket, Type};

use crate::support::scripted::{Answer, Scripted};

async fn error_of(url: &str) -> CallError {
    let client = Client::builder(HttpTransport::new(url).unwrap()).build();
    client.call_tool("tool", json!({})).await.unwrap_err()
}

fn failure(error: &CallError) -> Option<TransportFailure> {
    assert!(error.pending().is_some(), "the call can be picked up");
    if let CallErrorKind::Transport { source, .. } = &error.kind { Some(source.failure()) } else { None }
}

const NGINX: &str = "<html>\r\n<head><title>502\r\nBad Gateway</title></head>\r\n<body>nginx</body></html>\r\n";

const JSON: &str = "Content-Type: application/json\r\n";

#[tokio::test]
async fn a_status_without_a_message_is_told_by_its_kind_and_with_the_server_s_words() {
    use TransportFailure::{Forbidden, NotFound, Other, Unauthorized};
    let refusal = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Log in first"}}"#;
    for (status, headers, body, kind, words) in [
        (401, JSON, r#"{"error":"invalid_token"}"#, Unauthorized, "invalid_token"),
        (401, JSON, refusal, Unauthorized, "Log in first"),
        (401, "WWW-Authenticate: Bearer\r\n", "", Unauthorized, "refuses the credentials"),
        (403, "Content-Type: text/plain\r\n", "not you", Forbidden, "not you"),
        (404, JSON, r#"{"detail":"Not Found"}"#, NotFound, "there is no MCP server at http://127.0.0.1"),
        (404, "Content-Type: text/html\r\n", "<h1>Nothing here</h1>", NotFound, "<h1>Nothing here</h1>"),
        (502, "Content-Type: text/html\r\n", "\u{1b}[2J<h1>Bad Gateway</h1>", Other, r"\u{1b}[2J<h1>Bad Gateway</h1>"),
        (500, JSON, "[]", Other, "[]"),
        (502, "Content-Type: text/html\r\n", NGINX, Other, "and the page `502 Bad Gateway`"),
        (
            503,
            "Content-Type: text/plain\r\n",
            "no instance\r\nis ready\r\n",
            Other,
            "and the text `no instance is ready`",
        ),
    ] {
        let scripted = Scripted::start(move |_, _| Answer::with(status, headers, body)).await;
        let error = error_of(&scripted.url()).await;
        assert_eq!(failure(&error), Some(kind), "{error}");
        let text = error.to_string();
        assert!(text.contains(&format!("status {status}")) && text.contains(words), "{text}");
    }
}

#[tokio::test]
async fn a_connection_that_is_refused_is_told_from_a_server_that_refuses() {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let error = error_of(&format!("http://{address}/mcp")).await;
    assert_eq!(failure(&error), Some(TransportFailure::Unreachable), "{error}");
    let text = error.to_string();
    assert!(text.starts_with(&format!("no connection to http://{address}/mcp: ")), "{text}");
    assert!(text.to_lowercase().contains("refused"), "{text}");
}

#[tokio::test]
async fn a_status_that_contradicts_its_body_is_an_error_that_says_both() {
    for status in [500, 400, 404, 301] {
        for is_stream in [false, true] {
            let scripted = Scripted::start(move |_, asked| {
                let result = asked.reply(json!({ "result": { "resultType": "complete", "content": [] } }));
                if is_stream {
                    let body = format!("data: {result}\n\n");
                    return Answer::with(status, "Content-Type: text/event-stream\r\n", &body);
                }
                Answer::with(status, JSON, &result)
            })
            .await;
            let error = error_of(&scripted.url()).await;
            let text = error.to_string();
            assert!(text.contains(&format!("status {status}")) && text.contains("a result"), "{text}");
            assert!(error.pending().is_some());
        }
    }
}

#[tokio::test]
async fn an_error_may_come_with_any_status() {
    for status in [200, 400, 404, 500] {
        let scripted = Scripted::start(move |_, asked| {
            Answer::with(
                status,
                JSON,
                &asked.reply(json!({ "error": { "code": -32601, "message": "No such method" } })),
            )
        })
        .await;
        let error = error_of(&scripted.url()).await;
        assert!(
            matches!(&error.kind, CallErrorKind::Server { error, .. } if error.message == "No such method"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_body_that_is_no_message_shows_its_status() {
    for (status, body) in [(200, "{}"), (200, "not JSON"), (201, r#"{"jsonrpc":"2.0","method":"ping","id":1}"#)] {
        let scripted = Scripted::start(move |_, _| Answer::with(status, JSON, body)).await;
        let error = error_of(&scripted.url()).await;
        assert!(error.to_string().contains(&format!("status {status}")), "{error}");
    }
}

#[tokio::test]
async fn a_reply_to_another_request_shows_what_the_server_says() {
    let body = r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: no session"}}"#;
    let scripted = Scripted::start(move |_, _| Answer::with(400, JSON, body)).await;
    let error = error_of(&scripted.url()).await;
    let text = error.to_string();
    assert!(text.contains("server-error") && text.contains("Bad Request: no session"), "{text}");
}

#[tokio::test]
async fn a_server_without_tls_is_told_from_one_that_is_not_there() {
    let scripted = Scripted::start(|_, _| Answer::with(200, JSON, "{}")).await;
    let error = error_of(&scripted.url().replace("http://", "https://")).await;
    assert!(error.to_string().contains("the server does not speak TLS: write `http://`"), "{error}");
    let CallErrorKind::Transport { source, .. } = &error.kind else { panic!("{error:?}") };
    assert!(source.failure() == TransportFailure::Unreachable && !source.may_have_run(), "{error:?}");
}

#[tokio::test]
async fn a_url_without_a_path_is_told_where_servers_are() {
    let scripted =
        Scripted::start(|_, _| Answer::with(404, "Content-Type: text/plain\r\n", "There is nothing here.")).await;
    let url = scripted.url();
    let (server, _) = url.rsplit_once('/').unwrap();
    let hint = "; the URL has no path, and most servers are at `/mcp`";
    let text = error_of(server).await.to_string();
    assert!(text.ends_with(hint), "{text}");
    assert!(!error_of(&format!("{server}/other")).await.to_string().contains(hint));
}

#[test]
fn an_address_that_is_no_url_says_what_is_missing_and_what_to_write() {
    let cases = [
        ("localhost:8000", "it has no scheme: write `http://localhost:8000/mcp`"),
        ("localhost:8000/mcp", "it has no scheme: write `http://localhost:8000/mcp`"),
        ("127.0.0.1:8000/mcp", "it has no scheme: write `http://127.0.0.1:8000/mcp`"),
        ("mcp.example.com", "it has no scheme: write `https://mcp.example.com/mcp`"),
        ("mcp.example.com/mcp?token=hidden", "it has no scheme: write `https://mcp.example.com/mcp`"),
        ("ftp://example.com/mcp", "its scheme is `ftp`, and not `http` or `https`"),
        ("http://", "write it as scheme, host and path, such as `http://localhost:8000/mcp`"),
        ("http://localhost:99999/mcp", "its port is not a number from 0 to 65535"),
        ("http://localhost:0x/mcp", "its port is not a number from 0 to 65535"),
        ("http://[::1]:99999", "its port is not a number from 0 to 65535"),
        ("http://localhost:8000/mcp#hidden", "`http://localhost:8000/mcp#…` has a fragment"),
        ("http://localhost:8000/mcp?token=hidden#", "`http://localhost:8000/mcp#…` has a fragment"),
        ("", "the URL of the server is empty"),
        ("ann:hidden@example.com/mcp", "it begins with `http://` or `https://`"),
    ];
    for (address, says) in cases {
        let error = HttpTransport::new(address).unwrap_err().to_string();
        assert!(error.contains(says), "{address}: {error}");
        assert!(!error.contains("hidden"), "{error}");
    }
}
