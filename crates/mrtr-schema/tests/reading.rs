//! The promises of reading: nothing lost, nothing guessed, nothing ambiguous, and errors that name their path.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use mrtr_schema::content::Annotations;
use mrtr_schema::elicitation::ElicitResult;
use mrtr_schema::error_object::ErrorResponse;
use mrtr_schema::jsonrpc::{Request, Response};
use mrtr_schema::meta::RequestMeta;
use mrtr_schema::methods::{CallTool, ListTools};
use mrtr_schema::params::PaginatedParams;
use mrtr_schema::result::ResultType;
use mrtr_schema::roots::ListRootsRequest;
use mrtr_schema::sampling::SamplingMessage;
use mrtr_schema::tasks::{self, TaskInputResponseParams};
use mrtr_schema::tools::{CallToolParams, OutputSchema};
use mrtr_schema::{
    CallToolResult, ClientCapabilities, ContentBlock, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    Json, JsonObject, MethodResult, Number, RequestId, RequestState, Revision, Tool, Wire,
};

const DRAFT: Revision = Revision::Draft202602;
const SEP: Revision = Revision::Sep2322;
const PUBLISHED: Revision = Revision::V2026_07_28;

fn rewritten<T: Wire>(text: &str, revision: Revision) -> String {
    T::from_json(text, revision.strict()).unwrap().to_json(revision).unwrap()
}

fn refusal<T: Wire>(text: &str, revision: Revision) -> String {
    T::from_json(text, revision.strict()).expect_err(text).to_string()
}

