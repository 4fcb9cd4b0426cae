//! `mrtr resume`: continues a saved call, in another process.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use mrtr::PendingCall;
use mrtr::schema::Printable;

use crate::answering::{AnsweringOptions, WhenAsked};
use crate::conversation::{Conversation, Ended, OutputOptions, explained, is_refused, no_such_task};
use crate::failure::Failure;
use crate::kept::Kept;
use crate::saved::{SaveTo, SavedCall};
use crate::server::{ReachOptions, Target};
use crate::shown::{QUIET, styled};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The file of the saved call. It is removed once the call is done
    file: PathBuf,
    /// Call the server at this URL: give its name and password again, or, with --trust-server, a new address
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Send the call's state and answers to this server, although the call began at another
    #[arg(long)]
    trust_server: bool,
    /// End the task that the call has become, and remove the file
    #[arg(long)]
    cancel: bool,
    /// Keep the file when the call is done
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
    let Options { file, url, trust_server, cancel, keep, answering, reach, output } = options;
    let (saved, held) = SavedCall::take(&file)?;
    let tool = saved.tool.clone();
    let target = url.map_or_else(|| saved.target.clone(), Target::Url);
    let conversation = Conversation::begin(target, &reach, &answering, &output, WhenAsked::Ask)?;
    let kept = saved.into_kept(conversation.client.server());
    let kept = Kept { call: at_this_server(kept.call, &conversation, trust_server)?, ..kept };
    conversation.note_resumed();
    let shown = Printable::line(&tool).up_to(64);
    // Names the server that is about to get the answers, and the token, if there is one.
    conversation.screen().say(styled(QUIET, format_args!("resuming `{shown}` at {}", conversation.target())));
    let code = if cancel {
        self::cancel(&conversation, &kept.call).await?;
        ExitCode::SUCCESS
    } else {
        match conversation.run(&tool, kept, &SaveTo::File(file)).await? {
            Ended::Done(code) => code,
            Ended::Failed(error) => return Err(error),
        }
    };
    if !keep {
        held.remove()?;
    }
    Ok(code)
}

/// The call, if it began at this server or the person trusts this one: its state and its answers go there.
fn at_this_server(call: PendingCall, conversation: &Conversation, trusts: bool) -> Result<PendingCall> {
    let here = conversation.client.server();
    if call.server() == Some(here) {
        return Ok(call);
    }
    if trusts {
        return Ok(call.trust_other_server(here));
    }
    let began_at = call.server().map_or_else(|| "a server that it does not name".to_owned(), without_query);
    let failure = match conversation.target() {
        Target::Url(_) => Failure::new(format!("the call began at {began_at}, and this is {}", without_query(here))),
        // The identity of a program is a digest of its command line, which says nothing to a person.
        stdio @ Target::Stdio(_) => {
            Failure::new(format!("the call began at another command line than the file names: {stdio}"))
                .next("a call saved by an older mrtr names only its server's program, not the command line")
        }
    };
    bail!(failure.next("if its state and its answers may go to this server: --trust-server"));
}

/// A server as it may be shown: what comes after a question mark may be a secret.
fn without_query(server: &str) -> String {
    Printable::line(server.split(['?', '#']).next().unwrap_or(server)).to_string()
}

async fn cancel(conversation: &Conversation, call: &PendingCall) -> Result<()> {
    let Some(task) = call.task() else {
        bail!(
            Failure::usage("the call is not a task: nothing of it runs at the server")
                .next("to discard it, remove the file")
        );
    };
    conversation.client.cancel_task(task).await.map_err(|error| {
        let failure = explained(&error, conversation.target());
        if is_refused(&error) { no_such_task(failure) } else { failure }
    })?;
    conversation.screen().say(format_args!("the task {} is cancelled", Printable::line(task.id())));
    Ok(())
}

const EXAMPLES: &str = "\
Examples:
  mrtr call http://localhost:8000/mcp weather city=Oslo --save later.json
  mrtr resume later.json
  mrtr resume later.json --answers answers.json

The file says which server is called, or started: resume only files of your own. A token
is not in it, nor are a name and a password that the URL had: give them again, by --token, --header or --url.";
