//! `mrtr state inspect`: little without keys, claims with them, and no answer unasked.

use std::fs;

use serde_json::Value;

use crate::program::{MRTR, run, run_with};
use crate::putting_down::made_keys;

#[test]
fn a_state_shows_its_header_and_with_its_keys_its_claims_and_no_answer_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let keys = made_keys(folder.path());
    let server = format!("{MRTR} serve --stdio --state-keys {keys}");
    let call =
        ["call", "--stdio", &server, "update_work_item", "workItemId=7", "--save", "call.json", "--answers", "-"];
    run_with(folder.path(), &call, r#"{"resolution": {"resolution": "Duplicate"}}"#).says(4, &[]);
    let saved: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("call.json")).unwrap()).unwrap();
    let state = saved["work"]["call"]["state"].as_str().unwrap();
    let inspect = |more: &[&str]| run(folder.path(), &[&["state", "inspect", state], more].concat());

    let bare = inspect(&[]);
    assert!(bare.out.contains("x: XChaCha20-Poly1305") && bare.out.contains("--keys FILE"), "{}", bare.out);
    assert!(!bare.out.contains("update_work_item"));

    let opened = inspect(&["--keys", &keys]);
    for told in [
        "tools/call update_work_item",
        "mrtr-demo",
        ", round 2",
        "anonymous",
        "of kind `mrtr`",
        "the answer to resolution\n",
        "(in ",
    ] {
        assert!(opened.out.contains(told), "{told}: {}{}", opened.out, opened.err);
    }
    assert!(!opened.out.contains("\"Duplicate\""), "{}", opened.out);
    let shown = inspect(&["--keys", &keys, "--payload"]).out;
    let line = shown.lines().find(|line| line.contains("the answer to resolution: {")).unwrap();
    assert!(line.contains("Duplicate") && !shown.contains("\\u{"), "{shown}");
    let of_file = run(folder.path(), &["state", "inspect", "--file", "call.json", "--keys", &keys, "--payload"]);
    assert!(of_file.out.contains(line), "{}{}", of_file.out, of_file.err);
    run(folder.path(), &["state", "inspect", "--file", &keys]).says(1, &["is not a call that mrtr saved"]);

    run(folder.path(), &["keys", "new", "others", "--id", "other"]);
    inspect(&["--keys", "others"])
        .says(1, &["the keys in others do not open the state: its key is not in the ring", "it names the key `"]);
    let name = fs::read_to_string(&keys).unwrap().split(['=', ':']).nth(1).unwrap().to_owned();
    run(folder.path(), &["keys", "new", "namesake", "--id", &name]);
    inspect(&["--keys", "namesake"]).says(1, &["it was not sealed with the key it names", "another secret"]);
    inspect(&["--keys", "call.json"]).says(1, &["the keys cannot be used"]);
    run(folder.path(), &["state", "inspect", "hello"])
        .says(1, &["this is not a state that mrtr sealed", "the whole text of `requestState`"]);
}
