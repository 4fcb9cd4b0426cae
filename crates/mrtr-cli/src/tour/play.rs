//! Playing stories, one after the other, until the last one or until the tour is told to end.

use std::pin::pin;

use anyhow::{Context, Result};
use serde::Serialize;

use super::claims::Claim;
use super::recording::{Event, Recording, Screen};
use super::report;
use super::stage::Stage;
use super::stories::Story;

/// A story that was played.
#[derive(Serialize)]
pub(crate) struct Played {
    #[serde(flatten)]
    pub(crate) story: &'static Story,
    pub(crate) events: Vec<Event>,
    pub(crate) claims: Vec<Claim>,
    /// Why it did not come to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// The tour was told to end. What it had started is gone.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl Played {
    /// Whether the story came to its end, and everything that it claims is so.
    pub(crate) fn holds(&self) -> bool {
        self.failures().next().is_none()
    }

    /// What went wrong, a line each.
    pub(crate) fn failures(&self) -> impl Iterator<Item = String> {
        let name = self.story.name;
        let broken = self.claims.iter().filter(|claim| !claim.holds).map(move |claim| {
            format!("{name}: the claim `{}` failed: {}", claim.claim, claim.problem.as_deref().unwrap_or_default())
        });
        broken.chain(self.error.iter().map(move |error| format!("{name}: {error}")))
    }
}

/// Plays these stories, and draws them if there is a screen. One that fails does not keep the others from being played.
pub(crate) async fn play(
    stories: &[&'static Story],
    screen: Option<&Screen>,
    interrupt: impl Future<Output = ()>,
) -> Result<Vec<Played>, Interrupted> {
    let mut interrupt = pin!(interrupt);
    let mut played = Vec::new();
    for (number, story) in (1..).zip(stories) {
        if let Some(screen) = screen {
            report::heading(number, story, screen);
        }
        let recording = Recording::begin(story.cast, screen);
        let one = play_one(story, recording, interrupt.as_mut()).await?;
        if let Some(screen) = screen {
            report::conclusion(&one, screen);
        }
        played.push(one);
    }
    Ok(played)
}

/// Plays a story. However it ends, what it had started is gone then.
pub(crate) async fn play_one(
    story: &'static Story,
    recording: Recording,
    interrupt: impl Future<Output = ()>,
) -> Result<Played, Interrupted> {
    let stage = match Stage::new(recording) {
        Ok(stage) => stage,
        Err(error) => return Ok(failed(story, &error)),
    };
    let ended = tokio::select! {
        ended = (story.play)(&stage) => Some(ended.context("the story did not come to its end")),
        () = interrupt => None,
    };
    let closed = stage.close().await;
    match (ended, closed) {
        (None, _) => Err(Interrupted),
        (Some(ended), Ok((events, claims))) => {
            let error = ended.err().map(|error| format!("{error:#}"));
            Ok(Played { story, events, claims, error })
        }
        (_, Err(error)) => Ok(failed(story, &error)),
    }
}

fn failed(story: &'static Story, error: &anyhow::Error) -> Played {
    Played { story, events: Vec::new(), claims: Vec::new(), error: Some(format!("{error:#}")) }
}
