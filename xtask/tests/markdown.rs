//! `cargo xtask validate-examples --markdown`: its findings in a document, with their lines, and its end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
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

/// A document and its errata, in a folder of their own.
struct Document {
    folder: TempDir,
    revision: &'static str,
}

impl Document {
    fn new(text: &str, revision: &'static str) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        fs::write(folder.path().join("document.md"), text).expect("a document");
        Self { folder, revision }
    }

    fn with_errata(self, errata: &Value) -> Self {
        fs::write(self.folder.path().join("errata.json"), errata.to_string()).expect("errata");
        self
    }

    fn validate(&self, more: &[&str]) -> (bool, String) {
        let file = |name| self.folder.path().join(name).to_string_lossy().into_owned();
        let (document, errata) = (file("document.md"), file("errata.json"));
        let mut arguments = vec!["--markdown", &document, "--revision", self.revision];
        if Path::new(&errata).exists() {
            arguments.extend(["--errata", &errata]);
        }
        arguments.extend(more);
        validate(&arguments)
    }

    /// The report for machines.
    fn report(&self) -> Value {
        let (_, report) = self.validate(&["--json"]);
        serde_json::from_str(&report).expect("JSON")
    }

    /// The line, type and status of each block.
    fn rows(&self) -> Vec<(u64, String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let blocks = self.report()["blocks"].as_array().cloned().unwrap_or_default();
        let row = |block: &Value| (block["line"].as_u64().unwrap_or(0), text(&block["type"]), text(&block["status"]));
        blocks.iter().map(row).collect()
    }

    /// The line, path and reason of each finding.
    fn findings(&self) -> Vec<String> {
        let blocks = self.report()["blocks"].as_array().cloned().unwrap_or_default();
        let findings = blocks.iter().flat_map(|block| block["findings"].as_array().cloned().unwrap_or_default());
        let shown = |finding: Value| {
            let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
            format!("{}: {}: {}", finding["line"], text("path"), text("reason"))
        };
        findings.map(shown).collect()
    }
}

fn row(line: u64, type_name: &str, status: &str) -> (u64, String, String) {
    (line, type_name.to_owned(), status.to_owned())
}

const CALL: &str = r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}}"#;
const DONE: &str = r#"{"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", "content": []}}"#;
const ASKS: &str = r#"{"jsonrpc": "2.0", "id": 1, "result": {"resultType": "input_required", "requestState": "s"}}"#;

fn fenced(blocks: &[&str]) -> String {
    blocks.iter().map(|block| ["```json\n", block, "\n```\n"].concat()).collect()
}

#[test]
fn fences_of_all_kinds_are_found_and_other_languages_are_not() {
    let text = format!(
        "# Title\n\n```json theme={{null}}\n{CALL}\n```\n\n~~~~JSONC\n~~~\n~~~~\n\n```ts\n{{\n```\n\nSee ```json``` here.\n\n   \
         1. In a list:\n\n      ```json5\n      {CALL}\n      ```\n"
    );
    let document = Document::new(&text, "sep-2322");
    let rows =
        [row(4, "CallToolRequest", "passed"), row(8, "not recognised", "failed"), row(20, "CallToolRequest", "passed")];
    assert_eq!(document.rows(), rows);
}

#[test]
fn the_indentation_of_a_fence_is_not_part_of_a_string() {
    let text = format!("<details>\n\n  ```json\n  {}\n  ```\n\n</details>\n", CALL.replace(", ", ",\n  "));
    assert_eq!(Document::new(&text, "sep-2322").rows(), [row(4, "CallToolRequest", "passed")]);
}

#[test]
fn a_fence_that_markdown_takes_for_text_is_not_passed_over() {
    for before in ["<details>\n  ", "Text:\n\n    "] {
        let (passed, report) = Document::new(&format!("{before}```json\n{CALL}\n"), "sep-2322").validate(&[]);
        assert!(!passed && report.contains("Markdown takes this fence for text"), "{report}");
    }
}

