//! Lives of tasks, from creation to end, on both sides in turns.

use std::time::Instant;

use anyhow::{Context, Result};
use clap::ValueEnum;

use super::child::Process;
use super::{Phase, Side};
use crate::measure::Spread;
use crate::report::{Figure, Target};
use crate::{Scale, machine};

/// The numbers of processes and of the tasks that go through their lives, and how many do so at once.
#[derive(Clone, Copy)]
struct Setting {
    processes: usize,
    at_once: usize,
    tasks: usize,
}

const SETTINGS: [Setting; 3] = [
    Setting { processes: 1, at_once: 64, tasks: 1024 },
    Setting { processes: 1, at_once: 1, tasks: 64 },
    Setting { processes: 3, at_once: 64, tasks: 512 },
];

pub(super) fn figures(scale: Scale) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for setting in SETTINGS {
        figures.extend(setting.figures(scale)?);
    }
    Ok(figures)
}

impl Setting {
    fn figures(self, scale: Scale) -> Result<Vec<Figure>> {
        let folder = tempfile::tempdir()?;
        let start = |side: Side, name: &str| {
            let file = folder.path().join(name);
            let one = |_| Process::keeper(side, &file, self.tasks, self.at_once);
            (0..self.processes).map(one).collect::<Result<Vec<_>>>()
        };
        let (mut raw, mut store) = (start(Side::Raw, "raw.sqlite")?, start(Side::Store, "store.sqlite")?);
        let phases = Phase::value_variants();
        let mut turns: Vec<Vec<Turn>> = vec![Vec::new(); phases.len()];
        for turn in 0..=scale.turns() {
            for (phase, turns) in phases.iter().zip(&mut turns) {
                // Neither side always goes first.
                let measured = if turn % 2 == 0 {
                    let raw = Spent::on(&mut raw, *phase)?;
                    Turn { raw, store: Spent::on(&mut store, *phase)? }
                } else {
                    let store = Spent::on(&mut store, *phase)?;
                    Turn { raw: Spent::on(&mut raw, *phase)?, store }
                };
                // The first turn makes the files, and fills caches.
                if turn > 0 {
                    turns.push(measured);
                }
            }
        }
        Ok(phases.iter().zip(turns).map(|(phase, turns)| self.figure(*phase, &turns)).collect())
    }

    fn figure(self, phase: Phase, turns: &[Turn]) -> Figure {
        let Self { processes, at_once, tasks } = self;
        #[expect(clippy::cast_precision_loss, reason = "they are few")]
        let all = (tasks * processes) as f64;
        let rate =
            |side: fn(&Turn) -> Spent| all / Spread::of(turns.iter().map(|turn| side(turn).elapsed).collect()).median;
        let processes = if processes == 1 { "one process".to_owned() } else { format!("{processes} processes") };
        Figure {
            what: format!("{}, {at_once} at once, {processes}", phase.name()),
            who: "mrtr-tasks".to_owned(),
            ratio: Spread::of(turns.iter().map(|turn| turn.raw.on_core / turn.store.on_core).collect()).into(),
            target: Some(Target::AtLeast(0.8)),
            absolute: format!("{:.0}/s against {:.0}/s", rate(|turn| turn.store), rate(|turn| turn.raw)),
        }
    }
}

#[derive(Clone, Copy)]
struct Turn {
    raw: Spent,
    store: Spent,
}

/// The time that all processes of a side took for a phase, in seconds.
#[derive(Clone, Copy)]
struct Spent {
    /// The seconds on a core. What else the machine does has no part in it, while the clock mostly shows which threads
    /// the scheduler favours: between a loop that is always busy and threads that wait for each other, the latter.
    on_core: f64,
    elapsed: f64,
}

impl Spent {
    fn on(processes: &mut [Process], phase: Phase) -> Result<Self> {
        let name = phase.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let before = on_core(processes)?;
        let start = Instant::now();
        processes.iter_mut().try_for_each(|process| process.tell(&name))?;
        processes.iter_mut().try_for_each(|process| process.hear().map(drop))?;
        let elapsed = start.elapsed().as_secs_f64();
        Ok(Self { on_core: on_core(processes)? - before, elapsed })
    }
}

fn on_core(processes: &[Process]) -> Result<f64> {
    let times = processes.iter().map(|process| machine::cpu_time(process.id()).map(|time| time.as_secs_f64()));
    times.sum::<Option<f64>>().context("this system does not say how long a process was on a core")
}
