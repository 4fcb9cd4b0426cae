//! The log lines and errors that an author sees when a server begins to serve, and when it cannot.
#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

#[path = "../../mrtr-server/tests/log/mod.rs"]
mod log;

use std::io::ErrorKind;
use std::net::TcpListener;

use log::Log;
use mrtr_http::{Authenticator, Challenge, Endpoint, Identity, RequestHead, Serve, http, router_at, serve};
use mrtr_schema::Revision;
use mrtr_server::{Failure, Flow, Prompt, Resource, Sealer, Server, Tool};
use mrtr_state::{Key, KeyRing};

async fn hello(_: Flow) -> Result<&'static str, Failure> {
    Ok("Hello")
}

#[tokio::test]
async fn a_port_that_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let server = Server::builder("empty", "1.0.0").build().unwrap();
    let error = serve(address, server).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    // As a log shows it, and as `main` does that returns it.
    for text in [error.to_string(), format!("{error:?}")] {
        for words in [&format!("cannot listen on {address}: "), "another process listens there", "another port"] {
            assert!(text.contains(words), "{text}, without {words:?}");
        }
    }
}

#[tokio::test]
async fn an_address_without_a_port_or_for_everyone_is_refused_with_what_to_write() {
    let empty = || Server::builder("empty", "1.0.0").build().unwrap();
    for address in ["127.0.0.1", "localhost"] {
        let by_line = serve(address, empty()).await.unwrap_err();
        let by_builder = Serve::new(Endpoint::anonymous(empty())).bind(address).unwrap_err();
        for error in [by_line, by_builder] {
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert_eq!(error.to_string(), "no port: write 127.0.0.1:8000, or 127.0.0.1:0 for any free one");
        }
    }
    let error = serve("0.0.0.0:8123", empty()).await.unwrap_err().to_string();
    let remedy = r#"Serve::new(Endpoint::new(server, authenticator)).bind("0.0.0.0:8123")?.run_until_signal()"#;
    for words in ["`serve` lets every caller in", "0.0.0.0:8123 can be reached", "write 127.0.0.1:8123, or", remedy] {
        assert!(error.contains(words), "{error}, without {words:?}");
    }
}

#[tokio::test]
async fn a_key_of_the_process_is_warned_of_where_others_call() {
    for (address, warns) in [("127.0.0.1:0", false), ("0.0.0.0:0", true)] {
        let log = Log::of(&["mrtr_http", "mrtr_state"]);
        let endpoint = Endpoint::anonymous(Server::builder("shop", "1.2.3").build().unwrap());
        Serve::new(endpoint).bind(address).unwrap().run(async {}).await.unwrap();
        let log = log.text();
        let warned = log.lines().any(|line| line.starts_with("WARN") && line.contains("Sealer::from_env("));
        assert_eq!(warned, warns, "{address}: {log}");
    }
}

#[tokio::test]
async fn serving_says_where_and_what_and_with_which_key_and_to_whom() {
    let log = Log::of(&["mrtr_http"]);
    let tools = || Server::builder("shop", "1.2.3").tool(Tool::new("hello", hello)).tool(Tool::new("hi", hello));
    let tools = || tools().prompt(Prompt::new("hello", hello)).resource(Resource::new("shop://hello", "hello", hello));
    let sealer = Sealer::new(KeyRing::new(Key::new("k1", [7; 32]).unwrap()), "shop").unwrap();
    let lasting = Endpoint::new(tools().sealer(sealer).build().unwrap(), OneToken).revision(Revision::Sep2322);
    let serving = Serve::new(Endpoint::anonymous(tools().build().unwrap())).endpoint("/lasting", lasting).probes();
    let bound = serving.bind("127.0.0.1:0").unwrap();
    let address = bound.address().unwrap();
    bound.run(async {}).await.unwrap();
    let app = router_at("/tools", Endpoint::anonymous(tools().build().unwrap()));
    let log = log.text();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("serving ")).collect();
    let [lasting, passing, probes, routed] = lines[..] else { panic!("a line for each way, not {log}") };
    let counted = "server=shop version=1.2.3 tools=2 prompts=1 resources=1";
    for (line, place, key, callers) in [
        (lasting, &*format!("http://{address}/lasting"), "given", "authenticated"),
        (passing, &format!("http://{address}/mcp"), "of this process only", "anonymous"),
        (routed, "/tools, as a route of the application's", "of this process only", "anonymous"),
    ] {
        assert!(line.starts_with("INFO "), "{line}");
        for words in [&*format!("serving {place}"), counted, &*format!("key={key}"), &*format!("callers={callers}")] {
            assert!(line.contains(words), "{line}, without {words:?}");
        }
    }
    assert!(probes.contains(&format!("http://{address}/healthz and http://{address}/readyz")), "{probes}");
    drop(app);
}

