//! The shortest server and the shortest client: how short they are, and that they do what they say.

use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

use mrtr::prelude::*;

use crate::promise::assert_kept;
use mrtr_fixtures::Program;

const SERVER: &str = include_str!("../../shortest_server.rs");
const CLIENT: &str = include_str!("../../shortest_client.rs");

/// The lines below the header, with the empty ones.
fn program(source: &str) -> String {
    let lines = source.lines().skip_while(|line| line.starts_with("//!") || line.is_empty());
    lines.collect::<Vec<_>>().join("\n").replace("#[rustfmt::skip] ", "")
}

#[test]
fn a_server_takes_at_most_15_lines_and_a_client_12() {
    let (server, client) = (program(SERVER), program(CLIENT));
    assert!(server.lines().count() <= 15, "{server}");
    assert!(client.lines().count() <= 12, "{client}");
}

#[test]
fn the_shortest_server_is_that_of_the_readme() {
    assert!(include_str!("../../../crates/mrtr/README.md").contains(&program(SERVER)), "{}", program(SERVER));
}

/// The server has its address in it, which another program may have, another run of this test among them.
#[test]
fn the_client_is_greeted_by_the_server() {
    let path = env!("CARGO_BIN_EXE_shortest_server");
    let Ok(free) = TcpListener::bind("127.0.0.1:8000") else {
        let refused = Command::new(path).stdin(Stdio::null()).output().expect("the example is built");
        assert!(is_taken(&refused), "{refused:?}");
        return;
    };
    drop(free);
    let address = "127.0.0.1:8000".parse().expect("it is an address");
    let log = tempfile::NamedTempFile::new().expect("a file");
    let mut command = Command::new(path);
    command.stderr(log.reopen().expect("it is there"));
    let server = Program::start_at(address, command);
    assert_kept(&mut Command::new(env!("CARGO_BIN_EXE_shortest_client")), CLIENT);
    drop(server);
    let log = std::fs::read_to_string(&log).expect("it is there");
    assert!(log.contains("serving http://127.0.0.1:8000/mcp") || log.contains("in use"), "{log}");
}

fn is_taken(refused: &Output) -> bool {
    !refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("in use")
}

#[tokio::test]
async fn the_client_calls_the_server_that_its_argument_names() -> Result<()> {
    let greet = async |flow: Flow| {
        let Name { name } = flow.elicit("name", "Who are you?").await?;
        Ok::<_, Failure>(format!("Hello, {name}"))
    };
    let server = Server::builder("greeter", "1.0.0").tool(Tool::new("greet", greet)).build()?;
    let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
    let url = format!("http://{}/mcp", bound.address()?);
    tokio::spawn(bound.run(std::future::pending()));
    let run = move || assert_kept(Command::new(env!("CARGO_BIN_EXE_shortest_client")).arg(url), CLIENT);
    Ok(tokio::task::spawn_blocking(run).await?)
}

#[data]
struct Name {
    name: String,
}