#[test]
fn bare_objects_are_found_by_their_braces_and_prose_in_braces_is_not() {
    let text = "InputRequests\n{\n  // One.\n  \"a}\": {\n    \"method\": \"roots/list\"\n  }\n}\n\n{name} is prose.\n";
    let document = Document::new(text, "2026-07-28");
    assert_eq!(document.rows(), [row(2, "InputRequests", "passed")]);
}

#[test]
fn what_is_never_closed_is_said() {
    let (passed, report) = Document::new("Text\n\n```json\n{}\n", "sep-2322").validate(&[]);
    assert!(!passed && report.contains("line 3: this fence is never closed"), "{report}");
    let findings = Document::new("{\n  \"method\": 1\n\nMore text.\n", "sep-2322").findings();
    assert!(findings[0].starts_with("2: $: not JSON: EOF"), "{findings:?}");
}

#[test]
fn a_response_is_of_the_type_that_its_request_asks_for() {
    let list =
        CALL.replace("tools/call", "tools/list").replace(r#""id": 1"#, r#""id": "b""#).replace(r#""name": "echo""#, "");
    let tools = r#"{"jsonrpc": "2.0", "id": "b", "result": {"resultType": "complete", "tools": []}}"#;
    let error = r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "no"}}"#;
    let document = Document::new(&fenced(&[CALL, &list, DONE, tools, CALL, ASKS, CALL, error]), "sep-2322");
    let types: Vec<_> =
        document.rows().into_iter().map(|(_, type_name, status)| format!("{type_name} {status}")).collect();
    assert_eq!(
        types,
        [
            "CallToolRequest passed",
            "ListToolsRequest passed",
            "CallToolResultResponse passed",
            "ListToolsResultResponse passed",
            "CallToolRequest passed",
            "CallToolResultResponse passed",
            "CallToolRequest passed",
            "JSONRPCErrorResponse passed",
        ]
    );
}

