//! Section "Tasks": what an operator sees and does.

use std::sync::Arc;
use std::time::Duration;

use mrtr::prelude::*;
use mrtr::server::{TaskPolicy, testing};
use mrtr::tasks::store::{MemoryTaskStore, TaskStore};
use mrtr::tasks::{End, TaskOptions, TaskView, WaitsFor};

#[data]
struct Echo {
    input: String,
}

async fn echo(flow: Flow) -> Result<String> {
    let Echo { input } = flow.elicit("echo_input", "What should be echoed?").await?;
    Ok(format!("Echo: {input}"))
}

/// Serves with probes until it is told to end, and then hands over what still runs.
async fn serve_with_tasks(server: Server, told_to_end: impl Future<Output = ()> + Send) -> Result<()> {
    Serve::new(Endpoint::anonymous(server)).probes().bind("127.0.0.1:0")?.run(told_to_end).await?;
    Ok(())
}

/// Lists what is open, and ends what has waited for a person for a week.
async fn tidy_up(tasks: &Tasks) -> Result<usize> {
    let open = tasks.view(None, 1000).await?.into_iter().filter(|task| task.end.is_none());
    let mut ended = 0;
    for task in open {
        println!("{} {} is {:?}, waits for {:?}", task.id, task.tool, task.status, task.waits_for);
        if matches!(task.waits_for, WaitsFor::Answers(_)) && task.age > Duration::from_hours(24 * 7) {
            tasks.cancel(task.id).await?;
            ended += 1;
        }
    }
    Ok(ended)
}

/// Tasks of which many run at a time, and that are kept for a week after their end.
fn busy(store: impl TaskStore) -> Tasks {
    let options = TaskOptions::default().workers(32).retention(Duration::from_hours(24 * 7));
    Tasks::with_options(Arc::new(store), options)
}

/// Runs a task again: one that was set aside, or one whose page the person has visited.
async fn run_again(tasks: &Tasks, task: &TaskView) -> Result<()> {
    match task.waits_for {
        WaitsFor::Operator => tasks.retry(task.id).await?,
        _ => tasks.wake(task.id).await?,
    }
    Ok(())
}

#[tokio::test]
async fn a_server_with_tasks_ends_when_it_is_told_to() -> Result<()> {
    let server = Server::builder("echo", "1.0.0")
        .tool(Tool::new("echo", echo).tasks(TaskPolicy::Required))
        .extension(Tasks::new(MemoryTaskStore::default()))
        .build()?;
    let serving = serve_with_tasks(server, async {});
    tokio::time::timeout(Duration::from_secs(20), serving).await?
}

#[tokio::test]
async fn an_operator_sees_what_a_task_waits_for() -> Result<()> {
    let tasks = Tasks::new(MemoryTaskStore::default());
    let server = Server::builder("echo", "1.0.0")
        .tool(Tool::new("echo", echo).tasks(TaskPolicy::Required))
        .extension(tasks.clone())
        .build()?;
    let client = testing::Client::new(&server).declaring_extension("io.modelcontextprotocol/tasks");
    let call = client.call_tool("echo", json!({})).await;
    assert_eq!(call.response()["result"]["resultType"], "task", "{}", call.response());

    let waits = async || loop {
        let task = tasks.view(None, 1).await?.pop().ok_or("there is a task")?;
        if matches!(task.waits_for, WaitsFor::Answers(_)) {
            return Ok::<_, Failure>(task);
        }
        tokio::task::yield_now().await;
    };
    let task = tokio::time::timeout(Duration::from_mins(1), waits()).await??;
    assert_eq!(task.waits_for, WaitsFor::Answers(vec!["echo_input".into()]));
    assert_eq!(tidy_up(&tasks).await?, 0, "it is a young one");

    tasks.cancel(task.id).await?;
    let ended = tasks.view(None, 1).await?.pop().ok_or("it is kept")?;
    assert_eq!(ended.end, Some(End::Cancelled));
    tasks.shut_down().await;
    Ok(())
}

/// Runs the tasks of a store beside other instances, and serves no calls itself.
async fn only_run(tasks: &Tasks, told_to_end: impl Future<Output = ()>) {
    told_to_end.await;
    tasks.shut_down().await;
}

#[tokio::test]
async fn a_task_that_an_operator_helps_runs_again() -> Result<()> {
    let tasks = busy(MemoryTaskStore::default());
    let server = Server::builder("echo", "1.0.0")
        .tool(Tool::new("echo", echo).tasks(TaskPolicy::Required))
        .extension(tasks.clone())
        .build()?;
    let client = testing::Client::new(&server).declaring_extension("io.modelcontextprotocol/tasks");
    client.call_tool("echo", json!({})).await;
    let waits_after = async |runs: u64| loop {
        let task = tasks.view(None, 1).await?.pop().ok_or("there is a task")?;
        if task.runs > runs && matches!(task.waits_for, WaitsFor::Answers(_)) {
            return Ok::<_, Failure>(task);
        }
        tokio::task::yield_now().await;
    };
    let limit = Duration::from_secs(20);
    let woken = tokio::time::timeout(limit, waits_after(0)).await??;
    run_again(&tasks, &woken).await?;
    let mut set_aside = tokio::time::timeout(limit, waits_after(woken.runs)).await??;
    // Only lost runs set a task aside; for this check, the view says so.
    set_aside.waits_for = WaitsFor::Operator;
    run_again(&tasks, &set_aside).await?;
    let runs_again = async { waits_after(set_aside.runs).await.map(drop) };
    only_run(&tasks, async {
        tokio::time::timeout(limit, runs_again).await.expect("it runs in time").expect("it is there");
    })
    .await;
    Ok(())
}
