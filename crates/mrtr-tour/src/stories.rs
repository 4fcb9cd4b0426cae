//! The stories, told in this order; those of a kind share a file.

mod azure_devops;
pub(crate) mod echo_task;
pub(crate) mod fleet;
mod lost_reply;
mod mixed_kinds;
mod two_instances;
mod weather;

use anyhow::Result;
use futures_util::future::BoxFuture;
use mrtr_postgres_cluster::Cluster;
use serde::Serialize;

use crate::recording::Actor;
use crate::stage::Stage;

/// A story: its name, its participants and its plot.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Story {
    /// The story's name on the command line.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// The plot, which is printed before the story.
    pub(crate) premise: &'static str,
    /// The participants, from left to right.
    pub(crate) cast: &'static [Actor],
    /// The point of the story and why it matters, which is printed after it.
    pub(crate) shown: &'static str,
    #[serde(skip)]
    pub(crate) play: Play,
}

/// Plays a story on a stage, where it claims what it has shown.
pub(crate) type Play = for<'a> fn(&'a Stage) -> BoxFuture<'a, Result<()>>;

impl Story {
    /// Names what this machine lacks for it.
    pub(crate) fn lacks(&self) -> Option<&'static str> {
        (self.name == fleet::STORY.name && !Cluster::is_installed()).then_some("PostgreSQL is not installed")
    }
}

/// All stories.
pub(crate) const STORIES: [Story; 9] = [
    weather::STORY,
    azure_devops::STORY,
    two_instances::ROLLING_UPGRADE,
    two_instances::LOAD_SHEDDING,
    mixed_kinds::STORY,
    echo_task::STORY,
    lost_reply::STORY,
    weather::IN_TWO_ERAS,
    fleet::STORY,
];
