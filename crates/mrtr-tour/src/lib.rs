//! The demos that `mrtr tour` plays on real servers.
//!
#![doc = include_str!("../README.md")]

mod clients;
mod drawing;
mod play;
mod processes;
mod recording;
mod stage;
mod stories;

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::builder::PossibleValuesParser;

use play::{Interrupted, Played, play};
use processes::{EchoServer, FleetInstance};
use recording::Screen;
use stories::{STORIES, Story};

/// Plays the founding stories of Multi Round-Trip Requests on servers of its own, over real HTTP on this machine, and
/// draws each message as it is seen. Every story checks what it claims; if a claim fails, so does the tour.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Options {
    /// Play this story alone; may be given more than once
    #[arg(long = "story", value_name = "NAME", value_parser = PossibleValuesParser::new(STORIES.map(|story| story.name)))]
    stories: Vec<String>,
    /// List the stories, and play none
    #[arg(long)]
    list: bool,
    /// Write one JSON document: the stories with their messages, effects and claims
    #[arg(long, conflicts_with = "list")]
    json: bool,
    #[command(subcommand)]
    part: Option<Part>,
}

/// The parts that a story starts in processes of their own.
#[derive(Debug, clap::Subcommand)]
enum Part {
    #[command(hide = true)]
    EchoServer(EchoServer),
    #[command(hide = true)]
    FleetInstance(FleetInstance),
}

/// Plays the stories that the options name, and returns the exit code: a failure if a claim does not hold.
pub async fn run(options: Options) -> Result<ExitCode> {
    match options.part {
        Some(Part::EchoServer(server)) => return server.run().await.map(|()| ExitCode::SUCCESS),
        Some(Part::FleetInstance(instance)) => return instance.run().await.map(|()| ExitCode::SUCCESS),
        None => {}
    }
    let screen = Screen::new(anstream::stdout());
    if options.list {
        play::list(&screen);
        return Ok(ExitCode::SUCCESS);
    }
    let is_wanted = |story: &Story| options.stories.is_empty() || options.stories.iter().any(|name| name == story.name);
    let wanted = STORIES.iter().filter(|story| is_wanted(story));
    let (chosen, left_out): (Vec<_>, Vec<_>) = wanted.partition(|story| story.lacks().is_none());
    for (story, lack) in left_out.iter().filter_map(|story: &&Story| Some((*story, story.lacks()?))) {
        if !options.stories.is_empty() {
            bail!("the story {} cannot be played: {lack}", story.name);
        }
        eprintln!("left out: the story {}, since {lack}", story.name);
    }
    let drawn_on = (!options.json).then_some(&screen);
    let played = match play(&chosen, drawn_on, interrupt()).await {
        Ok(played) => played,
        // Shells report this code for a program that Ctrl-C has ended.
        Err(Interrupted) => return Ok(ExitCode::from(130)),
    };
    if options.json {
        screen.line(play::document(&played));
    } else {
        play::farewell(&played, &screen);
    }
    for failure in played.iter().flat_map(Played::failures) {
        eprintln!("error: {failure}");
    }
    Ok(exit_code(&played))
}

fn exit_code(played: &[Played]) -> ExitCode {
    if played.iter().all(Played::holds) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Waits for a signal to end the tour: Ctrl-C, a platform's, or that of a terminal that is gone.
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
