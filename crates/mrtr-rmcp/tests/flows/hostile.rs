//! Odd and hostile things: handlers that panic, many clients of one factory, requests that rmcp cannot read, sessions
//! that come and go.

use std::time::Duration;

use mrtr_rmcp::Flows;
use mrtr_server::{Failure, Flow, Server, SessionLimits, Tool};
use rmcp::model::{CallToolResponse, ClientRequest, CustomRequest, ErrorCode};
use rmcp::service::ServiceError;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::task::JoinSet;

use crate::person::{Person, call, text};
use crate::sites::{ALL, Lifecycle, PATIENCE, Way, connect, serve, serve_as, visit};

#[derive(Deserialize, JsonSchema)]
struct Word {
    word: String,
}

async fn ask(flow: Flow) -> Result<String, Failure> {
    let Word { word } = flow.elicit("word", "A word?").await?;
    Ok(word)
}

async fn fail(_: Flow) -> Result<String, Failure> {
    panic!("the password is hunter2")
}

fn server() -> Server {
    Server::builder("odd", "1.0.0")
        .tool(Tool::new("ask", ask))
        .tool(Tool::new("fail", fail))
        .build()
        .expect("it is well made")
}

fn person(word: &'static str) -> Person {
    Person::answering([("A word?", json!({ "word": word }))])
}

#[tokio::test]
async fn a_handler_that_panics_fails_alone_and_says_nothing_inside() {
    for site in ALL {
        let client = connect(Flows::new(server()), &person("hi"), site).await;
        let failed = client.call_tool(call("fail", json!({}))).await.expect("it is answered");
        assert_eq!(failed.is_error, Some(true), "{site:?}");
        assert!(!text(&failed).contains("hunter2"), "{site:?}: {}", text(&failed));
        let result = client.call_tool(call("ask", json!({}))).await.expect("the next one is answered");
        assert_eq!(text(&result), "hi", "{site:?}");
    }
}

#[tokio::test]
async fn clients_of_one_factory_get_their_own_answers() {
    let address = serve(Flows::new(server())).await;
    let mut clients = JoinSet::new();
    for (lifecycle, word) in [(Lifecycle::Discover, "a"), (Lifecycle::Initialize, "b"), (Lifecycle::Initialize, "c")] {
        clients.spawn(async move {
            let client = visit(address, &person(word), lifecycle, None).await;
            for _ in 0..10 {
                let result = client.call_tool(call("ask", json!({}))).await.expect("it is answered");
                assert_eq!(text(&result), word, "{lifecycle:?}");
            }
        });
    }
    clients.join_all().await;
}

#[tokio::test]
async fn many_calls_of_one_session_are_asked_beside_each_other() {
    for way in [Way::Streams, Way::Http] {
        let client = connect(Flows::new(server()), &person("hi"), (Lifecycle::Initialize, way)).await;
        let calls = (0..30).map(|_| client.call_tool(call("ask", json!({}))));
        for result in futures_util::future::join_all(calls).await {
            assert_eq!(text(&result.expect("it is answered")), "hi", "{way:?}");
        }
    }
}

/// A handler does not hear that a client has gone: it looks from time to time, and forgets those when another one
/// comes.
#[tokio::test]
async fn sessions_of_clients_that_have_gone_are_forgotten() {
    let server = server();
    let handler = Flows::new(server.clone());
    let address = serve(handler.clone()).await;
    for number in 0..20 {
        let client = match number % 2 {
            0 => visit(address, &person("hi"), Lifecycle::Initialize, None).await,
            _ => connect(handler.clone(), &person("hi"), (Lifecycle::Initialize, Way::Streams)).await,
        };
        let result = client.call_tool(call("ask", json!({}))).await.expect("it is answered");
        assert_eq!(text(&result), "hi", "client {number}");
        client.cancel().await.expect("it goes");
    }
    let forgotten = async {
        loop {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let client = connect(handler.clone(), &person("hi"), (Lifecycle::Initialize, Way::Streams)).await;
            client.call_tool(call("ask", json!({}))).await.expect("it is answered");
            if server.sessions().open() <= 2 {
                return;
            }
            client.cancel().await.expect("it goes");
        }
    };
    tokio::time::timeout(PATIENCE, forgotten).await.expect("they are forgotten");
}

