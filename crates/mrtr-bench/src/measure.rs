//! Two pieces of code measured side by side, so that whatever slows the machine down slows both.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long something takes, beside something that does the same in another way.
pub(crate) struct Comparison {
    name: &'static str,
    baseline: Duration,
    ours: Duration,
    ratio: f64,
    target: f64,
}

/// Measures `ours` against `baseline`, in turns, and takes the median of the ratios.
pub(crate) fn compare<A, B>(
    name: &'static str,
    target: f64,
    mut baseline: impl FnMut() -> A,
    mut ours: impl FnMut() -> B,
) -> Comparison {
    let batch = batch_size(&mut baseline);
    let mut turns: Vec<(Duration, Duration)> =
        (0..TURNS).map(|_| (timed(batch, &mut baseline), timed(batch, &mut ours))).collect();
    turns.sort_by(|left, right| ratio(*left).total_cmp(&ratio(*right)));
    let median = turns[TURNS / 2];
    Comparison { name, baseline: median.0 / batch, ours: median.1 / batch, ratio: ratio(median), target }
}

/// How long one run of several pieces of code took, in seconds: a row for each turn, in which each has run.
pub(crate) fn in_turns<A>(turns: usize, runs: &mut [impl FnMut() -> A]) -> Vec<Vec<f64>> {
    let batches: Vec<u32> = runs.iter_mut().map(batch_size).collect();
    let mut turn = || {
        let each = runs.iter_mut().zip(&batches);
        each.map(|(run, batch)| timed(*batch, run).as_secs_f64() / f64::from(*batch)).collect()
    };
    (0..turns).map(|_| turn()).collect()
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, baseline, ours, ratio, target } = self;
        let verdict = if ratio <= target { "" } else { "  above" };
        let (baseline, ours) = (baseline.as_nanos(), ours.as_nanos());
        write!(f, "{name:<58} {baseline:>7} ns {ours:>7} ns {ratio:>7.2} {target:>7.2}{verdict}")
    }
}

fn ratio((baseline, ours): (Duration, Duration)) -> f64 {
    ours.as_secs_f64() / baseline.as_secs_f64()
}

/// As many runs as fill a turn.
fn batch_size<A>(run: &mut impl FnMut() -> A) -> u32 {
    let mut batch = 1;
    while timed(batch, run) < TURN {
        batch *= 2;
    }
    batch
}

fn timed<A>(batch: u32, run: &mut impl FnMut() -> A) -> Duration {
    let start = Instant::now();
    for _ in 0..batch {
        black_box(run());
    }
    start.elapsed()
}

const TURN: Duration = Duration::from_millis(5);
const TURNS: usize = 101;
