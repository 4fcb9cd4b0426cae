//! Sessions that end, servers that are replaced, and streams that break off.

use mrtr_client::Client;
use mrtr_schema::{Era, Revision};
use mrtr_server::Legacy;
use serde_json::json;

use crate::conversations::NO_SESSION;
use crate::front::Front;
use crate::support::until;
use crate::tracker::{DONE, Outside, answering, builder, server, text};

#[tokio::test]
async fn a_session_that_is_no_more_is_begun_anew_and_the_call_is_made_once() {
    let outside = Outside::default();
    let front = Front::start(server(&outside), Some(NO_SESSION)).await;
    let client = front.client();
    client.call_tool("hello", json!({})).await.unwrap();
    front.replace(server(&outside), Some(NO_SESSION));
    let result = client.call_tool("update_work_item", json!({ "workItemId": 4522 })).await.unwrap();
    assert_eq!((text(&result), outside.links()), (DONE.to_owned(), 1));
    assert_eq!(front.count("initialize"), 2);
}

#[tokio::test]
async fn a_forced_session_is_begun_anew_as_well() {
    let front = Front::start(server(&Outside::default()), None).await;
    let client = Client::builder(front.transport()).revision(Revision::V2025_06_18).build();
    client.call_tool("hello", json!({})).await.unwrap();
    front.replace(server(&Outside::default()), None);
    client.call_tool("hello", json!({})).await.unwrap();
    assert_eq!((front.count("initialize"), front.count("server/discover")), (2, 0));
}

#[tokio::test]
async fn er_4_a_server_that_was_upgraded_is_spoken_to_in_the_modern_era() {
    for legacy in [Legacy::Sessions, Legacy::Refuse] {
        let outside = Outside::default();
        let front = Front::start(server(&outside), Some(NO_SESSION)).await;
        let client = front.client();
        client.call_tool("hello", json!({})).await.unwrap();
        assert_eq!(client.era(), Some(Era::Legacy));
        front.replace(builder(&outside).legacy(legacy).build().unwrap(), None);
        let result = client.call_tool("update_work_item", json!({ "workItemId": 4522 })).await.unwrap();
        assert_eq!((text(&result), outside.links()), (DONE.to_owned(), 1), "{legacy:?}");
        assert_eq!((client.era(), client.revision()), (Some(Era::Modern), Revision::V2026_07_28), "{legacy:?}");
    }
}

#[tokio::test]
async fn er_4_a_server_that_was_replaced_by_an_older_one_is_called_in_a_session() {
    let front = Front::start(server(&Outside::default()), None).await;
    let client = front.client();
    client.call_tool("hello", json!({})).await.unwrap();
    front.replace(server(&Outside::default()), Some(NO_SESSION));
    assert_eq!(text(&client.call_tool("hello", json!({})).await.unwrap()), "Hello");
    assert_eq!(client.era(), Some(Era::Legacy));
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_resumed_where_it_was() {
    for revision in Revision::LEGACY {
        let outside = Outside::default();
        let front = Front::start(server(&outside), None).await;
        front.cut_streams(1);
        let client = answering(Client::builder(front.transport())).revision(revision).build();
        let result = client.call_tool("update_work_item", json!({ "workItemId": 4522 })).await.unwrap();
        assert_eq!((text(&result), outside.links()), (DONE.to_owned(), 1), "{revision}");
        let resumed: Vec<_> = front.seen().into_iter().filter(|seen| seen.verb == "GET").collect();
        assert!(resumed.iter().all(|seen| seen.last_event.is_some() && seen.session.is_some()), "{resumed:?}");
        assert_eq!((resumed.len(), front.count("tools/call")), (1, 1), "{revision}");
    }
}

#[tokio::test]
async fn the_server_is_told_that_a_session_is_over() {
    let front = Front::start(server(&Outside::default()), Some(NO_SESSION)).await;
    let client = front.client();
    client.list_tools().await.unwrap();
    client.close().await;
    assert_eq!(front.count("DELETE"), 1, "it has heard of it");
    client.list_tools().await.unwrap();
    drop(client);
    until("another DELETE", || front.count("DELETE") == 2).await;
    let sessions: Vec<_> =
        front.seen().into_iter().filter(|seen| seen.verb == "DELETE").map(|seen| seen.session).collect();
    assert!(sessions[0].is_some() && sessions[0] != sessions[1]);
}
