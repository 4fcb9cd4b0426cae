//! `mrtr resume`: a call that was put down is gone on with, in another process.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use mrtr::schema::Printable;

use crate::answering::{AnsweringOptions, WhenAsked};
use crate::conversation::{Conversation, Ended, OutputOptions, explained};
use crate::failure::Failure;
use crate::saved::{SaveTo, SavedCall, Work};
use crate::server::ReachOptions;
use crate::style::{QUIET, styled};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The file that the call was saved in. It is removed once the call is done
    file: PathBuf,
    /// Ends the task that the call has become, instead of following it
    #[arg(long)]
    cancel: bool,
    /// Keeps the file when the call is done
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    answering: AnsweringOptions,
    #[command(flatten)]
    reach: ReachOptions,
    #[command(flatten)]
    output: OutputOptions,
}

pub(crate) async fn run(options: Options) -> Result<ExitCode> {
    let Options { file, cancel, keep, answering, reach, output } = options;
    let SavedCall { target, tool, work, .. } = SavedCall::read(&file)?;
    let conversation = Conversation::begin(target, &reach, &answering, &output, WhenAsked::Ask)?;
    let shown = Printable::line(&tool).up_to(64);
    // Who is about to be sent the answers, and the token, if there is one.
    conversation.screen().say(styled(QUIET, format_args!("going on with `{shown}` at {}", conversation.target())));
    if cancel {
        self::cancel(&conversation, &work).await?;
    } else {
        match conversation.run(&tool, work, &SaveTo::File(file.clone())).await? {
            Ended::Done(code) => return remove(&file, keep).map(|()| code),
            Ended::Failed(error) => return Err(error),
        }
    }
    remove(&file, keep).map(|()| ExitCode::SUCCESS)
}

async fn cancel(conversation: &Conversation, work: &Work) -> Result<()> {
    let task = match work {
        Work::Task(task) => Some(task),
        Work::Call(call) => call.task(),
    };
    let Some(task) = task else {
        bail!(
            Failure::usage("the call is no task: nothing of it runs at the server")
                .next("to give it up, remove the file")
        );
    };
    conversation.client.cancel_task(task).await.map_err(|error| explained(&error, conversation.target()))?;
    conversation.screen().say(format_args!("the task {} is cancelled", Printable::line(task.id())));
    Ok(())
}

/// The answers in it are spent.
fn remove(file: &std::path::Path, keep: bool) -> Result<()> {
    if keep {
        return Ok(());
    }
    Ok(fs::remove_file(file)?)
}

const EXAMPLES: &str = "\
Examples:
  mrtr call http://localhost:8000/mcp weather city=Oslo --save later.json
  mrtr resume later.json
  mrtr resume later.json --answers answers.json

The file says which server is called, or started: resume only files of your own. A token is not in it; give it again.";
