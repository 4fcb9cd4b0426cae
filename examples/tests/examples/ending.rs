//! The examples that end by themselves: server and client in one program, over HTTP.

use std::process::{Command, Stdio};

use crate::promise::{assert_kept, is_kept};

macro_rules! ends_as_promised {
    ($($test:ident: $name:literal)*) => {$(
        #[test]
        fn $test() {
            let mut command = Command::new(env!(concat!("CARGO_BIN_EXE_", $name)));
            assert_kept(command.stdin(Stdio::null()), include_str!(concat!("../../", $name, ".rs")));
        }
    )*};
}

ends_as_promised! {
    a_handler_asks_twice_and_its_step_runs_once: "two_rounds"
    a_new_version_asks_only_what_the_old_one_did_not: "rolling_upgrade"
    a_call_moves_from_the_busy_instance_to_the_idle_one: "load_shedding"
    a_step_is_tried_three_times_and_charges_once: "steps"
    twenty_copies_of_a_state_charge_once: "single_use"
    an_approval_is_shown_by_one_client_and_on_a_page_for_another: "approval"
    a_result_is_a_value_with_a_schema: "structured"
    a_host_shows_icons_and_hints: "icons"
    a_prompt_is_completed_and_may_ask: "prompt"
    a_resource_is_kept_as_long_as_its_server_says_and_may_ask: "resource"
    one_handler_reads_all_resources_of_a_template: "template"
    progress_becomes_the_status_of_a_task: "log"
    middleware_refuses_what_is_over_the_quota_and_writes_down_the_rest: "middleware"
    flows_in_rmcp_know_their_callers_over_http: "rmcp_over_http"
    a_sealed_state_is_good_for_its_caller_and_its_arguments_only: "sealed_without_sdk"
    a_state_that_is_sealed_in_rmcp_is_too_and_books_once: "sealed_in_rmcp"
}

#[test]
fn a_host_goes_on_with_the_calls_that_it_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("calls.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    assert_kept(command.arg(&file).stdin(Stdio::null()), include_str!("../../host.rs"));
    assert!(!file.exists(), "what was answered is not kept");
}

#[test]
fn a_host_starts_its_server_and_ends_it() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stdio_host"));
    command.arg(env!("CARGO_BIN_EXE_stdio_server")).stdin(Stdio::null());
    let output = command.output().expect("the example is built");
    let (printed, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{printed}{said}");
    assert!(is_kept(include_str!("../../stdio_host.rs"), &printed), "{printed}{said}");
    assert!(said.contains("book: asking"), "{said}");
}

#[test]
fn a_host_without_a_server_says_what_it_needs() {
    let output = Command::new(env!("CARGO_BIN_EXE_stdio_host")).stdin(Stdio::null()).output().expect("it is built");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("which server?"), "{said}");
}

#[test]
fn a_promise_is_compared_line_by_line_and_an_ellipsis_is_something() {
    let source = "//! Shows it.\n//!\n//! ```text\n//! a … bytes\n//! http://…\n//! ```\n\nfn main() {}";
    assert!(is_kept(source, "a 17 bytes\nhttp://localhost\n"));
    for other in [
        "a 17 bytes\n",
        "a  bytes\nhttp://x\n",
        "a 17 bytes\nhttp://\n",
        "a 1 bytes\nhttp://x\nmore\n",
        "a 1 bytes!\nhttp://x",
    ] {
        assert!(!is_kept(source, other), "{other}");
    }
}
