//! Resources: at one URI or at all of a template, read at once or over several rounds.

use mrtr_schema::content::{BlobResourceContents, ResourceContents, TextResourceContents};
use mrtr_schema::resources::ReadResourceResult;
use mrtr_schema::{CacheScope, CachingHints, Revision};
use mrtr_server::{BuildError, Failure, Flow, ProtocolError, Resource, ResourceTemplate, Server, TemplateError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{builder, client, name, three_names};

#[derive(Deserialize, JsonSchema)]
struct Bug {
    id: u64,
}

#[derive(Deserialize, JsonSchema)]
struct File {
    path: String,
}

async fn bug(_: Flow, bug: Bug) -> Result<String, Failure> {
    if bug.id == 404 {
        Err(ProtocolError::resource_not_found("no such bug"))?;
    }
    Ok(format!("Bug #{}", bug.id))
}

async fn file(_: Flow, file: File) -> Result<String, Failure> {
    Ok(file.path)
}

fn server() -> Server {
    builder()
        .resource(
            Resource::new("test://text", "text", async |_: Flow| Ok::<_, Failure>("words")).mime_type("text/plain"),
        )
        .resource(Resource::new("test://bytes", "bytes", async |_: Flow| Ok::<_, Failure>(vec![1_u8, 2, 3])))
        .resource(Resource::new("bugs://7/data", "special", async |_: Flow| Ok::<_, Failure>("the special one")))
        .resource_template(ResourceTemplate::new("bugs://{id}/data", "bug", bug).mime_type("text/markdown"))
        .resource_template(ResourceTemplate::new("names://{path}", "names", async |flow: Flow, file: File| {
            Ok::<_, Failure>(format!("{}: {}", file.path, three_names(&flow).await?))
        }))
        .build()
        .unwrap()
}

/// The contents of the first part of a result.
async fn read(server: &Server, uri: &str) -> Value {
    let read = client(server).read_resource(uri).await;
    read.expect_result::<ReadResourceResult>();
    read.response()["result"]["contents"][0].clone()
}

#[tokio::test]
async fn contents_say_where_they_are_and_of_which_type() {
    let server = server();
    let text = json!({ "uri": "test://text", "mimeType": "text/plain", "text": "words" });
    assert_eq!(read(&server, "test://text").await, text);
    assert_eq!(read(&server, "test://bytes").await, json!({ "uri": "test://bytes", "blob": "AQID" }));
    let bug = json!({ "uri": "bugs://12/data", "mimeType": "text/markdown", "text": "Bug #12" });
    assert_eq!(read(&server, "bugs://12/data").await, bug);
}

#[tokio::test]
async fn a_resource_comes_before_a_template_that_its_uri_fits() {
    assert_eq!(read(&server(), "bugs://7/data").await["text"], "the special one");
}

#[tokio::test]
async fn contents_written_by_hand_stay_as_they_are() {
    let several = async |_: Flow| {
        let mut text = TextResourceContents::new("test://elsewhere", "words");
        text.mime_type = Some("text/html".into());
        let blob = BlobResourceContents::new("test://blob", "AQID");
        Ok::<_, Failure>(vec![ResourceContents::Text(text), ResourceContents::Blob(blob)])
    };
    let server =
        builder().resource(Resource::new("test://all", "all", several).mime_type("text/plain")).build().unwrap();
    let read = client(&server).read_resource("test://all").await;
    let expected = json!([
        { "uri": "test://elsewhere", "mimeType": "text/html", "text": "words" },
        { "uri": "test://blob", "blob": "AQID" },
    ]);
    assert_eq!(read.response()["result"]["contents"], expected);
}

#[tokio::test]
async fn sv_1_a_flow_in_a_template_completes_three_rounds() {
    let mut read = client(&server()).read_resource("names://team").await;
    for (key, answer) in [("first", "Ada"), ("second", "Grace"), ("third", "Edsger")] {
        read.expect_asked(&[key]);
        read = read.accept(key, name(answer)).at(&server()).send().await;
    }
    assert_eq!(read.response()["result"]["contents"][0]["text"], "team: Ada, Grace, Edsger");
}

#[tokio::test]
async fn sv_6_a_state_of_one_uri_is_refused_at_another() {
    let asked = client(&server()).read_resource("names://team").await.accept("first", name("Ada"));
    let moved = asked.with_params(|params| params["uri"] = json!("names://other")).send().await;
    assert_eq!(moved.expect_error().code.as_i64(), -32602);
}

#[tokio::test]
async fn what_is_not_there_is_named_in_each_revisions_way() {
    let missing = ["test://nothing", "bugs://404/data", "bugs://seven/data", "bugs://-1/data", "", "not a uri", "%"];
    for uri in missing {
        for (revision, code) in
            [(Revision::V2026_07_28, -32602), (Revision::Sep2322, -32002), (Revision::Draft202602, -32002)]
        {
            let error = client(&server()).speaking(revision).read_resource(uri).await.expect_error();
            let data: Value = error.data.unwrap().to().unwrap();
            assert_eq!((error.code.as_i64(), data), (code, json!({ "uri": uri })), "{uri} in {revision}");
        }
    }
}

#[tokio::test]
async fn ht_6_what_was_read_says_how_long_it_keeps() {
    let for_a_minute = CachingHints::keep(60_000, CacheScope::Public);
    let by_itself = async |_: Flow| {
        let mut result = ReadResourceResult::new([ResourceContents::Text(TextResourceContents::new("", "words"))]);
        result.caching.ttl_ms = Some(5);
        Ok::<_, Failure>(result)
    };
    let server = builder()
        .resource(Resource::new("test://plain", "plain", async |_: Flow| Ok::<_, Failure>("words")))
        .resource(Resource::new("test://kept", "kept", async |_: Flow| Ok::<_, Failure>("words")).caching(for_a_minute))
        .resource(Resource::new("test://own", "own", by_itself))
        .build()
        .unwrap();
    for (uri, ttl, scope) in
        [("test://plain", 0, "private"), ("test://kept", 60_000, "public"), ("test://own", 5, "private")]
    {
        let read = client(&server).read_resource(uri).await;
        let result = &read.response()["result"];
        assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(ttl), &json!(scope)), "{uri}");
    }
    let old = client(&server).speaking(Revision::Sep2322).read_resource("test://kept").await;
    assert_eq!(old.response()["result"].get("ttlMs"), None);
}

