//! A watch over a clock that may be set back: it says when a store has to look through the tasks that wait.

use std::collections::{BTreeSet, HashSet};

use mrtr_state::Timestamp;

/// For stores whose clock may be set back: the last time that a store has seen, and the tasks that it has looked
/// through since the clock was last set back.
///
/// A store on a disk begins with no tasks looked through: the clock may have been set back while no process had it
/// open.
///
/// ```
/// use std::collections::BTreeSet;
/// use mrtr_state::Timestamp;
/// use mrtr_tasks::store::ClockWatch;
///
/// let (noon, mut watch) = (Timestamp::from_millis(1_785_240_000_000), ClockWatch::default());
/// let tools = BTreeSet::from(["index"]);
/// watch.see(noon);
/// assert_eq!(watch.unseen(&tools), ["index"]);
/// assert!(watch.unseen(&tools).is_empty(), "they were looked through");
/// watch.see(Timestamp::from_millis(0));
/// assert_eq!(watch.unseen(&tools), ["index"]);
/// ```
#[derive(Debug)]
pub struct ClockWatch {
    last: Timestamp,
    /// The tools of those tasks.
    looked_through: HashSet<String>,
}

impl Default for ClockWatch {
    fn default() -> Self {
        Self { last: Timestamp::from_millis(0), looked_through: HashSet::new() }
    }
}

impl ClockWatch {
    /// Notes the time of the clock; each verb of the store calls this.
    pub fn see(&mut self, now: Timestamp) {
        if now < self.last {
            self.forget();
        }
        self.last = now;
    }

    /// Makes the store look through all tasks again, since what it did to them may not have been kept.
    pub fn forget(&mut self) {
        self.looked_through.clear();
    }

    /// Returns those of these tools whose tasks the store has to look through now. Mostly there are none, which
    /// allocates nothing.
    pub fn unseen<'t>(&mut self, tools: &BTreeSet<&'t str>) -> Vec<&'t str> {
        let unseen: Vec<_> = tools.iter().filter(|tool| !self.looked_through.contains(**tool)).copied().collect();
        self.looked_through.extend(unseen.iter().map(|tool| (*tool).to_owned()));
        unseen
    }
}
