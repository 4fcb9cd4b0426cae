//! `mrtr tour`: the stories of MRTR, one after the other, on real servers.

mod balancer;
mod claims;
mod drawing;
mod effects;
mod legacy_client;
mod message;
mod play;
mod process;
mod recording;
mod relay;
mod report;
mod stage;
mod stories;

use std::process::ExitCode;

use anyhow::Result;
use clap::builder::PossibleValuesParser;

use play::{Interrupted, Played, play};
use process::EchoServer;
use recording::Screen;
use stories::{STORIES, Story};

/// Plays the founding stories of Multi Round-Trip Requests on servers of its own, over real HTTP on this machine, and
/// draws each message as it is seen. Every story checks what it claims; if a claim fails, so does the tour.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Options {
    /// Plays this story alone; may be given more than once
    #[arg(long = "story", value_name = "NAME", value_parser = PossibleValuesParser::new(STORIES.map(|story| story.name)))]
    stories: Vec<String>,
    /// Lists the stories, and plays none
    #[arg(long)]
    list: bool,
    /// Writes one JSON document: the stories with their messages, effects and claims
    #[arg(long, conflicts_with = "list")]
    json: bool,
    #[command(subcommand)]
    part: Option<Part>,
}

/// What a story starts in a process of its own.
#[derive(clap::Subcommand)]
enum Part {
    #[command(hide = true)]
    EchoServer(EchoServer),
}

pub(crate) async fn run(options: Options) -> Result<ExitCode> {
    if let Some(Part::EchoServer(server)) = options.part {
        return server.run().await.map(|()| ExitCode::SUCCESS);
    }
    let screen = Screen::new(anstream::stdout());
    if options.list {
        report::list(&screen);
        return Ok(ExitCode::SUCCESS);
    }
    let is_wanted = |story: &Story| options.stories.is_empty() || options.stories.iter().any(|name| name == story.name);
    let chosen: Vec<_> = STORIES.iter().filter(|story| is_wanted(story)).collect();
    let drawn_on = (!options.json).then_some(&screen);
    let played = match play(&chosen, drawn_on, interrupt()).await {
        Ok(played) => played,
        // What a shell says of a program that Ctrl-C has ended.
        Err(Interrupted) => return Ok(ExitCode::from(130)),
    };
    if options.json {
        screen.line(report::document(&played));
    } else {
        report::farewell(&played, &screen);
    }
    for failure in played.iter().flat_map(Played::failures) {
        eprintln!("error: {failure}");
    }
    Ok(exit_code(&played))
}

fn exit_code(played: &[Played]) -> ExitCode {
    if played.iter().all(Played::holds) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Ends when the tour is told to end: by Ctrl-C, by a platform, or by a terminal that is gone.
#[cfg(unix)]
async fn interrupt() {
    use tokio::signal::unix::{SignalKind, signal};
    let wait = |kind| async move {
        match signal(kind) {
            Ok(mut signals) => drop(signals.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = wait(SignalKind::interrupt()) => {}
        () = wait(SignalKind::terminate()) => {}
        () = wait(SignalKind::hangup()) => {}
    }
}

#[cfg(not(unix))]
async fn interrupt() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
