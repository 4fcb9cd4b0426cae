//! The example that asks on the terminal, with its answers piped in.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::promise::is_kept;

#[test]
fn hello_asks_twice_and_draws_the_wire_beside_its_questions() {
    let mut hello = Command::new("sh");
    // Both streams in the order in which they are written, as on a terminal.
    hello.args(["-c", "exec \"$0\" 2>&1", env!("CARGO_BIN_EXE_hello")]).env("RUST_LOG", "off");
    let mut hello = hello.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("there is a shell");
    let mut stdin = hello.stdin.take().expect("standard input is piped");
    stdin.write_all(b"Duplicate\n4301\n").expect("it reads");
    drop(stdin);
    let output = hello.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    let shown = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<_> = shown.lines().filter(|line| !line.is_empty()).collect();
    assert!(is_kept(include_str!("../../hello.rs"), &lines.join("\n")), "{shown}");
}
