//! `mrtr call`: calls a tool, and asks the person what the server asks.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use mrtr::schema::{Printable, Tool};

use crate::answering::{AnsweringOptions, WhenAsked};
use crate::arguments;
use crate::arguments::nearest;
use crate::conversation::{Conversation, Ended, OutputOptions, explained};
use crate::failure::{Code, Failure};
use crate::kept::Kept;
use crate::saved::{SaveTo, SavedCall};
use crate::server::{ReachOptions, Target, no_server};
use crate::shown::{QUIET, styled};

#[derive(clap::Args)]
#[command(override_usage = USAGE, after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The server's URL (unless --stdio), the tool, and its arguments
    #[arg(value_name = "URL TOOL NAME=VALUE")]
    words: Vec<String>,
    /// Start this command as the server, and talk to it over its standard input and output
    #[arg(long, value_name = "COMMAND")]
    stdio: Option<String>,
    /// The tool's arguments as one JSON object, instead of NAME=VALUE
    #[arg(long, value_name = "JSON")]
    json: Option<String>,
    /// Save the call to this new file at the first question that --answers does not answer, and exit with 4
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    #[command(flatten)]
    answering: AnsweringOptions,
    #[command(flatten)]
    reach: ReachOptions,
    #[command(flatten)]
    output: OutputOptions,
}

pub(crate) async fn run(options: Options) -> Result<ExitCode> {
    let Options { words, stdio, json, save, answering, reach, output } = options;
    let mut words = words.into_iter();
    let target = Target::take(stdio.as_deref(), &mut words)?;
    let Some(name) = words.next() else {
        // A single word may be the tool.
        return Err(if target.may_be_server() {
            Failure::usage("no tool is named").next(format!("`mrtr tools {}` lists them", target.on_command_line()))
        } else {
            no_server()
        }
        .into());
    };
    let pairs: Vec<String> = words.collect();
    if json.is_some() && !pairs.is_empty() {
        bail!(Failure::usage(format!("there are arguments both in --json and as `{}`", pairs[0])).next("give either"));
    }
    let when_asked = if save.is_some() { WhenAsked::PutDown } else { WhenAsked::Ask };
    save.as_deref().map_or(Ok(()), SavedCall::check_may_write)?;
    let conversation = Conversation::begin(target, &reach, &answering, &output, when_asked)?;
    let tool = tokio::select! {
        tool = find(&conversation, &name) => tool?,
        Ok(()) = tokio::signal::ctrl_c() => {
            conversation.screen().idle();
            bail!(Failure::new("interrupted before the tool was called").code(Code::Interrupted));
        }
    };
    let arguments = match &json {
        Some(text) => arguments::from_json(&tool, text)?,
        None => arguments::from_pairs(&tool, &pairs)?,
    };
    if let Some(names) = arguments::undeclared(&tool, &arguments) {
        let note = format_args!("`{}` declares no arguments, and is sent {names}", Printable::line(&name));
        conversation.screen().say(styled(QUIET, note));
    }
    let call = conversation.client.prepare_tool(&name, arguments)?;
    match conversation.run(&name, Kept::new(call), &save.map_or(SaveTo::Anywhere, SaveTo::New)).await? {
        Ended::Done(code) => Ok(code),
        Ended::Failed(error) => Err(error),
    }
}

/// The tool of this name.
async fn find(conversation: &Conversation, name: &str) -> Result<Tool> {
    let tools = conversation.client.list_tools().await.map_err(|error| explained(&error, conversation.target()))?;
    conversation.screen().idle();
    if let Some(tool) = tools.iter().find(|tool| tool.name == name) {
        return Ok(tool.clone());
    }
    let failure = Failure::usage(format!("there is no tool `{}` at {}", Printable::line(name), conversation.target()));
    let names = || tools.iter().map(|tool| tool.name.as_str());
    let listed: Vec<_> = names().take(MOST_LISTED).map(|name| Printable::line(name).up_to(64).to_string()).collect();
    let failure = match nearest(name, names()) {
        Some(near) => failure.next(format!("did you mean `{}`?", Printable::line(near))),
        None => failure,
    };
    let more = if tools.len() > MOST_LISTED { " …" } else { "" };
    bail!(if listed.is_empty() {
        failure.next("the server has no tools")
    } else {
        failure.next(format!("it has {}{more}", listed.join(", ")))
    });
}

const MOST_LISTED: usize = 20;

const USAGE: &str = "mrtr call [OPTIONS] <URL> <TOOL> [NAME=VALUE]...
       mrtr call [OPTIONS] --stdio <COMMAND> <TOOL> [NAME=VALUE]...";

const EXAMPLES: &str = "\
Examples:
  mrtr call http://localhost:8000/mcp weather city=Oslo
  mrtr call --stdio 'mrtr serve --stdio' book_table
  mrtr call --stdio 'mrtr serve --stdio --state-keys keys' weather city=Oslo --save later.json
  mrtr call http://localhost:8000/mcp update_work_item workItemId=4522 'fields={}' --trace
  mrtr call http://localhost:8000/mcp weather city=Oslo --save later.json; mrtr resume later.json
  echo '{\"login\": {\"user\": \"ada\"}}' | mrtr call http://localhost:8000/mcp weather city=Oslo --answers -

Values are made into what the tool takes: text, numbers, true or false, a choice; lists and objects are JSON.
The result goes to standard output, and all else to standard error. Ctrl-C at a question saves the call.
A server that --stdio starts ends with the command: to resume a call there, give it a file of keys (mrtr keys new).";
