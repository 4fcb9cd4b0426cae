//! `cargo xtask validate-examples` for a person or a script: its output, and its end.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

fn validate(arguments: &[&str]) -> (bool, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("validate-examples")
        .args(arguments)
        .output()
        .expect("the command starts");
    let text = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    (status.success(), text)
}

/// A folder of examples, as a specification lays them out.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().expect("a temporary folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("<Type>/")).expect("a folder for the type");
        fs::write(path, text).expect("an example");
    }
    folder
}

fn validate_folder(folder: &Path, revision: &str) -> (bool, String) {
    validate(&["--dir", &folder.to_string_lossy(), "--revision", revision])
}

#[test]
fn a_right_example_passes_and_a_type_we_lack_is_listed() {
    let folder = folder(&[("Role/user.json", r#""user""#), ("Weather/sunny.json", "{}")]);
    let (passed, report) = validate_folder(folder.path(), "2026-07-28");
    assert!(passed, "{report}");
    assert!(report.contains("Types that are not defined here, and how many files they have: Weather (1)"), "{report}");
    assert!(report.contains("1 example passed"), "{report}");
}

#[test]
fn a_wrong_example_fails_with_path_and_reason() {
    let folder = folder(&[("TextContent/wrong.json", r#"{"type": "text", "text": 7}"#)]);
    let (passed, report) = validate_folder(folder.path(), "sep-2322");
    assert!(!passed);
    assert!(report.contains("FAILED: "), "{report}");
    assert!(report.contains("wrong.json as TextContent of sep-2322"), "{report}");
    assert!(report.contains("parser: $.text: expected a string, found a number"), "{report}");
    assert!(report.contains("schema: $.text: 7 is not of type \"string\""), "{report}");
}

#[test]
fn a_result_without_its_type_passes_leniently_and_the_report_says_so() {
    let folder = folder(&[("CallToolResult/bare.json", r#"{"content": []}"#)]);
    let (passed, report) = validate_folder(folder.path(), "2026-07-28");
    assert!(passed && report.contains("lenient only: "), "{report}");
    let (passed, report) = validate_folder(folder.path(), "draft-2026-02");
    assert!(passed && report.contains("1 example passed"), "the draft has no resultType\n{report}");
}

#[test]
fn a_member_that_no_type_names_is_noted() {
    let folder = folder(&[("TextContent/more.json", r#"{"type": "text", "text": "", "txet": ""}"#)]);
    let (passed, report) = validate_folder(folder.path(), "2026-07-28");
    assert!(passed && report.contains("unknown member: ") && report.contains("txet"), "{report}");
}

#[test]
fn a_file_that_is_not_json_fails_with_its_name_and_place() {
    let folder = folder(&[("Role/broken.json", "\"user\",\n")]);
    let (passed, report) = validate_folder(folder.path(), "2026-07-28");
    assert!(!passed);
    assert!(report.contains("broken.json") && report.contains("not JSON: trailing characters at line 1"), "{report}");
}

#[test]
fn an_example_with_a_duplicate_key_fails() {
    let folder = folder(&[("TextContent/twice.json", r#"{"type": "text", "text": "a", "text": "b"}"#)]);
    let (passed, report) = validate_folder(folder.path(), "2026-07-28");
    assert!(!passed && report.contains("$.text: appears twice in its object"), "{report}");
}

#[test]
fn what_is_not_there_is_said_clearly() {
    let (passed, report) = validate(&["--dir", "no/such/folder", "--revision", "2026-07-28"]);
    assert!(!passed && report.contains("error: in no/such/folder: there is no such folder"), "{report}");
    let (passed, report) = validate(&["--revision", "2027-01-01"]);
    assert!(
        !passed && report.contains("unknown revision `2027-01-01`; there are 2025-06-18, 2025-11-25, draft-2026-02"),
        "{report}"
    );
    let empty = TempDir::new().expect("a temporary folder");
    let (passed, report) = validate_folder(empty.path(), "2026-07-28");
    assert!(!passed && report.contains("it holds no <Type>/*.json"), "{report}");
    let misspelt = folder(&[("CallToolReslt/x.json", "{}")]);
    let (passed, report) = validate_folder(misspelt.path(), "2026-07-28");
    assert!(!passed && report.contains("none of the folders is named for a type of this revision"), "{report}");
    let (passed, report) = validate(&["--dir", "somewhere"]);
    assert!(!passed && report.contains("--revision"), "{report}");
}

#[test]
fn the_report_for_machines_is_json() {
    let folder = folder(&[("Role/user.json", r#""user""#), ("Role/nobody.json", r#""nobody""#)]);
    let (passed, report) = validate(&["--json", "--dir", &folder.path().to_string_lossy(), "--revision", "2026-07-28"]);
    assert!(!passed);
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["totals"]["passed"], 1);
    assert_eq!(report["totals"]["failed"], 1);
    assert_eq!(report["files"][0]["status"], "failed");
    assert_eq!(report["files"][0]["typeName"], "Role");
}
