//! What reading promises: nothing lost, nothing guessed, nothing ambiguous, and errors that name their path.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use mrtr_schema::{
    CallTool, CallToolParams, CallToolResult, ClientCapabilities, ContentBlock, InputRequest, InputRequests,
    InputRequiredResult, InputResponses, Json, JsonObject, ListTools, Number, PaginatedParams, Reply, Request,
    RequestId, RequestMeta, RequestState, Response, ResultType, Revision, SamplingMessage, Tool, Wire,
};

const DRAFT: Revision = Revision::Draft202602;
const SEP: Revision = Revision::Sep2322;
const PUBLISHED: Revision = Revision::Published;

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
    assert!(request.to_json(SEP).unwrap_err().to_string().contains("is not an input of sep-2322"));
    assert!(refusal::<InputRequest>(r#"{"method": "elicitation/ask"}"#, PUBLISHED).starts_with("$.method: "));
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
    type ToolReply = Reply<CallToolResult>;
    let absent = r#"{"content": [], "inputRequests": {}}"#;
    assert!(matches!(ToolReply::from_json(absent, PUBLISHED.lenient()), Ok(Reply::Complete(_))));
    assert_eq!(refusal::<ToolReply>(absent, PUBLISHED), "$.resultType: required, but absent");
    let task = r#"{"resultType": "task", "taskId": "t"}"#;
    let Ok(Reply::Extension(result)) = ToolReply::from_json(task, PUBLISHED.strict()) else { panic!("an extension's") };
    assert_eq!(result.result_type.as_str(), "task");
    assert!(result.extra.get("taskId").is_some());
    assert!(refusal::<ToolReply>(task, SEP).starts_with("$.resultType: `task` is not one of"));
    assert!(ResultType::from_json(r#""done""#, SEP.strict()).is_err());
    let result = CallToolResult::new([ContentBlock::text("done")]);
    assert!(result.to_json(PUBLISHED).unwrap().starts_with(r#"{"resultType":"complete","#));
    assert!(result.to_json(DRAFT).unwrap().starts_with(r#"{"content":"#));
}

#[test]
fn ty_5_in_the_draft_an_interim_result_is_told_by_its_fields() {
    type ToolReply = Reply<CallToolResult>;
    assert!(matches!(ToolReply::from_json(r#"{"requestState": ""}"#, DRAFT.strict()), Ok(Reply::InputRequired(_))));
    assert!(matches!(ToolReply::from_json(r#"{"content": []}"#, DRAFT.strict()), Ok(Reply::Complete(_))));
    let page = r#"{"requestState": "s", "inputResponses": {}}"#;
    let params = PaginatedParams::from_json(page, DRAFT.strict()).unwrap();
    assert_eq!(params.request_state, Some(RequestState::new("s")));
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
        (r#"{"name":"x","inputResponses":{"k":{},"k":{}}}"#, "$.inputResponses.k"),
        (r#"{"name":"x","_meta":{"progressToken":1,"progressToken":2}}"#, "$._meta.progressToken"),
    ] {
        assert_eq!(refusal::<CallToolParams>(text, SEP), format!("{path}: stands twice in its object"), "{text}");
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
