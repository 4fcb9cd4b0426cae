//! `cargo xtask compare-official` for a person or a script: its output, and its end.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

fn compare(arguments: &[&str]) -> (bool, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("compare-official")
        .args(arguments)
        .output()
        .expect("the command starts");
    let text = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    (status.success(), text)
}

/// A specification of one revision that defines these types, and the rules for what differs.
fn spec(definitions: &Value, rules: &Value) -> TempDir {
    let folder = TempDir::new().expect("a temporary folder");
    let revision = folder.path().join("2026-07-28");
    fs::create_dir(&revision).expect("a folder for the revision");
    let document = json!({ "$defs": definitions });
    fs::write(revision.join("schema.json"), document.to_string()).expect("an official schema");
    fs::write(folder.path().join("differences.json"), rules.to_string()).expect("the rules");
    folder
}

fn compare_spec(folder: &TempDir, more: &[&str]) -> (bool, String) {
    let rules = folder.path().join("differences.json");
    let fixed =
        ["--spec", &folder.path().to_string_lossy(), "--differences", &rules.to_string_lossy()].map(str::to_owned);
    compare(&fixed.iter().map(String::as_str).chain(more.iter().copied()).collect::<Vec<_>>())
}

/// `ModelHint` as ours has it, but for what a name may be.
fn model_hint(name: &Value) -> Value {
    json!({ "ModelHint": { "type": "object", "properties": { "name": name } } })
}

fn text_or_null() -> Value {
    json!({ "type": ["string", "null"] })
}

/// A rule for the name of a model hint.
fn rule(mutation: &str) -> Value {
    json!([{
        "revisions": ["2026-07-28"], "types": ["ModelHint"], "path": "name", "mutation": mutation,
        "stricter": "ours", "reason": "A name is text.",
    }])
}

#[test]
fn schemas_that_accept_the_same_pass() {
    let folder = spec(&model_hint(&json!({ "type": "string" })), &json!([]));
    let (passed, report) = compare_spec(&folder, &[]);
    assert!(passed, "{report}");
    assert!(report.contains("0 differences"), "{report}");
}

#[test]
fn a_difference_that_is_not_listed_fails_and_is_named() {
    let folder = spec(&model_hint(&text_or_null()), &json!([]));
    let (passed, report) = compare_spec(&folder, &[]);
    assert!(!passed);
    assert!(report.contains("NOT LISTED: ModelHint of 2026-07-28, name to null: only ours refuses it"), "{report}");
    assert!(report.contains("first in schema/2026-07-28/examples/ModelHint/"), "{report}");
    assert!(!report.contains("name to number"), "both refuse a number\n{report}");
}

#[test]
fn a_difference_that_is_listed_passes_with_its_reason() {
    let folder = spec(&model_hint(&text_or_null()), &rule("to null"));
    let (passed, report) = compare_spec(&folder, &[]);
    assert!(passed, "{report}");
    assert!(report.contains("A name is text.\n    ModelHint, name: to null"), "{report}");
}

#[test]
fn a_rule_without_a_difference_fails() {
    let folder = spec(&model_hint(&json!({ "type": "string" })), &rule("to number"));
    let (passed, report) = compare_spec(&folder, &[]);
    assert!(!passed && report.contains("STALE: the rule for ModelHint of 2026-07-28, name to number"), "{report}");
}

#[test]
fn a_rule_that_is_wider_than_its_differences_fails() {
    let folder = spec(&model_hint(&text_or_null()), &rule("to null|negative"));
    let (passed, report) = compare_spec(&folder, &[]);
    assert!(!passed && report.contains("there is no such difference for negative"), "{report}");
}

#[test]
fn a_member_that_only_the_official_schema_names_is_found_without_an_example() {
    let mut definitions = model_hint(&json!({ "type": "string" }));
    definitions["ModelHint"]["properties"]["vendor"] = json!({ "type": "string" });
    let (passed, report) = compare_spec(&spec(&definitions, &json!([])), &[]);
    assert!(!passed);
    assert!(report.contains("ModelHint of 2026-07-28, vendor added as null: only the official one"), "{report}");
}

#[test]
fn what_only_one_side_takes_for_another_type_is_found() {
    let definitions = json!({ "Role": { "type": "string" }, "LoggingLevel": { "type": "string" } });
    let (passed, report) = compare_spec(&spec(&definitions, &json!([])), &[]);
    assert!(!passed);
    assert!(report.contains("Role of 2026-07-28, $ example of LoggingLevel: only ours refuses it"), "{report}");
}

#[test]
fn the_innermost_type_that_differs_is_named() {
    let mut definitions = model_hint(&json!({}));
    let hints = json!({ "type": "array", "items": { "$ref": "#/$defs/ModelHint" } });
    definitions["ModelPreferences"] = json!({ "type": "object", "properties": { "hints": hints } });
    let (passed, report) = compare_spec(&spec(&definitions, &json!([])), &[]);
    assert!(!passed);
    assert!(report.contains("ModelHint of 2026-07-28, name to number: only ours refuses it"), "{report}");
    assert!(report.contains("ModelPreferences of 2026-07-28, costPriority to string"), "{report}");
    assert!(!report.contains("hints[]"), "what a name may be is the hint's own rule\n{report}");
}

#[test]
fn the_report_for_machines_is_json() {
    let folder = spec(&model_hint(&text_or_null()), &json!([]));
    let (passed, report) = compare_spec(&folder, &["--json"]);
    assert!(!passed);
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["totals"]["unlisted"], 1);
    let difference = json!({
        "revision": "2026-07-28", "type": "ModelHint", "path": "name", "mutation": "to null", "stricter": "ours",
    });
    assert_eq!(report["unlisted"][0]["difference"], difference);
}

#[test]
fn what_is_not_there_is_said_clearly() {
    let (passed, report) = compare(&["--spec", "no/such/folder"]);
    assert!(!passed && report.contains("error: in no/such/folder: there is no such folder"), "{report}");
    let empty = TempDir::new().expect("a temporary folder");
    let empty = empty.path().to_string_lossy();
    let (passed, report) = compare(&["--spec", &empty]);
    assert!(!passed && report.contains("it holds no <revision>/schema.json"), "{report}");
    let (passed, report) = compare(&["--spec", &empty, "--differences", "no/such/file"]);
    assert!(!passed && report.contains("error: in no/such/file: could not read the rules"), "{report}");
    let (passed, report) = compare_spec(&spec(&json!({ "Weather": {} }), &json!([])), &[]);
    assert!(!passed && report.contains("no example was found of a type that both sides define"), "{report}");
}

/// Needs the official schemas beside the workspace; without them the command says that it compared nothing.
#[test]
fn our_schemas_differ_from_the_official_ones_only_where_they_are_meant_to() {
    let (passed, report) = compare(&[]);
    assert!(passed, "{report}");
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/spec");
    assert_eq!(shared.is_dir(), report.contains("variants of"), "{report}");
}
