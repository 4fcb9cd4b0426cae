//! `#[data]` alone is what a form, arguments, the value of a step and structured output need; and `Debug` goes with it.
#![cfg(all(feature = "server", feature = "testing"))]

use mrtr::prelude::*;
use mrtr::server::testing::Client;

#[data]
struct Bug {
    id: u64,
}

#[data]
#[derive(Debug, PartialEq)]
struct Below {
    severity: Severity,
}

#[derive(Debug, PartialEq)]
#[data]
struct Above {
    reason: String,
}

#[data]
#[derive(Debug, PartialEq)]
enum Severity {
    Low,
    High,
}

async fn report(flow: Flow, bug: Bug) -> Result<Structured<Above>> {
    let Below { severity } = flow.elicit("severity", "How bad is it?").await?;
    let above: Above = flow.step("explain", async { Ok::<_, Failure>(Above { reason: "loud".into() }) }).await?;
    Ok(Structured(Above { reason: format!("#{}: {severity:?}, {}", bug.id, above.reason) }))
}

#[tokio::test]
async fn data_is_all_that_forms_arguments_steps_and_output_need() {
    let server = Server::builder("bugs", "1.0.0").tool(Tool::new("report", report)).build().expect("it can be built");
    let asked = Client::new(&server).call_tool("report", json!({ "id": 7 })).await;
    let done = asked.accept("severity", json!({ "severity": "High" })).send().await;
    assert_eq!(done.response()["result"]["structuredContent"], json!({ "reason": "#7: High, loud" }));
}

#[test]
fn debug_is_derived_above_or_below_the_attribute() {
    assert_eq!(format!("{:?}", Above { reason: "loud".into() }), r#"Above { reason: "loud" }"#);
    assert_eq!(format!("{:?}", Below { severity: Severity::Low }), "Below { severity: Low }");
}

/// Types that `#[data]` must let through: std's, those of other crates, by hand, with parameters, and in circles.
#[allow(dead_code, reason = "only their shapes matter")]
mod let_through {
    use std::borrow::Cow;
    use std::collections::{BTreeMap, HashMap};
    use std::marker::PhantomData;
    use std::num::NonZeroU8;
    use std::time::Duration;

    use mrtr::prelude::*;

    /// Another crate's, which has the traits without `#[data]`.
    #[derive(Debug, PartialEq, mrtr::serde::Serialize, mrtr::serde::Deserialize, mrtr::schemars::JsonSchema)]
    #[serde(crate = "mrtr::serde")]
    #[schemars(crate = "mrtr::schemars")]
    pub(super) struct Foreign(u8);

    pub(super) struct NoData;

    #[data]
    pub(super) struct Page<T, const N: usize = 1> {
        items: Vec<T>,
        next: Option<Box<Page<T, N>>>,
    }

    #[data]
    pub(super) struct Node {
        children: Children,
        edges: Vec<Edge>,
    }

    type Children = Vec<Node>;

    #[data]
    pub(super) enum Edge {
        To(Box<Node>),
        Named {
            name: String,
            to: Option<Box<Edge>>,
        },
        Nowhere,
        #[serde(skip)]
        Hidden(NoData),
    }

    #[data]
    pub(super) struct Borrowed<'a> {
        text: Cow<'a, str>,
        fixed: Cow<'static, str>,
    }

    #[data]
    pub(super) struct Everything {
        foreign: Option<Foreign>,
        by_name: HashMap<String, Vec<BTreeMap<String, Foreign>>>,
        pair: (u8, [NonZeroU8; 2]),
        lasts: Duration,
        hashed: HashMap<u8, Foreign, std::hash::BuildHasherDefault<std::hash::DefaultHasher>>,
        unsized_text: Box<str>,
        list: Box<[Foreign]>,
        value: Value,
        #[serde(skip)]
        skipped: Option<NoData>,
        #[serde(with = "as_text")]
        #[schemars(with = "String")]
        in_words: NoData,
        marked: PhantomData<u8>,
        #[cfg(any())]
        elsewhere: mrtr::NoSuchType,
        page: Page<Foreign>,
    }

    mod as_text {
        use mrtr::serde::{Deserialize, Deserializer, Serializer};

        use super::NoData;

        pub(super) fn serialize<S: Serializer>(_: &NoData, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_str("none")
        }

        pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NoData, D::Error> {
            String::deserialize(deserializer).map(|_| NoData)
        }
    }

    #[test]
    fn they_are_read_and_written() {
        let page: Page<u8> = serde_json::from_value(json!({ "items": [1], "next": null })).unwrap();
        assert!(page.items == [1] && page.next.is_none());
        let node: Node = serde_json::from_value(json!({ "children": [], "edges": ["Nowhere"] })).unwrap();
        assert!(node.children.is_empty() && matches!(node.edges[..], [Edge::Nowhere]));
        let of = mrtr::schemars::schema_for!(Everything);
        assert_eq!(of.get("properties").unwrap()["in_words"]["type"], "string");
        let borrowed = Borrowed { text: "a".into(), fixed: "b".into() };
        assert_eq!(serde_json::to_value(borrowed).unwrap(), json!({ "text": "a", "fixed": "b" }));
    }
}
