//! The `mrtr` command: its subcommands, and the modules that run them.

mod answering;
mod arguments;
mod call;
mod conversation;
mod demo;
mod failure;
mod kept;
mod keys;
mod postgres;
mod private_file;
mod resume;
mod saved;
mod screen;
mod serve;
mod server;
mod shown;
mod state;
mod tasks;
mod tools;
mod validate;

use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use shown::print;

/// Call MCP servers from a terminal, answer what they ask, and see Multi Round-Trip Requests at work.
#[derive(Parser)]
#[command(name = "mrtr", version, after_help = FIRST_STEPS, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Call a tool and answer its questions
    Call(call::Options),
    /// Resume a saved call
    Resume(resume::Options),
    /// List the tools of a server
    Tools(tools::Options),
    /// Serve demo tools that ask the caller questions
    Serve(serve::Options),
    /// List, show, cancel and retry the tasks in a server's file
    Tasks(tasks::Options),
    /// Make and rotate the keys that seal states
    Keys(keys::Options),
    /// Create or update the tables that several servers share in PostgreSQL
    Postgres(postgres::Options),
    /// Show what a sealed state says
    State(state::Options),
    /// Check the example JSON of a specification, in a document or a folder
    Validate(validate::Options),
    /// Write a script that completes this command's words in your shell
    Completions(Completions),
    /// Run demos with real servers on this machine, and check what they claim
    #[command(after_help = TOUR_EXAMPLES)]
    Tour(mrtr_tour::Options),
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return failure::report_words(&error),
    };
    let done = match arguments.command {
        Command::Call(options) => call::run(options).await,
        Command::Resume(options) => resume::run(options).await,
        Command::Tools(options) => tools::run(options).await,
        Command::Serve(options) => serve::run(options).await,
        Command::Tasks(options) => tasks::run(options).await,
        Command::Keys(options) => keys::run(&options),
        Command::Postgres(options) => postgres::run(options).await,
        Command::State(options) => state::run(&options),
        Command::Validate(options) => validate::run(&options),
        Command::Completions(options) => completions(&options),
        Command::Tour(options) => mrtr_tour::run(options).await,
    };
    done.unwrap_or_else(|error| failure::report(&error))
}

#[derive(clap::Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
struct Completions {
    /// The shell
    shell: Shell,
}

/// Writes a script with which a shell completes the words of this command.
fn completions(options: &Completions) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "mrtr", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

const FIRST_STEPS: &str = "\
To begin with:
  mrtr tour                                               see what it is about
  mrtr serve                                              serve demo tools, in one terminal
  mrtr call http://localhost:8000/mcp weather city=Oslo   call one, in another

Exit codes: 0 done, 1 failed, 2 a mistake in the command, 3 the tool says that it failed,
4 something was asked that could not be answered here (the call is saved if it can be resumed), 130 Ctrl-C.";

const TOUR_EXAMPLES: &str = "\
Examples:
  mrtr tour
  mrtr tour --story weather
  mrtr tour --json";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  mrtr completions bash > ~/.local/share/bash-completion/completions/mrtr
  mrtr completions zsh > ~/.zfunc/_mrtr
  mrtr completions fish > ~/.config/fish/completions/mrtr.fish";