#[test]
fn an_interim_response_of_the_draft_has_a_type_of_its_own() {
    let asks = ASKS.replace(r#""resultType": "input_required", "#, "");
    let document = Document::new(&fenced(&[&asks, CALL, &asks]), "draft-2026-02");
    let types: Vec<_> = document.rows().into_iter().map(|(_, type_name, _)| type_name).collect();
    let interim = "JSONRPCIncompleteResultResponse";
    assert_eq!(types, [interim, "CallToolRequest", interim]);
}

#[test]
fn an_id_that_does_not_match_is_found_although_an_older_request_had_it() {
    let again = CALL.replace(r#""id": 1"#, r#""id": 2"#);
    let document = Document::new(&fenced(&[CALL, DONE, &again, DONE]), "sep-2322");
    assert_eq!(document.findings(), ["11: $.id: 1 is not the id of the request before it, which is 2"]);
}

#[test]
fn a_response_without_a_request_is_recognised_only_if_it_is_interim() {
    let document = Document::new(&fenced(&[ASKS]), "2026-07-28");
    assert_eq!(document.rows(), [row(2, "InputRequiredResult", "passed")]);
    let findings = Document::new(&fenced(&[DONE]), "2026-07-28").findings();
    assert_eq!(findings, ["2: $.result: no request stands before it, so its type is not known"]);
}

#[test]
fn methods_of_no_revision_and_messages_without_a_method_are_found() {
    let misspelt = CALL.replace("tools/call", "tools/cal");
    let elided = "{\n\"jsonrpc\": \"2.0\",\n\"id\": 1,\n\"requestState\": \"s\"\n}";
    assert_eq!(
        Document::new(&fenced(&[&misspelt, elided]), "sep-2322").findings(),
        [
            "2: $.method: `tools/cal` is not a method of sep-2322",
            "5: $.method: required, but absent",
            "8: $.requestState: no type names this member",
        ]
    );
}

#[test]
fn what_older_protocols_sent_to_the_client_is_recognised_and_found() {
    let params = r#"{"message": "m", "requestedSchema": {"type": "object", "properties": {}}}"#;
    let asks = format!(r#"{{"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {params}}}"#);
    let answer = r#"{"jsonrpc": "2.0", "id": 1, "result": {"action": "cancel"}}"#;
    let document = Document::new(&fenced(&[CALL, &asks, answer]), "draft-2026-02");
    assert_eq!(
        document.findings(),
        [
            "5: $.method: a server-to-client request, as in older protocols; it belongs in `inputRequests`",
            "8: $.result: a response to a server-to-client request; it belongs in `inputResponses`",
        ]
    );
}

#[test]
fn a_task_is_created_by_a_call_and_leads_to_what_the_call_would_have_led_to() {
    let call = CALL.replace(r#""name": "echo""#, r#""name": "echo", "task": {"ttl": 1}"#);
    let created = r#"{"jsonrpc": "2.0", "id": 1, "result": {"task": {}}}"#;
    let payload = r#"{"jsonrpc": "2.0", "id": 2, "method": "tasks/result", "params": {"taskId": "t"}}"#;
    let result = r#"{"jsonrpc": "2.0", "id": 2, "result": {"contents": []}}"#;
    let document = Document::new(&fenced(&[&call, created, payload, result]), "draft-2026-02");
    let types: Vec<_> = document.rows().into_iter().map(|(_, type_name, _)| type_name).collect();
    let payload = "GetTaskPayloadResultResponse";
    assert_eq!(types, ["CallToolRequest", "CreateTaskResultResponse", "GetTaskPayloadRequest", payload]);
    assert!(document.findings().contains(&"11: $.result.content: required, but absent".to_owned()));
}

#[test]
fn a_type_that_is_not_defined_here_is_said_and_leaves_its_errata_open() {
    let meta = r#""_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}"#;
    let call = CALL.replace(r#""name": "echo""#, &format!(r#""name": "echo", {meta}, "task": {{}}"#));
    let created = r#"{"jsonrpc": "2.0", "id": 1, "result": {"task": {}}}"#;
    let errata = json!([
        { "kind": "json", "block": 1, "path": "$.params.task", "reason": "The published revision has it elsewhere." },
        { "kind": "json", "block": 2, "path": "$.result.task", "reason": "Who knows." },
    ]);
    let (passed, report) = Document::new(&fenced(&[&call, created]), "2026-07-28").with_errata(&errata).validate(&[]);
    assert!(passed && report.contains("not defined here: CreateTaskResultResponse"), "{report}");
    assert!(report.contains("erratum of a type that is not defined here: block 2, $.result.task"), "{report}");
}

#[test]
fn a_notification_wants_no_answer() {
    let progress =
        r#"{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}"#;
    let rows = Document::new(&fenced(&[CALL, progress, DONE]), "sep-2322").rows();
    assert_eq!(rows[1..], [row(5, "ProgressNotification", "passed"), row(8, "CallToolResultResponse", "passed")]);
}

#[test]
fn maps_and_fragments_of_inputs_are_recognised() {
    let requests = "```json5\n\"inputRequests\": {\n  // Why\n  \"a\": {\"method\": \"roots/list\"},\n}\n```\n";
    let responses = "```jsonc\n{\"a\": {\"roots\": [/* none */]}}\n```\n";
    let interim = "```json\n{\"resultType\": \"input_required\", \"inputRequests\": {}}\n```\n";
    let document = Document::new(&format!("{requests}{responses}{interim}"), "sep-2322");
    let types = ["InputRequests", "InputResponses", "InputRequiredResult"];
    assert_eq!(document.rows().into_iter().map(|(_, type_name, _)| type_name).collect::<Vec<_>>(), types);
    assert_eq!(document.rows()[..2], [row(2, "InputRequests", "passed"), row(8, "InputResponses", "passed")]);
}

#[test]
fn an_answer_is_of_the_kind_that_was_asked_for() {
    let asked = r#"{"a": {"method": "roots/list"}, "b": {"method": "com.example/approval", "params": {}}}"#;
    let answers = r#"{"a": {"action": "accept"}, "b": {"by": "anybody"}}"#;
    let findings = Document::new(&fenced(&[asked, answers]), "2026-07-28").findings();
    assert_eq!(findings, ["5: $.a.action: no type names this member", "5: $.a.roots: required, but absent"]);
}

#[test]
fn what_is_not_recognised_is_never_passed_over() {
    let document = Document::new(&fenced(&["[]", "{\"weather\": \"fair\"}", "\"params\": {}"]), "sep-2322");
    assert_eq!(
        document.findings(),
        [
            "2: $: not an object, so not a message or a map of inputs",
            "5: $: neither a message nor a map of inputs",
            "8: $.params: it matches no type",
        ]
    );
}

#[test]
fn a_typo_is_found_with_its_line_also_inside_a_union() {
    let text = "```json\n{\n  \"a\": {\n    \"method\": \"elicitation/create\",\n    \"params\": {\n      \"mesage\": \"m\",\n      \
                \"requestedSchema\": {\"type\": \"object\", \"properties\": {}}\n    }\n  }\n}\n```\n";
    let (passed, report) = Document::new(text, "2026-07-28").validate(&[]);
    assert!(!passed);
    assert!(report.contains("document.md:6: $.a.params.mesage: no type names this member"), "{report}");
    assert!(report.contains("document.md:5: $.a.params.message: required, but absent"), "{report}");
}

#[test]
fn in_a_block_that_says_json_comments_and_trailing_commas_are_found_and_the_rest_is_judged() {
    let text = "{\n\"jsonrpc\": \"2.0\", // a \"comment\"\n\"id\": 1,\n\"method\": \"tools/call\",\n\"params\": {\"name\": \"a // b\",},\n\"more\": 1,\n}";
    let findings = Document::new(&fenced(&[text]), "sep-2322").findings();
    assert_eq!(
        findings,
        [
            "3: $: JSON has no comments: // a \"comment\"",
            "6: $.params.name: a trailing comma follows it, which JSON does not have",
            "7: $.more: a trailing comma follows it, which JSON does not have",
            "7: $.more: no type names this member",
        ]
    );
    let relaxed = fenced(&[text]).replace("```json\n", "```jsonc\n");
    assert_eq!(Document::new(&relaxed, "sep-2322").findings(), ["7: $.more: no type names this member"]);
}

#[test]
fn a_duplicate_key_is_found() {
    let twice = CALL.replace(r#""id": 1"#, r#""id": 1, "id": 2"#);
    assert_eq!(Document::new(&fenced(&[&twice]), "sep-2322").findings(), ["2: $.id: appears twice in its object"]);
}

#[test]
fn a_known_mistake_passes_and_the_report_says_why() {
    let text = format!("Keys are client-chosen.\n{}", fenced(&[&CALL.replace("params", "parms")]));
    let errata = json!([
        { "kind": "json", "block": 1, "path": "$.params", "says": "absent", "reason": "It is misspelt." },
        { "kind": "json", "block": 1, "path": "$.parms", "reason": "It is misspelt." },
        { "kind": "prose", "text": "client-chosen", "reason": "The server chooses." },
    ]);
    let document = Document::new(&text, "sep-2322").with_errata(&errata);
    let (passed, report) = document.validate(&[]);
    assert!(passed, "{report}");
    assert!(report.contains("erratum: It is misspelt."), "{report}");
    assert!(report.contains("document.md:1: \"client-chosen\"\n    erratum: The server chooses."), "{report}");
    assert_eq!(document.rows(), [row(3, "CallToolRequest", "erratum")]);
}

#[test]
fn an_erratum_that_matches_nothing_fails() {
    for stale in [
        json!({ "kind": "json", "block": 1, "path": "$.id", "reason": "mended" }),
        json!({ "kind": "json", "block": 7, "says": "absent", "reason": "gone" }),
        json!({ "kind": "prose", "text": "client-chosen", "reason": "mended" }),
    ] {
        let (passed, report) = Document::new(&fenced(&[CALL]), "sep-2322").with_errata(&json!([stale])).validate(&[]);
        assert!(!passed && report.contains("FAILED: erratum that matches nothing: "), "{report}");
    }
}

#[test]
fn a_finding_that_is_not_listed_fails_beside_one_that_is() {
    let text = fenced(&[&CALL.replace("params", "parms")]);
    let errata = json!([{ "kind": "json", "block": 1, "path": "$.parms", "reason": "known" }]);
    let (passed, report) = Document::new(&text, "sep-2322").with_errata(&errata).validate(&[]);
    assert!(!passed && report.contains("FAILED: block 1"), "{report}");
}

#[test]
fn errata_that_would_cover_anything_are_refused() {
    let errata = json!([{ "kind": "json", "block": 1, "reason": "anything" }]);
    let (passed, report) = Document::new("", "sep-2322").with_errata(&errata).validate(&[]);
    assert!(!passed && report.contains("block 1 names neither a path nor what the finding says"), "{report}");
}

#[test]
fn a_document_without_json_passes_and_says_so() {
    let (passed, report) = Document::new("Only words.\n", "2026-07-28").validate(&[]);
    assert!(passed && report.contains("no JSON blocks"), "{report}");
}

#[test]
fn what_is_not_there_is_said_clearly() {
    let (passed, report) = validate(&["--markdown", "no/such/file.md", "--revision", "sep-2322"]);
    assert!(!passed && report.contains("error: could not read no/such/file.md: No such file"), "{report}");
    let (passed, report) = validate(&["--markdown", "README.md"]);
    assert!(!passed && report.contains("--revision"), "{report}");
    let document = Document::new("", "sep-2322");
    let (passed, report) = document.validate(&["--errata", "no/such/errata.json"]);
    assert!(!passed && report.contains("could not read the errata no/such/errata.json"), "{report}");
}

/// The founding documents are not part of the repository, and may lie beside it.
const FOUNDING: [(&str, &str); 5] = [
    ("000_0a6727d2f06c7c38.txt", "draft-2026-02"),
    ("001_f57028319ed49686.txt", "sep-2322"),
    ("002_71f1637153b8af92.txt", "draft-2026-02"),
    ("003_cafc51ed4b306d28.txt", "2026-07-28"),
    ("004_72497075a3203cf3.txt", "2026-07-28"),
];

fn founding_documents() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/seeds");
    if !folder.is_dir() {
        println!("skipped: the founding documents are not here");
    }
    folder.is_dir().then_some(folder)
}

#[test]
fn the_founding_documents_have_no_mistakes_but_the_known_ones() {
    let Some(folder) = founding_documents() else { return };
    for (name, revision) in FOUNDING {
        let (passed, report) = validate(&["--markdown", &folder.join(name).to_string_lossy(), "--revision", revision]);
        assert!(passed, "{report}");
    }
}

#[test]
fn a_typo_in_a_copy_of_a_founding_document_is_found_with_its_line() {
    let Some(folder) = founding_documents() else { return };
    let copies = TempDir::new().expect("a temporary folder");
    for (name, revision, line, right, wrong) in [
        ("000_0a6727d2f06c7c38.txt", "draft-2026-02", 456, "\"message\"", "\"mesage\""),
        ("001_f57028319ed49686.txt", "sep-2322", 646, "inputResponses", "inputResponse"),
        ("001_f57028319ed49686.txt", "sep-2322", 1144, "content", "contents"),
        ("004_72497075a3203cf3.txt", "2026-07-28", 129, "requestState", "requestStat"),
    ] {
        let text = fs::read_to_string(folder.join(name)).expect("a founding document");
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines[line - 1] = lines[line - 1].replace(right, wrong);
        // The name tells which errata apply.
        let copy = copies.path().join(name);
        fs::write(&copy, lines.join("\n")).expect("a copy");
        let (passed, report) = validate(&["--markdown", &copy.to_string_lossy(), "--revision", revision]);
        assert!(!passed && report.contains(&format!("{name}:{line}: ")), "{report}");
    }
}
