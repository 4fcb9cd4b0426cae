//! `mrtr completions`: a script with which a shell completes the words of this command.

use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::shown::print;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut crate::Arguments::command(), "mrtr", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

const EXAMPLES: &str = "\
Examples:
  mrtr completions bash > ~/.local/share/bash-completion/completions/mrtr
  mrtr completions zsh > ~/.zfunc/_mrtr
  mrtr completions fish > ~/.config/fish/completions/mrtr.fish";
