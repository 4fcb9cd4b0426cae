//! Failures of handlers: for the model, for the caller, or for the log.

use mrtr_schema::ErrorCode;
use mrtr_server::{Failure, Flow, ProtocolError, ToolError};

use crate::support::{Effects, Log, Name, call, expect_internal};

#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("the tracker is down")]
    Down(#[source] std::io::Error),
    #[error("not for you")]
    Told(#[from] ToolError),
    #[error("not here")]
    Refused(#[source] Box<Problem>),
}

async fn fail<E: Into<Failure> + Send + 'static>(error: fn() -> E) -> (mrtr_server::testing::Conversation, Log) {
    let log = Log::start();
    let call = call(move |_: Flow| async move { Err::<String, E>(error()) }).await;
    (call, log)
}

#[tokio::test]
async fn any_other_error_is_for_the_log_with_all_its_causes() {
    let (call, log) = fail(|| Problem::Down(std::io::Error::other("connection refused"))).await;
    expect_internal(&call, &log, "the tracker is down: connection refused");
    let (call, log) = fail(|| anyhow::anyhow!("inner").context("outer")).await;
    expect_internal(&call, &log, "outer: inner");
    let (call, log) = fail(|| "a plain text").await;
    expect_internal(&call, &log, "a plain text");
    let (call, log) = fail(|| String::from("an owned text")).await;
    expect_internal(&call, &log, "an owned text");
    let (call, log) = fail(|| Box::<dyn std::error::Error + Send + Sync>::from("boxed")).await;
    expect_internal(&call, &log, "boxed");
    let (call, log) = fail(|| Problem::Refused(Box::new(Problem::Down(std::io::Error::other("deep"))))).await;
    expect_internal(&call, &log, "not here: the tracker is down: deep");
}

#[tokio::test]
async fn a_tool_error_is_for_the_model_however_it_is_wrapped() {
    let wrapped: [fn() -> Failure; 6] = [
        || ToolError::new("closed").into(),
        || anyhow::Error::new(ToolError::new("closed")).into(),
        || anyhow::Error::new(ToolError::new("closed")).context("while closing").context("again").into(),
        || anyhow::anyhow!("row 7 is locked").context(ToolError::new("closed")).into(),
        || Problem::from(ToolError::new("closed")).into(),
        || Problem::Refused(Box::new(ToolError::new("closed").into())).into(),
    ];
    for error in wrapped {
        let (call, _) = fail(error).await;
        assert_eq!(call.expect_tool_error(), "closed");
    }
}

#[tokio::test]
async fn a_protocol_error_is_for_the_caller() {
    let wrapped: [fn() -> Failure; 3] = [
        || ProtocolError::new(ErrorCode::INVALID_PARAMS, "no such item").into(),
        || anyhow::Error::new(ProtocolError::invalid_params("no such item")).context("while looking").into(),
        || anyhow::anyhow!("inner").context(ProtocolError::invalid_params("no such item")).into(),
    ];
    for error in wrapped {
        let (call, _) = fail(error).await;
        let error = call.expect_error();
        assert_eq!((error.code, &*error.message), (ErrorCode::INVALID_PARAMS, "no such item"));
    }
}

#[tokio::test]
async fn a_decline_passes_through_anyhow() {
    let call = call(async |flow: Flow| {
        let name = flow.elicit::<Name>("name", "Who?").await.map_err(anyhow::Error::from);
        anyhow::Ok(anyhow::Context::context(name, "while asking")?.name)
    })
    .await;
    assert_eq!(call.decline("name").send().await.expect_tool_error(), "`name` was declined");
}

fn panics(text: String) -> Result<String, Failure> {
    std::panic::panic_any(text)
}

#[tokio::test]
async fn a_panic_is_answered_and_logged_wherever_it_happens() {
    let log = Log::start();
    let at_once = call(|_: Flow| -> std::future::Ready<Result<String, Failure>> { panic!("at once") });
    expect_internal(&at_once.await, &log, "the handler panicked: at once");

    let later = call(async |_: Flow| {
        tokio::task::yield_now().await;
        panics(format!("later, in {} words", 4))
    });
    expect_internal(&later.await, &log, "the handler panicked: later, in 4 words");

    let in_step = call(async |flow: Flow| {
        let _ = flow.step("work", async { panics("in a step".into()) }).await;
        Ok::<_, Failure>("never")
    });
    expect_internal(&in_step.await, &log, "step `work` panicked: in a step");

    let beside = call(async |flow: Flow| {
        let beside = async { panics("beside a question".into()) };
        let _ = tokio::join!(flow.elicit::<Name>("name", "Who?").into_future(), beside);
        Ok::<_, Failure>("never")
    });
    expect_internal(&beside.await, &log, "the handler panicked: beside a question");
}

#[tokio::test]
async fn references_differ() {
    let told = Effects::default();
    for _ in 0..2 {
        told.happen(fail(|| "oops").await.0.expect_tool_error());
    }
    assert_ne!(told.all()[0], told.all()[1]);
}
