//! A task whose server is killed while it waits for an answer.

use anyhow::{Result, bail};
use mrtr::Flow;
use mrtr::prelude::{Client, FormRequest, PendingCall, RoundOutcome, data, json};

use crate::clients::Instance;
use crate::processes::EchoProcesses;
use crate::recording::{Effects, Event, Witness};
use crate::stage::Stage;
use crate::stories::Story;

pub(super) const STORY: Story = Story {
    name: "echo-task",
    title: "The echo task, its server killed while it waits",
    premise: "A call becomes a task in an SQLite file. Its server, a process of its own, is killed with -9 while the \
              task waits for an answer, and started again.",
    cast: &["client", "echo"],
    shown: "A task that was acknowledged survives its server: while it waits it is a row in a file, and any process \
            that opens the file goes on with it. What was done before the kill was not done again.",
    play: |stage| Box::pin(play(stage)),
};

#[data]
struct Echo {
    input: String,
}

/// The handler, which runs in the other process.
pub(crate) async fn echo(flow: Flow) -> mrtr::Result<String> {
    let effects = flow.state::<Effects>();
    flow.step("listen", effects.act("clears its throat")).await?;
    let Echo { input } = flow.elicit("echo_input", "Please provide the input string to echo back").await?;
    flow.step("shout", effects.act(format!("shouts {input}"))).await?;
    Ok(format!("Echo: {input}"))
}

async fn play(stage: &Stage) -> Result<()> {
    let witness = Witness::of("echo", stage.recording().clone()).await?;
    let processes = EchoProcesses::new(stage.file("tasks.sqlite"), witness.address())?;
    let first = processes.start(stage).await?;
    let instance = Instance::new("echo", first.address);
    let balancer = stage.balancer("client", &instance)?;
    // The handler says that this client can be asked; here the answer is given by hand.
    let client = balancer.client().on_elicit(async |form: FormRequest| form.decline()).build();

    let mut call = first_question(&client).await?;
    stage.kill(first.id).await?;
    stage.recording().add(Event::Stopped { at: "echo", what: format!("kill -9 {}", first.id) });
    let was_gone = instance.is_gone().await;
    let second = processes.start(stage).await?;
    let what = format!("started again as process {}", second.id);
    stage.recording().add(Event::Started { at: "echo", what });
    balancer.point_to(&Instance::new("echo", second.address))?;
    call.accept("echo_input", &json!({ "input": "Hello World!" }))?;
    let result = client.resume(call).await?;

    let seen = (was_gone, first.id != second.id);
    stage.claim("the process was gone, and another one went on", seen, (true, true));
    let calls = stage.recording().sent_by("client");
    let calls = calls.iter().filter(|call| call.says.starts_with("tools/call")).count();
    stage.claim("the tool was called once, and not again after the kill", calls, 1);
    let expected = ["clears its throat", "shouts Hello World!"];
    stage.claim("each step was done once, before and after the kill", stage.recording().effects(), expected);
    stage.claim("the caller got the echo", result.text(), "Echo: Hello World!");
    Ok(())
}

/// Follows the task until it asks.
async fn first_question(client: &Client) -> Result<PendingCall> {
    let mut round = client.call_tool_once("echo", json!({})).await?;
    loop {
        round = match round {
            RoundOutcome::Asked(call) => return Ok(call),
            RoundOutcome::Task(call, pause) => {
                tokio::time::sleep(pause).await;
                client.advance(call).await?
            }
            other => bail!("the call is no task: {other:?}"),
        };
    }
}
