//! Lives of tasks, from creation to end, on all sides in turns.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use clap::ValueEnum;
use mrtr_postgres::PostgresOptions;
use mrtr_postgres::testing::Cluster;

use super::queue::Queue;
use super::raw::Raw;
use crate::Scale;
use crate::measure::Spread;
use crate::report::{Figure, Target};
use crate::tasks::store::Store;
use crate::tasks::{Keeper, Phase};

/// The number of tasks that go through their lives, and how many of them do so at once.
#[derive(Clone, Copy)]
struct Setting {
    at_once: usize,
    tasks: usize,
}

const SETTINGS: [Setting; 2] = [Setting { at_once: 16, tasks: 256 }, Setting { at_once: 1, tasks: 256 }];

pub(super) fn figures(cluster: &Cluster, scale: Scale) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for setting in SETTINGS {
        figures.extend(setting.figures(cluster, scale)?);
    }
    Ok(figures)
}

/// The time that each side took for a phase, in seconds.
#[derive(Clone, Copy)]
struct Turn {
    raw: f64,
    store: f64,
    /// None where a queue has no such phase.
    queue: Option<f64>,
}

impl Setting {
    fn figures(self, cluster: &Cluster, scale: Scale) -> Result<Vec<Figure>> {
        let Self { at_once, tasks } = self;
        let mut raw = Raw::connect(&cluster.fresh_database()?, tasks, at_once)?;
        let mut store = store(&cluster.fresh_database()?, tasks, at_once)?;
        let mut queue = Queue::connect(&cluster.fresh_database()?, tasks, at_once)?;
        let phases = Phase::value_variants();
        let mut turns: Vec<Vec<Turn>> = vec![Vec::new(); phases.len()];
        for turn in 0..=scale.turns() {
            for (phase, turns) in phases.iter().zip(&mut turns) {
                // Neither side always goes first.
                let (first, second): (&mut dyn Keeper, &mut dyn Keeper) =
                    if turn % 2 == 0 { (&mut raw, &mut store) } else { (&mut store, &mut raw) };
                let (first, second) = (timed(first, *phase)?, timed(second, *phase)?);
                let (raw, store) = if turn % 2 == 0 { (first, second) } else { (second, first) };
                let queue = Queue::has(*phase).then(|| timed(&mut queue, *phase)).transpose()?;
                // In the first turn statements are prepared, and caches are empty.
                if turn > 0 {
                    turns.push(Turn { raw, store, queue });
                }
            }
        }
        Ok(phases.iter().zip(turns).flat_map(|(phase, turns)| self.compared(*phase, &turns)).collect())
    }

    fn compared(self, phase: Phase, turns: &[Turn]) -> Vec<Figure> {
        let what = format!("{}, {} at once", phase.name(), self.at_once);
        let raw = |turn: &Turn| Some(turn.raw);
        let mut figures = vec![self.figure(format!("{what}, of raw"), turns, raw, Some(Target::AtLeast(0.8)))];
        if Queue::has(phase) {
            figures.push(self.figure(format!("{what}, of a plain queue"), turns, |turn| turn.queue, None));
        }
        figures
    }

    fn figure(self, what: String, turns: &[Turn], other: fn(&Turn) -> Option<f64>, target: Option<Target>) -> Figure {
        #[expect(clippy::cast_precision_loss, reason = "they are few")]
        let all = self.tasks as f64;
        let rate = |seconds: Vec<f64>| all / Spread::of(seconds).median;
        let others = turns.iter().filter_map(other).collect();
        Figure {
            what,
            who: "mrtr-postgres".to_owned(),
            ratio: Spread::of(turns.iter().filter_map(|turn| Some(other(turn)? / turn.store)).collect()).into(),
            target,
            absolute: format!(
                "{:.0}/s against {:.0}/s",
                rate(turns.iter().map(|turn| turn.store).collect()),
                rate(others)
            ),
        }
    }
}

/// Opens a store with its default number of connections: the runner beside its callers has one too.
pub(super) fn store(address: &str, tasks: usize, at_once: usize) -> Result<Store> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let store = runtime.block_on(PostgresOptions::new(address)?.connect())?;
    Ok(Store::over(runtime, Arc::new(store), tasks, at_once))
}

fn timed(keeper: &mut dyn Keeper, phase: Phase) -> Result<f64> {
    let start = Instant::now();
    keeper.go(phase)?;
    Ok(start.elapsed().as_secs_f64())
}