/// A session to which no stream is open yet makes way for another; where none can, a client is told so.
#[tokio::test]
async fn there_are_never_more_sessions_than_there_may_be() {
    let limits = SessionLimits { sessions: 4, ..SessionLimits::default() };
    let server = Server::builder("odd", "1.0.0").tool(Tool::new("ask", ask)).session_limits(limits);
    let server = server.build().expect("it is well made");
    let handler = Flows::new(server.clone());
    let (mut clients, mut answered) = (Vec::new(), 0);
    for number in 0..12 {
        let client = connect(handler.clone(), &person("hi"), (Lifecycle::Initialize, Way::Streams)).await;
        match client.call_tool(call("ask", json!({}))).await {
            Ok(result) => {
                assert_eq!(text(&result), "hi", "client {number}");
                answered += 1;
            }
            Err(ServiceError::McpError(error)) => assert!(error.message.contains("too many sessions"), "{error:?}"),
            Err(error) => panic!("client {number}: {error}"),
        }
        assert!(server.sessions().open() <= 4, "client {number}: {} sessions", server.sessions().open());
        clients.push(client);
    }
    assert!(answered >= 4, "{answered} were answered");
}

#[tokio::test]
async fn what_rmcp_cannot_read_is_refused_by_the_server_and_begins_nothing() {
    for site in ALL {
        let server = server();
        let client = connect(Flows::new(server.clone()), &person("hi"), site).await;
        let strange = [
            ("tools/call", json!({ "name": 7 }), ErrorCode::INVALID_PARAMS),
            ("tools/call", json!({ "name": "ask", "arguments": [] }), ErrorCode::INVALID_PARAMS),
            ("initialize", json!({ "protocolVersion": 7 }), ErrorCode::INVALID_PARAMS),
            ("com.example/none", json!({}), ErrorCode::METHOD_NOT_FOUND),
        ];
        let sessions = server.sessions().open();
        for (method, params, code) in strange {
            let request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)));
            let answer = tokio::time::timeout(PATIENCE, client.send_request(request)).await.expect("in time");
            let Err(ServiceError::McpError(error)) = answer else { panic!("{site:?}, {method}: {answer:?}") };
            assert_eq!(error.code, code, "{site:?}, {method}: {error:?}");
        }
        assert!(server.sessions().open() <= sessions + 1, "{site:?}");
        let result = client.call_tool(call("ask", json!({}))).await.expect("it is answered");
        assert_eq!(text(&result), "hi", "{site:?}");
    }
}

/// A state is of the modern era: in a session it means nothing, and the person is asked.
#[tokio::test]
async fn a_state_that_is_brought_into_a_session_counts_for_nothing() {
    let address = serve(Flows::new(server())).await;
    let here = visit(address, &person("first"), Lifecycle::Discover, None).await;
    let asked = here.call_tool_once(call("ask", json!({}))).await.expect("it asks");
    let CallToolResponse::InputRequired(asked) = asked else { panic!("{asked:?}") };
    let mut retry = call("ask", json!({}));
    retry.request_state = asked.request_state;
    let answers = json!({ "word": { "action": "accept", "content": { "word": "smuggled" } } });
    retry.input_responses = serde_json::from_value(answers).expect("they are answers");
    let person = person("asked");
    let there = visit(address, &person, Lifecycle::Initialize, None).await;
    let result = there.call_tool(retry).await.expect("it is answered");
    assert_eq!((text(&result).as_str(), person.questions().len()), ("asked", 1));
}

/// rmcp may serve the legacy era without sessions: then a client cannot be asked, and plain tools work.
#[tokio::test]
async fn where_rmcp_keeps_no_sessions_a_tool_that_asks_is_refused_at_once() {
    let plain = Tool::new("plain", async |_: Flow| Ok::<_, Failure>("Hello"));
    let server = Server::builder("odd", "1.0.0").tool(plain).tool(Tool::new("ask", ask)).build();
    let server = server.expect("it is well made");
    let config = StreamableHttpServerConfig::default().with_legacy_session_mode(false);
    let address = serve_as(Flows::new(server.clone()), config).await;
    let client = visit(address, &person("hi"), Lifecycle::Initialize, None).await;
    for _ in 0..30 {
        let greeted = client.call_tool(call("plain", json!({}))).await.expect("it is answered");
        assert_eq!(text(&greeted), "Hello");
        let refused = tokio::time::timeout(PATIENCE, client.call_tool(call("ask", json!({})))).await;
        assert_eq!(refused.expect("at once").expect("it is answered").is_error, Some(true));
    }
    assert!(server.sessions().open() <= 4, "{} sessions of requests that are over", server.sessions().open());
}
