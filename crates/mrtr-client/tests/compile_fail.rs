//! Compiler messages about things that are no handlers of a client, and no transports: each mistake is a file.
//!
//! The compiler's words change from version to version, so they are compared with one version only.
//! `TRYBUILD=overwrite` writes them anew.

use std::process::Command;

/// The version of Rust that wrote the files of messages: the same as that of `mrtr-server`, where CI reads it.
const MESSAGES_OF: &str = "1.95";

#[test]
fn mistakes_that_the_compiler_finds_are_explained() {
    let compiler = Command::new("rustc").arg("--version").output().expect("there is a compiler");
    let compiler = String::from_utf8(compiler.stdout).expect("it says its version in words");
    if !compiler.starts_with(&format!("rustc {MESSAGES_OF}.")) {
        let must_run = std::env::var_os("MRTR_COMPILE_FAIL").is_some();
        assert!(!must_run, "the texts are those of Rust {MESSAGES_OF}, and this is {compiler}");
        println!("skipped: the texts are those of Rust {MESSAGES_OF}, and this is {compiler}");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
