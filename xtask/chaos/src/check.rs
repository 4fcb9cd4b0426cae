//! Checks that must hold, whatever was killed: they compare what clients were told, what really ran, and what the store
//! has.

use std::collections::{BTreeSet, HashMap, HashSet};

use mrtr_tasks::End;
use mrtr_tasks::store::Listed;

use crate::customer::{Entry, Outcome};
use crate::tools::{CRASH, INTERRUPTED, ONCE, Receipts};
use crate::trace::Event;

/// Finds all that does not hold.
pub(crate) fn violations(ledger: &[Entry], events: &[Event], kept: &[Listed]) -> Vec<String> {
    let flows = Flows::of(events);
    let mut found = flows.violations();
    found.extend(set_aside(kept));
    for entry in ledger {
        let what =
            |why: String| format!("order {} (task {}): {why}", entry.order, entry.task.as_deref().unwrap_or("?"));
        found.extend(told(entry, &flows).into_iter().map(what));
    }
    found.extend(stored(ledger, kept));
    found
}

/// Compares the reply to one client with the steps that really ran.
fn told(entry: &Entry, flows: &Flows<'_>) -> Vec<String> {
    let receipts = match &entry.outcome {
        Some(Outcome::Completed(receipts)) => receipts,
        Some(Outcome::Wrong(why)) => return vec![why.clone()],
        None => return vec!["nothing came of it".to_owned()],
    };
    let mut found = Vec::new();
    if receipts.order != entry.order {
        found.push(format!("its result is that of order {}", receipts.order));
    }
    if receipts.answers != entry.answers {
        found.push(format!("it was given {:?}, and {:?} was acknowledged", receipts.answers, entry.answers));
    }
    found.extend(flows.contradicting(receipts));
    found
}

/// Checks that at the end only tasks whose tool ends its process are set aside; and those have not ended.
fn set_aside(kept: &[Listed]) -> Vec<String> {
    let told = |task: &Listed| {
        let record = &task.record;
        match (record.tool == CRASH, record.set_aside.is_some(), record.ended) {
            (false, true, _) => Some(format!("task {} is set aside, and ends no process", record.id)),
            (true, _, Some((end, _))) => Some(format!("task {} ends its process, and ended as {end:?}", record.id)),
            _ => None,
        }
    };
    kept.iter().filter_map(told).collect()
}

/// Checks that the store has every task that a client was told of, completed, and other tasks only for calls that had
/// no reply.
fn stored(ledger: &[Entry], kept: &[Listed]) -> Vec<String> {
    let mut found = Vec::new();
    let orders = kept.iter().filter(|task| task.record.tool != CRASH);
    let ends: HashMap<String, _> = orders.map(|task| (task.record.id.to_string(), task.record.ended)).collect();
    let acknowledged: HashSet<_> = ledger.iter().filter_map(|entry| entry.task.as_deref()).collect();
    for id in &acknowledged {
        match ends.get(*id) {
            None => found.push(format!("task {id} was acknowledged, and is missing")),
            Some(Some((End::Completed { is_error: false }, _))) => {}
            Some(end) => found.push(format!("task {id} is not completed: {end:?}")),
        }
    }
    let unknown = ends.keys().filter(|id| !acknowledged.contains(id.as_str())).count();
    let lost_calls: u64 = ledger.iter().map(|entry| entry.lost_calls).sum();
    if u64::try_from(unknown).unwrap_or(u64::MAX) > lost_calls {
        found.push(format!("{unknown} tasks are no client's, and only {lost_calls} calls had no reply"));
    }
    found
}

/// The steps that really ran, by flow.
pub(crate) struct Flows<'a> {
    steps: HashMap<(&'a str, &'a str), StepHistory<'a>>,
    answers: HashMap<(&'a str, &'a str), BTreeSet<&'a str>>,
}

/// The effects and records of one step of one flow, in the order of the trace.
#[derive(Default)]
struct StepHistory<'a> {
    effects: Vec<Effect<'a>>,
    /// The outcomes of the step that handlers were given.
    recorded: BTreeSet<&'a str>,
    /// The place in the trace of the first of them.
    first_recorded: Option<usize>,
}

