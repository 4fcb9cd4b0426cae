//! The stories: one file each, told in this order.

mod azure_devops;
pub(crate) mod echo_task;
mod load_shedding;
mod lost_reply;
mod mixed_kinds;
mod rolling_upgrade;
mod two_eras;
mod weather;

use anyhow::Result;
use futures_util::future::BoxFuture;
use serde::Serialize;

use super::recording::Actor;
use super::stage::Stage;

/// A story: what it is called, who takes part, and how it goes.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Story {
    /// What it is called on the command line.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// What happens, told before.
    pub(crate) premise: &'static str,
    /// Who takes part, from left to right.
    pub(crate) cast: &'static [Actor],
    /// What was shown and why it matters, told after.
    pub(crate) shown: &'static str,
    #[serde(skip)]
    pub(crate) play: Play,
}

/// Plays a story on a stage. What it has shown, it claims there.
pub(crate) type Play = for<'a> fn(&'a Stage) -> BoxFuture<'a, Result<()>>;

/// All of them.
pub(crate) const STORIES: [Story; 8] = [
    weather::STORY,
    azure_devops::STORY,
    rolling_upgrade::STORY,
    load_shedding::STORY,
    mixed_kinds::STORY,
    echo_task::STORY,
    lost_reply::STORY,
    two_eras::STORY,
];
