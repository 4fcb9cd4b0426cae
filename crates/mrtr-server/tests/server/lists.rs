//! Lists: in the order of registration, in pages, with hints on how long they keep.

use std::num::NonZeroUsize;

use mrtr_schema::{CacheScope, CachingHints, Revision};
use mrtr_server::{Builder, Failure, Flow, Prompt, Resource, ResourceTemplate, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{builder, client};

#[derive(Deserialize, JsonSchema)]
struct Path {
    #[expect(dead_code, reason = "only its name matters")]
    path: String,
}

const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("prompts/list", "prompts", "name"),
    ("resources/list", "resources", "uri"),
    ("resources/templates/list", "resourceTemplates", "uriTemplate"),
];

/// A server with this many of everything, of names that are not in the order of the alphabet.
fn with(count: usize) -> Builder {
    let handler = async |_: Flow| Ok::<_, Failure>("done");
    (0..count).rev().fold(builder(), |builder, number| {
        let template = format!("t{number}://{{path}}");
        builder
            .tool(Tool::new(format!("n{number}"), handler))
            .prompt(Prompt::new(format!("n{number}"), handler))
            .resource(Resource::new(format!("r://n{number}"), "resource", handler))
            .resource_template(ResourceTemplate::new(template, "template", async |_: Flow, _: Path| {
                Ok::<_, Failure>("done")
            }))
    })
}

async fn page(server: &Server, method: &str, cursor: Option<&Value>) -> Value {
    let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
    client(server).request(method, params).await.response()["result"].clone()
}

fn names(page: &Value, (_, list, name): (&str, &str, &str)) -> Vec<String> {
    page[list].as_array().unwrap().iter().map(|one| one[name].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_list_is_in_the_order_of_registration_every_time() {
    let server = with(12).build().unwrap();
    for list in LISTS {
        let first = names(&page(&server, list.0, None).await, list);
        assert_eq!(first.len(), 12);
        assert!(first[0].contains("11") && first[11].contains('0'), "{first:?}");
        for _ in 0..3 {
            assert_eq!(names(&page(&server, list.0, None).await, list), first);
        }
    }
}

#[tokio::test]
async fn pages_give_every_item_once() {
    for count in [1, 2, 3, 4, 6, 7] {
        let server = with(count).page_size(NonZeroUsize::new(3).unwrap()).build().unwrap();
        let whole = with(count).build().unwrap();
        for list in LISTS {
            let (mut all, mut cursor, mut pages) = (Vec::new(), None, 0);
            loop {
                let page = page(&server, list.0, cursor.as_ref()).await;
                all.extend(names(&page, list));
                pages += 1;
                match page.get("nextCursor") {
                    Some(next) => cursor = Some(next.clone()),
                    None => break,
                }
            }
            assert_eq!(all, names(&page(&whole, list.0, None).await, list));
            assert_eq!(pages, count.div_ceil(3), "{count} of {}", list.0);
        }
    }
}

#[tokio::test]
async fn a_cursor_that_was_never_given_out_is_refused() {
    let server = with(7).page_size(NonZeroUsize::new(3).unwrap()).build().unwrap();
    let hostile = [
        json!(""),
        json!("3"),
        json!("from-"),
        json!("from-0"),
        json!("from-7"),
        json!("from-+3"),
        json!("from-03"),
        json!("from- 3"),
        json!("from--3"),
        json!("from-3 "),
        json!("FROM-3"),
        json!("from-99999999999999999999999999"),
        json!("from-18446744073709551615"),
        json!("from-٣"),
        json!(3),
        json!(null),
        json!({}),
        json!("x".repeat(100_000)),
    ];
    for (method, _, _) in LISTS {
        for cursor in &hostile {
            let error = client(&server).request(method, json!({ "cursor": cursor })).await.expect_error();
            assert_eq!(error.code.as_i64(), -32602);
            assert!(error.message.len() < 200, "{}", error.message);
        }
    }
}

#[tokio::test]
async fn ht_6_lists_say_how_long_they_keep() {
    let kept = with(1).list_caching(CachingHints::keep(60_000, CacheScope::Public)).build().unwrap();
    for (method, _, _) in LISTS {
        let page_of = page(&with(1).build().unwrap(), method, None).await;
        assert_eq!((&page_of["ttlMs"], &page_of["cacheScope"]), (&json!(0), &json!("private")));
        let page_of = page(&kept, method, None).await;
        assert_eq!((&page_of["ttlMs"], &page_of["cacheScope"]), (&json!(60_000), &json!("public")));
        for revision in [Revision::Draft202602, Revision::Sep2322] {
            let old = client(&kept).speaking(revision).request(method, json!({})).await;
            assert_eq!(old.response()["result"].get("ttlMs"), None);
        }
    }
}

#[tokio::test]
async fn a_list_of_one_kind_is_empty_where_the_server_has_the_other() {
    let handler = async |_: Flow| Ok::<_, Failure>("done");
    let server = builder().resource(Resource::new("r://one", "one", handler)).build().unwrap();
    assert_eq!(page(&server, "resources/templates/list", None).await["resourceTemplates"], json!([]));
}