struct Effect<'a> {
    key: &'a str,
    receipt: &'a str,
    /// The place in the trace where its run began.
    began: usize,
}

impl<'a> Flows<'a> {
    pub(crate) fn of(events: &'a [Event]) -> Self {
        let mut flows = Self { steps: HashMap::new(), answers: HashMap::new() };
        let mut runs: HashMap<&str, usize> = HashMap::new();
        for (at, event) in events.iter().enumerate() {
            match event {
                Event::Began { run, .. } => drop(runs.insert(run, at)),
                Event::Left { .. } => {}
                Event::Effect { flow, run, step, key, receipt } => {
                    let began = runs.get(run.as_str()).copied().unwrap_or(at);
                    flows.steps.entry((flow, step)).or_default().effects.push(Effect { key, receipt, began });
                }
                Event::Recorded { flow, step, receipt, .. } => {
                    let history = flows.steps.entry((flow, step)).or_default();
                    history.recorded.insert(receipt);
                    history.first_recorded.get_or_insert(at);
                }
                Event::Answered { flow, question, value, .. } => {
                    flows.answers.entry((flow, question)).or_default().insert(value);
                }
            }
        }
        flows
    }

    /// The number of effects that were repeated, since their process was gone before they were recorded.
    pub(crate) fn repeated(&self) -> usize {
        self.steps.values().map(|history| history.effects.len().saturating_sub(1)).sum()
    }

    pub(crate) fn effects(&self) -> usize {
        self.steps.values().map(|history| history.effects.len()).sum()
    }

    fn violations(&self) -> Vec<String> {
        let mut found = Vec::new();
        for ((flow, step), history) in &self.steps {
            found.extend(history.violations(step).into_iter().map(|why| format!("flow {flow}, step `{step}`: {why}")));
        }
        for ((flow, question), values) in self.answers.iter().filter(|(_, values)| values.len() > 1) {
            found.push(format!("flow {flow}, question `{question}`: several answers counted: {values:?}"));
        }
        found
    }

    /// Finds the places where a result does not agree with what ran.
    fn contradicting(&self, receipts: &Receipts) -> Vec<String> {
        let mut found = Vec::new();
        for (step, receipt) in &receipts.steps {
            let history = self.steps.get(&(receipts.flow.as_str(), step.as_str()));
            if !history.is_some_and(|history| history.recorded.contains(receipt.as_str())) {
                found.push(format!("step `{step}` returned {receipt}, which no run was given"));
            }
        }
        found
    }
}

