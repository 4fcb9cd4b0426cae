//! The end of an application that serves flows through rmcp, over sockets.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use mrtr_rmcp::Flows;
use mrtr_server::{Failure, Flow, Server, Tool};
use rmcp::ServerHandler;
use rmcp::model::SubscriptionFilter;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::person::{Person, call};
use crate::sites::{Lifecycle, PATIENCE, visit};

/// Has no part in subscriptions: rmcp's own method for them waits until they are cancelled.
#[derive(Clone)]
struct Beside;

impl ServerHandler for Beside {}

/// An application that ends as the page has it.
struct App {
    server: Server,
    address: SocketAddr,
    config: StreamableHttpServerConfig,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<std::io::Result<()>>,
}

async fn start() -> App {
    let wave = Tool::new("wave", async |_: Flow| Ok::<_, Failure>("hello"));
    let server = Server::builder("greeter", "1.0.0").tool(wave).build().expect("it is well made");
    let flows = Flows::new(server.clone()).beside(Beside);
    let (sessions, config) = (Arc::<LocalSessionManager>::default(), StreamableHttpServerConfig::default());
    let service = StreamableHttpService::new(move || Ok(flows.clone()), sessions, config.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
    let address = listener.local_addr().expect("it is bound");
    let (stop, stopped) = oneshot::channel();
    let serving = axum::serve(listener, Router::new().nest_service("/mcp", service));
    let serving = serving.with_graceful_shutdown(async { drop(stopped.await) });
    App { server, address, config, stop, serving: tokio::spawn(serving.into_future()) }
}

#[tokio::test]
async fn subscriptions_end_with_the_server_beside_a_handler_of_rmcps() {
    let App { server, address, stop, serving, .. } = start().await;
    let client = visit(address, &Person::answering([]), Lifecycle::Discover, None).await;
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut subscription = client.listen(filter).await.expect("it is accepted");
    // Once it has heard something, the flows do listen.
    let hearing = async {
        loop {
            server.changes().tools_changed();
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        heard = timeout(PATIENCE, subscription.next()) => assert!(heard.expect("in time").expect("it goes on").is_some()),
        () = hearing => unreachable!("it goes on"),
    }

    server.begin_shutdown();
    stop.send(()).expect("it serves");
    let ended = async { while subscription.next().await.expect("it ends in order").is_some() {} };
    timeout(PATIENCE, ended).await.expect("the client gets the last message");
    timeout(PATIENCE, serving).await.expect("in time").expect("it does not panic").expect("it serves to the end");
    timeout(PATIENCE, server.shut_down()).await.expect("in time");
}

/// The stream of a session is rmcp's, and ends with rmcp's token.
#[tokio::test]
async fn streams_of_sessions_end_with_rmcps_token() {
    let App { server, address, config, stop, serving } = start().await;
    let client = visit(address, &Person::answering([]), Lifecycle::Initialize, None).await;
    client.call_tool(call("wave", serde_json::json!({}))).await.expect("it is answered");

    server.begin_shutdown();
    stop.send(()).expect("it serves");
    config.cancellation_token.cancel();
    timeout(PATIENCE, serving).await.expect("in time").expect("it does not panic").expect("it serves to the end");
    timeout(PATIENCE, server.shut_down()).await.expect("in time");
    drop(client);
}
