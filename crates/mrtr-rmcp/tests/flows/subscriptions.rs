//! Clients that want to hear of changes.

use mrtr_rmcp::Flows;
use mrtr_server::{Failure, Flow, Server, Tool};
use rmcp::model::{ServerNotification, SubscriptionFilter};

use crate::person::Person;
use crate::sites::{Lifecycle, PATIENCE, Way, connect};

fn server() -> Server {
    let greet = Tool::new("greet", async |_: Flow| Ok::<_, Failure>("Hello"));
    Server::builder("greeter", "1.0.0").tool(greet).build().expect("it is well made")
}

#[tokio::test]
async fn who_discovers_subscribes() {
    for way in [Way::Streams, Way::Http] {
        let server = server();
        let client = connect(Flows::new(server.clone()), &Person::answering([]), (Lifecycle::Discover, way)).await;
        let filter = SubscriptionFilter::builder().tools_list_changed().resources_list_changed().build();
        let mut subscription = client.listen(filter).await.expect("it is accepted");
        assert_eq!(subscription.acknowledged().resources_list_changed, None, "{way:?}: there are none");
        // The flows may not listen yet when rmcp has acknowledged for them.
        let changing = async {
            loop {
                server.changes().tools_changed();
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        let heard = tokio::select! {
            heard = tokio::time::timeout(PATIENCE, subscription.next()) => heard.expect("in time"),
            () = changing => unreachable!("it goes on"),
        };
        let heard = heard.expect("it goes on").expect("there is something");
        assert!(matches!(heard, ServerNotification::ToolListChangedNotification(_)), "{way:?}: {heard:?}");
        server.changes().end_subscriptions();
        let ended = async { while subscription.next().await.expect("it ends in order").is_some() {} };
        tokio::time::timeout(PATIENCE, ended).await.expect("in time");
    }
}

#[tokio::test]
async fn who_initializes_is_told() {
    for way in [Way::Streams, Way::Http] {
        let (server, person) = (server(), Person::answering([]));
        let client = connect(Flows::new(server.clone()), &person, (Lifecycle::Initialize, way)).await;
        assert_eq!(client.list_all_tools().await.expect("they are listed").len(), 1, "{way:?}");
        let changing = async {
            loop {
                server.changes().tools_changed();
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        let heard = tokio::select! {
            heard = person.has_heard(1) => heard,
            () = changing => unreachable!("it goes on"),
        };
        assert_eq!(heard[0], "tools", "{way:?}");
        drop(client);
    }
}
