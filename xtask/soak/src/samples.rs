//! Samples of honest callers: each exchange with the time that it took, and its refusal, if it was refused.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// All samples. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Samples {
    began: Instant,
    seen: Arc<Mutex<Vec<Sample>>>,
}

#[derive(Debug, Clone)]
struct Sample {
    /// The time when it was to be sent, from the beginning.
    at: Duration,
    took: Duration,
    caller: Arc<str>,
    refused: Option<String>,
}

/// The exchanges of some time, summed up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) exchanges: usize,
    pub(crate) refused: usize,
    /// The refusals of the caller that had most of them beyond one in a thousand, and its exchanges.
    pub(crate) worst_caller: Option<(String, usize, usize)>,
    pub(crate) reasons: Vec<(String, usize)>,
    pub(crate) median: Duration,
    pub(crate) p99: Duration,
    pub(crate) slowest: Duration,
}

impl Samples {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), seen: Arc::default() }
    }

    /// The time since the beginning.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Records an exchange that was to be sent then, and has just ended.
    pub(crate) fn add(&self, intended: Instant, caller: &Arc<str>, refused: Option<String>) {
        let at = intended.saturating_duration_since(self.began);
        let sample = Sample { at, took: intended.elapsed(), caller: Arc::clone(caller), refused };
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
    }

    /// Sums up the exchanges that were to be sent in this time.
    pub(crate) fn within(&self, time: Range<Duration>) -> Seen {
        let all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let chosen: Vec<_> = all.iter().filter(|sample| time.contains(&sample.at)).collect();
        Seen::of(&chosen)
    }
}

impl Seen {
    fn of(samples: &[&Sample]) -> Self {
        let mut times: Vec<_> = samples.iter().map(|sample| sample.took).collect();
        times.sort_unstable();
        let mut callers: HashMap<&str, (usize, usize)> = HashMap::new();
        let mut reasons: HashMap<&str, usize> = HashMap::new();
        for sample in samples {
            let (exchanges, refused) = callers.entry(&sample.caller).or_default();
            *exchanges += 1;
            if let Some(reason) = &sample.refused {
                *refused += 1;
                *reasons.entry(reason).or_default() += 1;
            }
        }
        // One refusal in a thousand exchanges, and one for a caller with fewer exchanges.
        let beyond = callers.into_iter().filter(|(_, (exchanges, refused))| *refused > exchanges.div_ceil(1000));
        let worst = beyond.max_by_key(|(_, (_, refused))| *refused);
        let mut reasons: Vec<_> = reasons.into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Self {
            exchanges: samples.len(),
            refused: samples.iter().filter(|sample| sample.refused.is_some()).count(),
            worst_caller: worst.map(|(name, (exchanges, refused))| (name.to_owned(), refused, exchanges)),
            reasons,
            median: quantile(&times, 50),
            p99: quantile(&times, 99),
            slowest: times.last().copied().unwrap_or_default(),
        }
    }
}

fn quantile(sorted: &[Duration], percent: usize) -> Duration {
    sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}