#[derive(Debug)]
struct OneToken;

#[async_trait::async_trait]
impl Authenticator for OneToken {
    async fn authenticate(&self, head: &RequestHead<'_>) -> Result<Identity, Challenge> {
        match head.headers.get("authorization").map(http::HeaderValue::as_bytes) {
            Some(b"Bearer secret") => Ok(Identity::anonymous()),
            Some(b"Bearer weak") => Err(Challenge::bearer().forbidden()),
            _ => Err(Challenge::bearer()),
        }
    }
}

/// Sends a request with these headers, and returns the status and the lines of the log about it.
async fn refused(endpoint: &Endpoint, headers: &[(&str, &str)]) -> (u16, Vec<String>) {
    let log = Log::of(&["mrtr_http"]);
    let mut request = http::Request::post("/mcp").header("content-type", "application/json");
    request = request.header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = endpoint.respond(request.body(http_body_util::Empty::new()).unwrap()).await;
    (response.status().as_u16(), log.text().lines().map(str::to_owned).collect())
}

#[tokio::test]
async fn a_refusal_says_what_came_and_which_setting_would_allow_it() {
    let endpoint = Endpoint::new(Server::builder("empty", "1.0.0").build().unwrap(), OneToken);
    let (local, key) = (("host", "localhost:1"), ("authorization", "Bearer hunter2"));
    let allow_host = r#"setting=Endpoint::allow_host("mcp.example.com"), or --allow-host of `mrtr serve`"#;
    let allow_origin = r#"setting=Endpoint::allow_origin("https://app.example.com")"#;
    let page = ("origin", "https://app.example.com");
    let cases = [
        (
            vec![("host", "mcp.example.com:8443")],
            403,
            vec![allow_host, "host=mcp.example.com:8443", "authorization=none"],
        ),
        (vec![local, page, key], 403, vec![allow_origin, "origin=https://app.example.com", "authorization=given"]),
        (vec![local, ("host", "localhost")], 403, vec!["setting=none: the client must send one `Host`"]),
        (vec![local], 401, vec!["asks for credentials", "the authenticator of Endpoint::new", "authorization=none"]),
        (vec![local, key], 401, vec!["asks for credentials", "authorization=given"]),
        (vec![local, ("authorization", "Bearer weak")], 403, vec!["this caller may not", "authorization=given"]),
    ];
    for (headers, status, words) in cases {
        for level in ["INFO ", "DEBUG "] {
            let (answered, lines) = refused(&endpoint, &headers).await;
            assert_eq!(answered, status, "{headers:?}");
            let [line] = &lines[..] else { panic!("one line, not {lines:?}") };
            assert!(line.starts_with(level), "{line}: INFO once for a cause");
            assert!(line.contains(&format!("status={status}")) && !line.contains("hunter2"), "{line}");
            for words in &words {
                assert!(line.contains(words), "{line}, without {words:?}");
            }
        }
    }
}

#[tokio::test]
async fn clients_fill_neither_the_log_nor_its_memory_with_causes_that_they_make_up() {
    let endpoint = Endpoint::anonymous(Server::builder("empty", "1.0.0").build().unwrap());
    let mut told = 0;
    for number in 0..200 {
        let (_, lines) = refused(&endpoint, &[("host", &format!("h{number}.example"))]).await;
        told += lines.iter().filter(|line| line.starts_with("INFO ")).count();
    }
    assert_eq!(told, 64);
    let origin = format!("https://{}\u{202e}", "x".repeat(5000));
    let log = Log::of(&["mrtr_http"]);
    let request = http::Request::post("/mcp").header("host", "localhost").header("origin", origin.as_bytes());
    endpoint.respond(request.body(http_body_util::Empty::new()).unwrap()).await;
    let log = log.text();
    assert!(log.contains("origin=https://xxx") && log.len() < 1000, "{log}");
}
