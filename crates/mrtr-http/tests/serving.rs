//! The log lines and errors that an author sees when a server begins to serve, and when it cannot.
#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

#[path = "../../mrtr-server/tests/log/mod.rs"]
mod log;

use std::io::ErrorKind;
use std::net::TcpListener;

use log::Log;
use mrtr_http::{Endpoint, Serve, serve};
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
async fn serving_says_where_and_what_and_with_which_key() {
    let log = Log::of(&["mrtr_http"]);
    let tools = || Server::builder("shop", "1.2.3").tool(Tool::new("hello", hello)).tool(Tool::new("hi", hello));
    let tools = || tools().prompt(Prompt::new("hello", hello)).resource(Resource::new("shop://hello", "hello", hello));
    let sealer = Sealer::new(KeyRing::new(Key::new("k1", [7; 32]).unwrap()), "shop").unwrap();
    let lasting = Endpoint::anonymous(tools().sealer(sealer).build().unwrap()).revision(Revision::Sep2322);
    let serving = Serve::new(Endpoint::anonymous(tools().build().unwrap())).endpoint("/lasting", lasting);
    let bound = serving.bind("127.0.0.1:0").unwrap();
    let address = bound.address().unwrap();
    bound.run(async {}).await.unwrap();
    let log = log.text();
    let lines: Vec<_> = log.lines().collect();
    let counted = "server=shop version=1.2.3 tools=2 prompts=1 resources=1";
    let [lasting, passing] = lines[..] else { panic!("a line for each path, not {log}") };
    for (line, path, key) in [(lasting, "/lasting", "given"), (passing, "/mcp", "of this process only")] {
        assert!(line.starts_with("INFO "), "{line}");
        for words in [&*format!("serving http://{address}{path}"), counted, &*format!("key={key}")] {
            assert!(line.contains(words), "{line}, without {words:?}");
        }
    }
}
