//! The Azure DevOps flow on one server, by clients that send bytes: in rounds, and in sessions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mrtr_fixtures::work_item::{Update, resolve};
use mrtr_server::{Failure, Flow, Server, Tool};
use serde_json::json;

use crate::support::Site;
use crate::support::legacy::{Legacy, call};
use crate::support::message::{self, Post, retry};

/// Counts the effects outside the server.
#[derive(Clone, Default)]
struct Links(Arc<AtomicUsize>);

impl Links {
    fn link(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst)
    }

    fn made(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

async fn update_work_item(flow: Flow, update: Update) -> Result<String, Failure> {
    let links = flow.state::<Links>();
    resolve(&flow, &update, |_, _| async { Ok::<_, Failure>(links.link()) }).await
}

fn tracker(links: &Links) -> Server {
    let tool = Tool::new("update_work_item", update_work_item);
    Server::builder("tracker", "1.0.0").state(links.clone()).tool(tool).build().unwrap()
}

const DONE: &str = "Bug #4522 resolved as duplicate of #4301";

#[tokio::test]
async fn one_server_completes_the_azure_devops_flow_in_both_eras_and_links_once_each() {
    let links = Links::default();
    let site = Site::of(tracker(&links));
    let arguments = json!({ "workItemId": 4522 });
    let answers = [json!({ "resolution": "Duplicate" }), json!({ "duplicateOfId": 4301 })];

    let first = message::call("update_work_item", arguments.clone());
    let asked = site.answer(&Post::of(&first)).await.json();
    let second = retry(first, &asked, "resolution", &answers[0]);
    let asked = site.answer(&Post::of(&second)).await.json();
    let done = site.answer(&Post::of(&retry(second, &asked, "duplicate_of", &answers[1]))).await.json();
    assert_eq!((&done["result"]["content"][0]["text"], links.made()), (&json!(DONE), 1));

    for (version, made) in [("2025-11-25", 2), ("2025-06-18", 3)] {
        let client = Legacy::open(&site, version).await;
        assert_eq!(client.version, version);
        let mut events = client.stream(&call(7, "update_work_item", &arguments)).await;
        for content in &answers {
            let asked = events.next().await.unwrap();
            assert_eq!(asked["method"], "elicitation/create");
            client.accept(&asked, content).await;
        }
        let done = events.next().await.unwrap();
        assert_eq!((&done["id"], &done["result"]["content"][0]["text"]), (&json!(7), &json!(DONE)), "{done}");
        assert!(events.next().await.is_none());
        assert_eq!(links.made(), made);
    }
}
