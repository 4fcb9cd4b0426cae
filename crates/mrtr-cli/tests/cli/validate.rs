//! `mrtr validate`: documents and folders of examples.

use std::fs;

use crate::program::run;

const RIGHT: &str = r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}}"#;

#[test]
fn a_document_is_judged_block_by_block() {
    let folder = tempfile::tempdir().unwrap();
    let validate = |text: &str, more: &[&str]| {
        fs::write(folder.path().join("spec.md"), text).unwrap();
        run(folder.path(), &[&["validate", "spec.md"], more].concat())
    };
    let right = validate(&format!("# A page\n\n```json\n{RIGHT}\n```\n"), &[]);
    assert_eq!(right.code, Some(0), "{}{}", right.out, right.err);
    assert!(right.out.contains("spec.md as 2026-07-28") && right.out.contains("ListToolsRequest"), "{}", right.out);
    let wrong = RIGHT.replace("\"id\": 1", "\"id\": {}");
    let wrong = validate(&format!("```json\n{wrong}\n```\n"), &["--json"]);
    assert_eq!(wrong.code, Some(1), "{}", wrong.err);
    let report: serde_json::Value = serde_json::from_str(&wrong.out).unwrap();
    assert_eq!(report["blocks"][0]["findings"][0]["path"], "$.id");
    validate("No JSON.", &[]).says(2, &["spec.md has no block of JSON", "fenced blocks of `json`"]);
}

#[test]
fn a_folder_is_judged_file_by_file() {
    let folder = tempfile::tempdir().unwrap();
    let validate = || run(folder.path(), &["validate", "examples"]);
    validate().says(2, &["there is no examples", "<Type>/*.json"]);
    fs::create_dir_all(folder.path().join("examples/Root")).unwrap();
    validate().says(2, &["it holds no <Type>/*.json", "folders are named for types"]);
    fs::write(folder.path().join("examples/Root/one.json"), r#"{"uri": "file:///src"}"#).unwrap();
    let right = validate();
    assert!(right.code == Some(0) && right.out.contains("1 example passed"), "{}{}", right.out, right.err);
    fs::write(folder.path().join("examples/Root/two.json"), r#"{"uri": 7}"#).unwrap();
    let wrong = validate();
    assert!(
        wrong.code == Some(1) && wrong.out.contains("FAILED: Root/two.json as Root of 2026-07-28"),
        "{}",
        wrong.out
    );
    fs::rename(folder.path().join("examples/Root"), folder.path().join("examples/Stem")).unwrap();
    validate().says(2, &["no folder in it is named for a type of 2026-07-28"]);
}