impl StepHistory<'_> {
    fn violations(&self, step: &str) -> Vec<String> {
        let mut found = Vec::new();
        let keys: BTreeSet<_> = self.effects.iter().map(|effect| effect.key).collect();
        if keys.len() > 1 {
            found.push(format!("its effects have several idempotency keys: {keys:?}"));
        }
        if self.recorded.len() > 1 {
            found.push(format!("it was recorded more than once: {:?}", self.recorded));
        }
        let missing = |receipt: &&&str| !self.effects.iter().any(|effect| effect.receipt == **receipt);
        for receipt in self.recorded.iter().filter(|receipt| **receipt != INTERRUPTED).filter(missing) {
            found.push(format!("it was recorded as {receipt}, which no effect gave"));
        }
        // A run that began before the record may not know of it: it has lost its task, and records nothing. A later run
        // must know of it.
        let late = |effect: &&Effect<'_>| self.first_recorded.is_some_and(|at| at < effect.began);
        for effect in self.effects.iter().filter(late) {
            found.push(format!("it ran again after it was recorded: {}", effect.receipt));
        }
        if step == ONCE && self.effects.len() > 1 {
            found.push("it must not be repeated, and was".to_owned());
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use mrtr_schema::Revision;
    use mrtr_state::{FlowId, Timestamp};
    use mrtr_tasks::store::Place;
    use mrtr_tasks::{Owner, TaskId, TaskRecord};

    use super::*;

    fn began(run: &str) -> Event {
        Event::Began { order: 1, flow: "f".into(), run: run.into() }
    }

    fn effect(run: &str, step: &str, key: &str, receipt: &str) -> Event {
        let [flow, run, step, key, receipt] = ["f", run, step, key, receipt].map(str::to_owned);
        Event::Effect { flow, run, step, key, receipt }
    }

    fn recorded(run: &str, step: &str, receipt: &str) -> Event {
        let [flow, run, step, receipt] = ["f", run, step, receipt].map(str::to_owned);
        Event::Recorded { flow, run, step, receipt }
    }

    fn found(events: &[Event]) -> Vec<String> {
        violations(&[], events, &[])
    }

    #[test]
    fn an_effect_that_was_not_recorded_may_be_repeated_under_its_key() {
        let events = [
            began("1"),
            effect("1", "pack", "k", "a"),
            began("2"),
            effect("2", "pack", "k", "b"),
            recorded("2", "pack", "b"),
            // This run has lost its task, and does not know it yet.
            effect("1", "pack", "k", "c"),
        ];
        assert_eq!(found(&events), Vec::<String>::new());
        assert_eq!(Flows::of(&events).repeated(), 2);
    }

    #[test]
    fn another_key_a_second_record_and_a_repeated_record_are_told() {
        let other_key = [began("1"), effect("1", "pack", "k", "a"), effect("1", "pack", "l", "b")];
        assert!(found(&other_key)[0].contains("several idempotency keys"));
        let effects = [began("1"), effect("1", "pack", "k", "a"), effect("1", "pack", "k", "b")];
        let twice = [&effects[..], &[recorded("1", "pack", "a"), recorded("2", "pack", "b")]].concat();
        assert!(found(&twice)[0].contains("recorded more than once"));
        let again = [
            began("1"),
            effect("1", "pack", "k", "a"),
            recorded("1", "pack", "a"),
            began("2"),
            effect("2", "pack", "k", "b"),
        ];
        assert!(found(&again)[0].contains("ran again after it was recorded"));
        assert!(found(&[began("1"), recorded("1", "pack", "z")])[0].contains("which no effect gave"));
    }

    #[test]
    fn a_step_that_must_not_be_repeated_is_told() {
        let events = [began("1"), effect("1", ONCE, "k", "a"), began("2"), effect("2", ONCE, "k", "b")];
        assert_eq!(found(&events), [format!("flow f, step `{ONCE}`: it must not be repeated, and was")]);
    }

    #[test]
    fn only_a_task_that_ends_its_process_is_set_aside_and_it_has_not_ended() {
        let task = |tool: &str, change: fn(&mut TaskRecord)| {
            let (id, flow, now) = (TaskId::from_bytes([7; 16]), FlowId::from_bytes([7; 16]), Timestamp::from_millis(7));
            let mut record = TaskRecord::new(id, Owner::from_kept("ann"), flow, tool, Revision::V2026_07_28, now);
            change(&mut record);
            Listed { place: Place(1), record }
        };
        let aside: fn(&mut TaskRecord) = |record| record.set_aside = Some(record.created);
        assert_eq!(set_aside(&[task(CRASH, aside)]), Vec::<String>::new());
        assert!(set_aside(&[task("order", aside)])[0].contains("is set aside, and ends no process"));
        let ended: fn(&mut TaskRecord) = |record| record.ended = Some((End::Failed, record.created));
        assert!(set_aside(&[task(CRASH, ended)])[0].contains("and ended as Failed"));
    }

    #[test]
    fn what_a_client_was_told_must_hold() {
        let receipts = Receipts {
            order: 7,
            flow: "f".into(),
            steps: [("pack".to_owned(), "a".to_owned())].into(),
            answers: [("card".to_owned(), "red".to_owned())].into(),
        };
        let told = Entry {
            order: 7,
            task: Some("t".into()),
            answers: [("card".to_owned(), "blue".to_owned())].into(),
            outcome: Some(Outcome::Completed(receipts)),
            ..Entry::default()
        };
        let found = violations(&[told], &[], &[]);
        assert!(found[0].contains(r#"{"card": "red"}, and {"card": "blue"} was acknowledged"#), "{found:?}");
        assert!(found[1].contains("step `pack` returned a, which no run was given"), "{found:?}");
        assert_eq!(found[2], "task t was acknowledged, and is missing");
    }
}