#[test]
fn ty_1_a_response_sits_directly_under_the_key_of_its_request() {
    let responses = InputResponses::from_json(r#"{"a": {"action": "accept"}}"#, PUBLISHED.strict()).unwrap();
    assert_eq!(responses.get("a").unwrap().as_object().as_str(), r#"{"action": "accept"}"#);
    assert_eq!(refusal::<InputResponses>(r#"{"a": "accept"}"#, PUBLISHED), "$.a: expected an object, found a string");
    assert_eq!(refusal::<InputResponses>("[]", PUBLISHED), "$: expected an object, found an array");
    assert_eq!(refusal::<InputResponses>("null", PUBLISHED), "$: expected an object, found null");
}

#[test]
fn ty_2_each_revision_has_its_kinds_of_input() {
    let roots = r#"{"a": {"method": "roots/list"}}"#;
    assert_eq!(
        refusal::<InputRequests>(roots, DRAFT),
        "$.a.method: `roots/list` is not one of elicitation/create, sampling/createMessage"
    );
    assert!(InputRequests::from_json(roots, SEP.strict()).is_ok());
    let approval = r#"{"method": "com.example/approval", "params": {}}"#;
    assert!(InputRequest::from_json(approval, SEP.strict()).is_err());
    let request = InputRequest::from_json(approval, PUBLISHED.strict()).unwrap();
    assert_eq!(request.method(), "com.example/approval");
    assert!(request.to_json(SEP).unwrap_err().to_string().contains("is not an input request of sep-2322"));
    assert!(refusal::<InputRequest>(r#"{"method": "elicitation/ask"}"#, PUBLISHED).starts_with("$.method: "));
}

#[test]
fn ty_2_roots_are_not_written_in_the_draft() {
    let roots = InputRequest::from(ListRootsRequest::new());
    let mut requests = InputRequests::default();
    requests.insert("a", ListRootsRequest::new());
    let interim = InputRequiredResult::from_parts(requests.clone(), Some(RequestState::new("s"))).unwrap();
    let refused = |written: Result<String, serde_json::Error>| {
        written.is_err_and(|error| error.to_string().contains("is not an input request of draft-2026-02"))
    };
    assert!(refused(roots.to_json(DRAFT)) && refused(requests.to_json(DRAFT)) && refused(interim.to_json(DRAFT)));
    for revision in [SEP, PUBLISHED] {
        assert_eq!(roots.to_json(revision).unwrap(), r#"{"method":"roots/list"}"#);
        assert!(interim.to_json(revision).unwrap().contains("roots/list"));
    }
}

#[test]
fn ty_3_an_interim_result_is_never_empty() {
    for (revision, text) in [
        (DRAFT, "{}"),
        (DRAFT, r#"{"inputRequests": {}}"#),
        (SEP, r#"{"resultType": "input_required"}"#),
        (PUBLISHED, r#"{"resultType": "input_required", "inputRequests": {}}"#),
    ] {
        assert_eq!(
            refusal::<InputRequiredResult>(text, revision),
            "$: has neither `inputRequests` nor `requestState`",
            "{text}"
        );
    }
    assert!(InputRequiredResult::from_parts(InputRequests::default(), None).is_none());
    let shed = InputRequiredResult::from_parts(InputRequests::default(), Some(RequestState::new("s"))).unwrap();
    assert_eq!(shed.to_json(SEP).unwrap(), r#"{"resultType":"input_required","requestState":"s"}"#);
}

#[test]
fn ty_4_the_result_type_decides_and_absent_means_complete() {
    type ToolResult = MethodResult<CallToolResult>;
    let absent = r#"{"content": [], "inputRequests": {}}"#;
    assert!(matches!(ToolResult::from_json(absent, PUBLISHED.lenient()), Ok(MethodResult::Complete(_))));
    assert_eq!(refusal::<ToolResult>(absent, PUBLISHED), "$.resultType: required, but absent");
    let task = r#"{"resultType": "task", "taskId": "t"}"#;
    let Ok(MethodResult::Extension(result)) = ToolResult::from_json(task, PUBLISHED.strict()) else {
        panic!("an extension's")
    };
    assert_eq!(result.result_type.as_str(), "task");
    assert!(result.extra.get("taskId").is_some());
    assert!(refusal::<ToolResult>(task, SEP).starts_with("$.resultType: `task` is not one of"));
    assert!(ResultType::from_json(r#""done""#, SEP.strict()).is_err());
    let result = CallToolResult::new([ContentBlock::text("done")]);
    assert!(result.to_json(PUBLISHED).unwrap().starts_with(r#"{"resultType":"complete","#));
    assert!(result.to_json(DRAFT).unwrap().starts_with(r#"{"content":"#));
}

#[test]
fn ty_5_in_the_draft_an_interim_result_is_told_by_its_fields() {
    type ToolResult = MethodResult<CallToolResult>;
    assert!(matches!(
        ToolResult::from_json(r#"{"requestState": ""}"#, DRAFT.strict()),
        Ok(MethodResult::InputRequired(_))
    ));
    assert!(matches!(ToolResult::from_json(r#"{"content": []}"#, DRAFT.strict()), Ok(MethodResult::Complete(_))));
    let page = r#"{"requestState": "s", "inputResponses": {}}"#;
    let params = PaginatedParams::from_json(page, DRAFT.strict()).unwrap();
    assert_eq!(params.retry.request_state, Some(RequestState::new("s")));
}

#[test]
fn ty_6_elsewhere_the_retry_fields_are_members_of_no_meaning() {
    let page = r#"{"requestState": 5}"#;
    let params = PaginatedParams::from_json(page, SEP.strict()).unwrap();
    assert_eq!(params.extra.get("requestState").unwrap().as_str(), "5");
    assert_eq!(refusal::<PaginatedParams>(page, DRAFT), "$.requestState: expected a string, found a number");
}

#[test]
fn ty_8_unknown_members_survive_at_every_depth() {
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","task":{"ttl":60000,"x":0},"_meta":{"com.example/a":[1,{"b":null}]},"later":{"ttl":1}},"x-top":true}"#;
    assert_eq!(rewritten::<Request<CallTool>>(text, SEP), text);
    let tool =
        r#"{"name":"t","inputSchema":{"type":"object","$defs":{"a":{"$anchor":"a"}},"if":{}},"annotations":{"x":1}}"#;
    assert_eq!(rewritten::<Tool>(tool, PUBLISHED), tool);
}

#[test]
fn numbers_keep_their_value() {
    let numbers = [
        "0",
        "-0",
        "1.0",
        "1e0",
        "18446744073709551616",
        "123456789012345678901234567890",
        "0.1",
        "0.30000000000000000001",
        "1e400",
        "-1E-400",
        "9007199254740993",
    ];
    for number in numbers {
        let text = format!(r#"{{"name":"x","arguments":{{"n":[{number}]}},"extra":{number}}}"#);
        assert_eq!(rewritten::<CallToolParams>(&text, SEP), text);
        assert_eq!(Number::parse(number).unwrap().to_string(), number);
    }
    for (left, right) in [("1", "1.0"), ("10", "1e1"), ("0", "-0.0e7"), ("0.5", "5E-1"), ("1e400", "10e399")] {
        assert_eq!(Number::parse(left).unwrap(), Number::parse(right).unwrap());
    }
    for (left, right) in [("1", "-1"), ("1", "1.0000000000000000000001"), ("1e400", "1e401")] {
        assert_ne!(Number::parse(left).unwrap(), Number::parse(right).unwrap());
    }
}

#[test]
fn an_integer_may_be_spelt_as_json_schema_counts_it() {
    for (spelling, id) in [("100", 100), ("100.0", 100), ("1e2", 100), ("-0.5e1", -5), ("0.0", 0)] {
        assert_eq!(RequestId::from_json(spelling, SEP.strict()).unwrap(), RequestId::from(id), "{spelling}");
    }
    for spelling in ["1.5", "1e-1", "9223372036854775808", "1e400", "1e99999999999999999999"] {
        assert!(RequestId::from_json(spelling, SEP.strict()).is_err(), "{spelling}");
    }
}

#[test]
fn duplicate_keys_are_refused_with_their_path() {
    for (text, path) in [
        (r#"{"name":"x","name":"y"}"#, "$.name"),
        (r#"{"name":"x","arguments":{"a":{"b":1,"\u0062":2}}}"#, "$.arguments.a.b"),
        (r#"{"name":"x","unknown":[0,{"a":1,"a":1}]}"#, "$.unknown[1].a"),
        (r#"{"name":"x","arguments":{"a":[[1]],"a":2}}"#, "$.arguments.a"),
        (r#"{"name":"x","inputResponses":{"k":{},"k":{}}}"#, "$.inputResponses.k"),
        (r#"{"name":"x","_meta":{"progressToken":1,"progressToken":2}}"#, "$._meta.progressToken"),
    ] {
        assert_eq!(refusal::<CallToolParams>(text, SEP), format!("{path}: appears twice in its object"), "{text}");
    }
    assert!(Json::parse(r#"{"a":{"x":1},"b":{"x":1},"c":"a\"a","d":["a","a"]}"#).is_ok());
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(Json::parse(&nested(127)).is_ok());
    assert_eq!(Json::parse(&nested(128)).unwrap_err().to_string(), "$: nested more than 127 levels deep");
    assert!(Json::parse(&nested(1_000_000)).is_err());
}

#[test]
fn a_wrong_field_is_an_error_that_names_its_path() {
    for (text, error) in [
        (r#"{"role":"system","content":[]}"#, "$.role: `system` is not one of user, assistant"),
        (r#"{"role":"user"}"#, "$.content: required, but absent"),
        (r#"{"role":"user","content":[{"type":"text"}]}"#, "$.content[0].text: required, but absent"),
        (
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result","toolUseId":"1","content":[{"type":"image","data":1}]}]}"#,
            "$.content[1].content[0].data: expected a string, found a number",
        ),
        (r#"{"role":"user","content":{"text":"a"}}"#, "$.content.type: required, but absent"),
        (r#"{"role":"user","content":null}"#, "$.content: expected an object, found null"),
    ] {
        assert_eq!(refusal::<SamplingMessage>(text, PUBLISHED), error);
    }
    let long = format!(r#"{{"role":"{}","content":[]}}"#, "é".repeat(10_000));
    assert!(refusal::<SamplingMessage>(&long, PUBLISHED).len() < 300);
}

#[test]
fn a_member_that_a_revision_requires_is_neither_read_nor_written_without() {
    let params = CallToolParams::new("x");
    assert!(params.to_json(SEP).is_ok());
    let error = params.to_json(PUBLISHED).unwrap_err().to_string();
    assert_eq!(error, "`_meta` is required in 2026-07-28, and is not set");
    assert_eq!(refusal::<CallToolParams>(r#"{"name":"x"}"#, PUBLISHED), "$._meta: required, but absent");
    assert_eq!(
        refusal::<CallToolParams>(r#"{"name":"x","_meta":{}}"#, PUBLISHED),
        r#"$._meta["io.modelcontextprotocol/protocolVersion"]: required, but absent"#
    );
    let mut params = CallToolParams::new("x");
    params.meta = Some(RequestMeta::declaring(PUBLISHED, ClientCapabilities::new()));
    let text = params.to_json(PUBLISHED).unwrap();
    assert_eq!(CallToolParams::from_json(&text, PUBLISHED.strict()).unwrap(), params);
    assert!(params.to_json(SEP).unwrap().ends_with(r#""_meta":{}}"#), "what a revision does not have is not written");
}

#[test]
fn a_list_may_be_asked_for_without_params_until_they_carry_the_metadata() {
    let bare = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    assert_eq!(rewritten::<Request<ListTools>>(bare, SEP), bare);
    let empty = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    assert_eq!(rewritten::<Request<ListTools>>(empty, SEP), empty);
    assert_eq!(refusal::<Request<ListTools>>(bare, PUBLISHED), "$.params: required, but absent");
}

#[test]
fn caching_hints_belong_to_the_published_revision() {
    let page = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[]}}"#;
    assert_eq!(rewritten::<Response<ListTools>>(page, SEP), page);
    assert_eq!(refusal::<Response<ListTools>>(page, PUBLISHED), "$.result.ttlMs: required, but absent");
}

#[test]
fn serde_reads_and_writes_the_published_revision() {
    let result: CallToolResult = serde_json::from_str(r#"{"content":[]}"#).unwrap();
    assert_eq!(serde_json::to_value(&result).unwrap(), serde_json::json!({ "resultType": "complete", "content": [] }));
    let again: CallToolResult = serde_json::from_value(serde_json::json!({ "content": [] })).unwrap();
    assert_eq!(again, result);
}

#[test]
fn equality_of_json_is_of_meaning() {
    let same = |left: &str, right: &str| Json::parse(left).unwrap() == Json::parse(right).unwrap();
    assert!(same(r#"{"a":1,"b":["\u0041"]}"#, r#" { "b" : [ "A" ] , "a" : 1.0 } "#));
    for (left, right) in
        [("[1,2]", "[2,1]"), (r#"{"a":1}"#, r#"{"a":1,"b":1}"#), ("1", r#""1""#), ("true", "false"), ("{}", "[]")]
    {
        assert!(!same(left, right), "{left} {right}");
    }
    assert_eq!(
        JsonObject::parse(r#"{"a": 1}"#).unwrap().to::<std::collections::BTreeMap<String, u8>>().unwrap()["a"],
        1
    );
}

#[test]
fn ns_3_a_lenient_reader_keeps_what_it_does_not_know_apart() {
    let text = r#"{"resultType":"input_required","inputRequests":{
        "new":{"method":"io.modelcontextprotocol/new","params":{}},
        "approval":{"method":"com.example/approval"},
        "roots":{"method":"roots/list"}},"requestState":"s"}"#;
    assert!(InputRequiredResult::from_json(text, PUBLISHED.strict()).is_err());
    let interim = InputRequiredResult::from_json(text, PUBLISHED.lenient()).unwrap();
    let kinds: Vec<_> = interim.input_requests().map(|(key, request)| (key, request.method())).collect();
    assert_eq!(
        kinds,
        [("new", "io.modelcontextprotocol/new"), ("approval", "com.example/approval"), ("roots", "roots/list")]
    );
    assert!(matches!(interim.input_requests().next(), Some((_, InputRequest::Unknown(_)))));
    assert!(interim.to_json(PUBLISHED).is_err(), "what is not known is not sent on");
}

#[test]
fn null_means_absent_to_a_lenient_reader_where_peers_write_it() {
    let declined = r#"{"action":"decline","content":null}"#;
    assert!(ElicitResult::from_json(declined, PUBLISHED.strict()).is_err());
    assert_eq!(ElicitResult::from_json(declined, PUBLISHED.lenient()).unwrap(), ElicitResult::decline());
    let unreadable = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#;
    assert_eq!(ErrorResponse::from_json(unreadable, PUBLISHED.lenient()).unwrap().id, None);
}

#[test]
fn no_object_is_written_with_a_key_twice() {
    let result = CallToolResult::from_json(r#"{"content":[],"resultType":"complete"}"#, DRAFT.strict()).unwrap();
    assert_eq!(result.to_json(PUBLISHED).unwrap(), r#"{"resultType":"complete","content":[]}"#);
    assert_eq!(result.to_json(DRAFT).unwrap(), r#"{"content":[],"resultType":"complete"}"#);
    let mut request = Request::<CallTool>::new(1, CallToolParams::new("x"));
    request.extra.set("method", Json::of("tools/list").unwrap());
    request.params.extra.set("name", Json::of("y").unwrap());
    let text = request.to_json(SEP).unwrap();
    assert_eq!(text, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#);
}

#[test]
fn what_a_revision_does_not_have_is_not_written_in_it() {
    let task = r#"{"resultType":"task","taskId":"t"}"#;
    let read = MethodResult::<CallToolResult>::from_json(task, PUBLISHED.strict()).unwrap();
    assert!(read.to_json(PUBLISHED).is_ok());
    assert!(read.to_json(SEP).is_err() && read.to_json(DRAFT).is_err());
    let list = OutputSchema::parse(r#"{"type":"array"}"#).unwrap();
    assert!(list.to_json(PUBLISHED).is_ok() && list.to_json(SEP).is_err());
}

#[test]
fn errors_quote_a_peer_only_so_far() {
    let long = "A".repeat(1_000_000);
    let texts = [
        format!(r#"{{"{long}":"x"}}"#),
        format!(r#"{{"k":{{"a":{{"{long}":1,"{long}":2}}}}}}"#),
        format!(r#"{{"k":{{}},"{long}":7}}"#),
    ];
    for text in texts {
        let error = InputResponses::from_json(&text, PUBLISHED.strict()).unwrap_err();
        assert!(error.to_string().len() < 1_000, "{}", error.to_string().len());
    }
    let number = format!(r#"{{"priority":{}}}"#, "9".repeat(1_000_000));
    assert!(Annotations::from_json(&number, PUBLISHED.strict()).unwrap_err().to_string().len() < 1_000);
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":"{long}"}}"#);
    assert!(mrtr_schema::Envelope::parse(message.as_bytes()).unwrap_err().to_string().len() < 1_000);
}

#[test]
fn half_a_surrogate_pair_is_no_text() {
    assert!(Json::parse(r#"{"a":"\ud800"}"#).is_err());
    assert!(Json::parse(r#"{"a":"\ud83d\ude00"}"#).is_ok());
}

#[test]
fn tk_17_a_task_is_named_once_or_twice_alike() {
    let params = |text: &str| TaskInputResponseParams::from_json(text, SEP.strict()).unwrap();
    let related = r#""_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}"#;
    assert_eq!(params(&format!(r#"{{"inputResponses":{{}},{related}}}"#)).task(), Ok("a"));
    assert_eq!(params(&format!(r#"{{"inputResponses":{{}},"taskId":"a",{related}}}"#)).task(), Ok("a"));
    assert!(params(&format!(r#"{{"inputResponses":{{}},"taskId":"b",{related}}}"#)).task().is_err());
    assert!(params(r#"{"inputResponses":{}}"#).task().is_err());
}

#[test]
fn the_two_families_of_tasks_have_their_own_shapes() {
    let core = r#"{"taskId":"t","status":"working","createdAt":"c","lastUpdatedAt":"u","ttl":null}"#;
    assert_eq!(rewritten::<tasks::Task>(core, SEP), core);
    let extension = core.replace(r#""ttl""#, r#""ttlMs""#);
    assert!(tasks::extension::DetailedTask::from_json(&extension, PUBLISHED.strict()).is_ok());
    assert!(tasks::extension::DetailedTask::from_json(core, PUBLISHED.strict()).is_err());
    let completed = extension.replace("working", "completed");
    assert_eq!(refusal::<tasks::extension::DetailedTask>(&completed, PUBLISHED), "$.result: required, but absent");
    let got = format!(r#"{{"resultType":"complete","_meta":{{}},{}"#, &extension[1..]);
    let result = tasks::extension::GetTaskResult::from_json(&got, PUBLISHED.strict()).unwrap();
    assert_eq!(result.task.facts().task_id, "t");
    assert!(Json::parse(&result.to_json(PUBLISHED).unwrap()).unwrap() == Json::parse(&got).unwrap());
}
