//! The figures of a run.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use mrtr_tasks::store::Listed;

use crate::check::Flows;
use crate::ledger::Entry;
use crate::tools::{CRASH, INTERRUPTED};
use crate::trace::Event;

pub(crate) struct Figures(Vec<(&'static str, String)>);

impl Figures {
    pub(crate) fn of(ledger: &[Entry], events: &[Event], kept: &[Listed]) -> Self {
        let flows = Flows::of(events);
        let sum = |figure: fn(&Entry) -> u64| ledger.iter().map(figure).sum::<u64>().to_string();
        let runs: u64 = kept.iter().map(|task| task.record.fence).sum();
        let mut times: Vec<_> = ledger.iter().map(|entry| entry.took).collect();
        times.sort_unstable();
        let time =
            |time: Option<&Duration>| time.map_or_else(String::new, |time| format!("{:.1} s", time.as_secs_f64()));
        let crashing = || kept.iter().filter(|task| task.record.tool == CRASH);
        let aside = crashing().filter(|task| task.record.set_aside.is_some()).count();
        let interrupted = |event: &&Event| matches!(event, Event::Recorded { receipt, .. } if receipt == INTERRUPTED);
        Self(vec![
            ("tasks", ledger.len().to_string()),
            (
                "tasks of calls that had no reply",
                (kept.len() - crashing().count()).saturating_sub(ledger.len()).to_string(),
            ),
            ("runs", runs.to_string()),
            ("lost runs", lost_runs(events).values().sum::<usize>().to_string()),
            ("calls that end their process", crashing().count().to_string()),
            ("processes that they ended", lost_runs(events).get(&0).copied().unwrap_or(0).to_string()),
            ("of those calls, set aside", aside.to_string()),
            ("answers", sum(|entry| entry.answers.len() as u64)),
            ("answers sent again otherwise", sum(|entry| entry.contradictions)),
            ("requests without a reply", sum(|entry| entry.lost_replies)),
            ("effects", flows.effects().to_string()),
            ("effects repeated between effect and record", flows.repeated().to_string()),
            ("steps seen interrupted", events.iter().filter(interrupted).count().to_string()),
            ("median task", time(times.get(times.len() / 2))),
            ("slowest task", time(times.last())),
        ])
    }
}

/// Runs that did not get to say that they ended, or did so after another had taken their task, by order: their process was
/// killed or frozen.
pub(crate) fn lost_runs(events: &[Event]) -> HashMap<u64, usize> {
    let mut lost: HashMap<u64, usize> = HashMap::new();
    let mut newest: HashMap<u64, &str> = HashMap::new();
    let mut open: HashMap<&str, u64> = HashMap::new();
    for event in events {
        match event {
            Event::Began { run, order, .. } => {
                if let Some(earlier) = newest.insert(*order, run)
                    && open.remove(earlier).is_some()
                {
                    *lost.entry(*order).or_default() += 1;
                }
                open.insert(run, *order);
            }
            Event::Left { run } => drop(open.remove(run.as_str())),
            _ => {}
        }
    }
    for order in open.into_values() {
        *lost.entry(order).or_default() += 1;
    }
    lost
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, figure)| writeln!(f, "{name}: {figure}"))
    }
}
