//! Every path of a server takes one parse and one opening a request: callgrind counts them, where there is valgrind.

use std::process::{Command, Stdio};

#[test]
fn a_request_is_parsed_once_and_its_state_opened_once_on_every_path() {
    let mut valgrind = Command::new("valgrind");
    let version = valgrind.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !version.is_ok_and(|status| status.success()) {
        eprintln!("left out: there is no valgrind here");
        return;
    }
    let counted = Command::new(env!("CARGO_BIN_EXE_mrtr-bench")).arg("calls").output().expect("it starts");
    let (counts, error) = (String::from_utf8_lossy(&counted.stdout), String::from_utf8_lossy(&counted.stderr));
    assert!(counted.status.success(), "{error}{counts}");
    // If the profile had none of these names, the test would have counted nothing.
    for path in ["plain", "streamed", "single-use", "streamed-single-use"] {
        assert!(counts.contains(&format!("\"{path}\": {{")), "{counts}");
    }
}
