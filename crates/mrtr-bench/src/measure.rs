//! Measures two pieces of code side by side, so that anything that slows the machine down slows both.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::Scale;
use crate::report::{Figure, Target};

/// The time that something takes, beside something that does the same in another way.
pub(crate) struct Comparison {
    ratio: Spread,
    /// Both in seconds.
    baseline: Spread,
    pub(crate) ours: Spread,
}

/// Measures `ours` against `baseline` in turns, so that whatever slows the machine down slows both.
pub(crate) fn compare<A, B>(scale: Scale, mut baseline: impl FnMut() -> A, mut ours: impl FnMut() -> B) -> Comparison {
    let batch = batch_size(&mut baseline);
    let seconds = |time: Duration| time.as_secs_f64() / f64::from(batch);
    let mut turn = || (seconds(timed(batch, &mut baseline)), seconds(timed(batch, &mut ours)));
    let turns: Vec<(f64, f64)> = (0..turns(scale)).map(|_| turn()).collect();
    Comparison {
        ratio: Spread::of(turns.iter().map(|(baseline, ours)| ours / baseline).collect()),
        baseline: Spread::of(turns.iter().map(|(baseline, _)| *baseline).collect()),
        ours: Spread::of(turns.iter().map(|(_, ours)| *ours).collect()),
    }
}

/// Times one run of each of several pieces of code, in seconds: a row for each turn, in which each has run.
pub(crate) fn in_turns<A>(turns: usize, runs: &mut [impl FnMut() -> A]) -> Vec<Vec<f64>> {
    let batches: Vec<u32> = runs.iter_mut().map(batch_size).collect();
    let mut turn = || {
        let each = runs.iter_mut().zip(&batches);
        each.map(|(run, batch)| timed(*batch, run).as_secs_f64() / f64::from(*batch)).collect()
    };
    (0..turns).map(|_| turn()).collect()
}

impl Comparison {
    /// The ratio of the two, and both times.
    pub(crate) fn figure(&self, what: impl Into<String>, who: impl Into<String>, target: Option<Target>) -> Figure {
        let absolute = format!("{} against {}", shown(self.ours.median), shown(self.baseline.median));
        Figure { what: what.into(), who: who.into(), ratio: self.ratio.into(), target, absolute }
    }
}

fn shown(seconds: f64) -> String {
    if seconds < 10e-6 { format!("{:.0} ns", seconds * 1e9) } else { format!("{:.1} µs", seconds * 1e6) }
}

/// The number of runs that fills a turn.
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

/// The number of turns. They are short, so there can be many: a disturbance in one does not show in the median.
fn turns(scale: Scale) -> usize {
    match scale {
        Scale::Quick => 21,
        Scale::Full => 101,
    }
}

const TURN: Duration = Duration::from_millis(5);

/// A median, and the range of half of the measurements around it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    /// A quarter of the measurements lie below.
    pub(crate) low: f64,
    /// A quarter of them lie above.
    pub(crate) high: f64,
}

impl Spread {
    /// Computes the spread. Panics if there are no measurements.
    pub(crate) fn of(mut measurements: Vec<f64>) -> Self {
        assert!(!measurements.is_empty(), "a spread of nothing");
        measurements.sort_by(f64::total_cmp);
        let at = |quarter: usize| measurements[(measurements.len() - 1) * quarter / 4];
        Self { median: at(2), low: at(1), high: at(3) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_measurements_lie_around_the_median() {
        let spread = Spread::of(vec![9.0, 1.0, 2.0, 8.0, 5.0]);
        assert_eq!(spread, Spread { median: 5.0, low: 2.0, high: 8.0 });
        assert_eq!(Spread::of(vec![3.0]), Spread { median: 3.0, low: 3.0, high: 3.0 });
    }
}