#[tokio::test]
async fn a_variable_is_what_stands_between_and_is_decoded() {
    let cases = [
        ("f://{path}", "f://a", Some("a")),
        ("f://{path}", "f://", None),
        ("f://{path}", "f://a/b", None),
        ("f://{path}", "g://a", None),
        ("f://{path}", "F://a", None),
        ("f://{path}", "f://a%20b%C3%A9", Some("a bé")),
        ("f://{path}", "f://a%2Fb", Some("a/b")),
        ("f://{path}", "f://%2e%2e", Some("..")),
        ("f://{path}", "f://%", None),
        ("f://{path}", "f://%4", None),
        ("f://{path}", "f://%zz", None),
        ("f://{path}", "f://%+1", None),
        ("f://{path}", "f://%ff", None),
        ("f://{path}", "f://é", Some("é")),
        ("f://{path}", "f://a?b#c", Some("a?b#c")),
        ("f://{+path}", "f://a/b/c", Some("a/b/c")),
        ("f://{+path}", "f:///", Some("/")),
        ("f://{+path}/raw", "f://a/raw/b/raw", Some("a/raw/b")),
        ("f://{+path}/raw", "f:///raw", None),
        ("f://{path}.txt", "f://a.txt.txt", Some("a.txt")),
        ("f://{path}.txt", "f://.txt", None),
        ("f://{path}.txt", "f://a.txt.md", None),
        ("f://{path}", "f://a\nb", Some("a\nb")),
    ];
    for (template, uri, expected) in cases {
        let server = builder().resource_template(ResourceTemplate::new(template, "file", file)).build().unwrap();
        let read = client(&server).read_resource(uri).await;
        let text = read.response()["result"]["contents"][0]["text"].as_str();
        assert_eq!(text, expected, "{uri} of {template}: {}", read.response());
    }
}

#[tokio::test]
async fn several_variables_are_told_apart() {
    #[derive(Deserialize, JsonSchema)]
    struct Parts {
        owner: String,
        name: String,
        path: String,
    }
    let parts = async |_: Flow, parts: Parts| Ok::<_, Failure>([parts.owner, parts.name, parts.path].join("|"));
    let template = ResourceTemplate::new("repo://{owner}/{name}-x/{+path}", "file", parts);
    let server = builder().resource_template(template).build().unwrap();
    for (uri, expected) in [
        ("repo://ada/engine-x/src/main.rs", Some("ada|engine|src/main.rs")),
        ("repo://ada/-x-x/a", Some("ada|-x|a")),
        ("repo://ada//a", None),
        ("repo://ada/engine/a", None),
    ] {
        let read = client(&server).read_resource(uri).await;
        assert_eq!(read.response()["result"]["contents"][0]["text"].as_str(), expected, "{uri}");
    }
}

#[tokio::test]
async fn the_first_of_several_templates_reads() {
    let one = ResourceTemplate::new("f://a/{path}", "first", async |_: Flow, _: File| Ok::<_, Failure>("first"));
    let other = ResourceTemplate::new("f://{+path}", "second", async |_: Flow, _: File| Ok::<_, Failure>("second"));
    let server = builder().resource_template(one).resource_template(other).build().unwrap();
    assert_eq!(read(&server, "f://a/b").await["text"], "first");
    assert_eq!(read(&server, "f://a/b/c").await["text"], "second");
}

#[test]
fn what_cannot_be_matched_is_no_template() {
    let cases = [
        ("f://{", TemplateError::Unbalanced),
        ("f://}", TemplateError::Unbalanced),
        ("f://{a", TemplateError::Unbalanced),
        ("f://{}", TemplateError::Variable(String::new())),
        ("f://{?a}", TemplateError::Variable("?a".into())),
        ("f://{a*}", TemplateError::Variable("a*".into())),
        ("f://{a}{b}", TemplateError::Adjacent("b".into())),
        ("f://{a}/{a}", TemplateError::Duplicate("a".into())),
    ];
    for (template, reason) in cases {
        let built = builder().resource_template(ResourceTemplate::new(template, "file", file)).build();
        let Err(BuildError::UriTemplate { reason: found, .. }) = built else { panic!("{template}: {built:?}") };
        assert_eq!(found, reason, "{template}");
    }
}

#[test]
fn two_resources_of_one_uri_are_a_mistake() {
    let resource = || Resource::new("test://one", "one", async |_: Flow| Ok::<_, Failure>("one"));
    let built = builder().resource(resource()).resource(resource()).build();
    assert!(matches!(built, Err(BuildError::DuplicateUri { what: "resources", .. })));
}
