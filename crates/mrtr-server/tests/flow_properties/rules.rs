//! The rules, checked on what happened.
//!
//! The runs form a tree: a run hangs under the run whose reply carried the state it went on from; a request without a
//! state begins a tree of its own. The line of a run is the path down to it from its root. An older state that is sent
//! again begins another branch, in which what came after that state has not happened.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::world::{Event, Run};

pub(crate) fn check(runs: &[Run], strict: bool) -> Result<(), TestCaseError> {
    flows_are_told_apart(runs)?;
    for last in 0..runs.len() {
        let line = line(runs, last);
        no_step_ran_twice(&line)?;
        no_question_was_stepped_past(&line)?;
        answers_were_asked_for(&line)?;
        races_end_the_same_way(&line)?;
        if strict {
            answers_were_to_these_words(&line)?;
        }
    }
    Ok(())
}

/// The runs from the root down to this one.
fn line(runs: &[Run], last: usize) -> Vec<&Run> {
    let mut line: Vec<_> = std::iter::successors(Some(last), |run| runs[*run].parent).map(|run| &runs[run]).collect();
    line.reverse();
    line
}

/// A request with a state is the same flow, one without begins another, and keys follow from flow and name.
fn flows_are_told_apart(runs: &[Run]) -> Result<(), TestCaseError> {
    let mut keys = HashMap::new();
    let mut roots = HashSet::new();
    for run in runs {
        let Some(flow) = &run.flow else { continue };
        match run.parent {
            Some(parent) => prop_assert_eq!(Some(flow), runs[parent].flow.as_ref()),
            None => prop_assert!(roots.insert(flow), "two calls are one flow"),
        }
        for event in &run.events {
            if let Event::Key { name, key } = event {
                let first = keys.entry((flow, name)).or_insert(key);
                prop_assert_eq!(&*first, &key);
            }
        }
    }
    let different: HashSet<_> = keys.values().collect();
    prop_assert_eq!(different.len(), keys.len(), "two names have one key");
    Ok(())
}

fn no_step_ran_twice(line: &[&Run]) -> Result<(), TestCaseError> {
    let mut ran = HashSet::new();
    for run in line {
        for event in &run.events {
            if let Event::Effect { step, .. } = event {
                prop_assert!(ran.insert(step), "{} ran twice in {:#?}", step, line);
            }
        }
    }
    Ok(())
}

/// No effect of a run came after a question that the run ended with, or after one that was never asked.
fn no_question_was_stepped_past(line: &[&Run]) -> Result<(), TestCaseError> {
    let run = line.last().unwrap();
    for event in &run.events {
        if let Event::Effect { step, after } = event {
            let passed = after.iter().find(|key| run.asked.contains(key));
            prop_assert!(passed.is_none(), "{} stepped past {:?} in {:#?}", step, passed, run);
            let was_asked = |key: &String| line[..line.len() - 1].iter().any(|run| run.asked.contains(key));
            let was_brought = |key: &String| line.iter().any(|run| run.answered.contains(key));
            let unasked = after.iter().find(|key| !was_asked(key) && !was_brought(key));
            prop_assert!(
                unasked.is_none(),
                "{} stepped past {:?}, which was never asked, in {:#?}",
                step,
                unasked,
                line
            );
        }
    }
    Ok(())
}

/// An answer that was read came with a state that had asked for it; or without one, and then no step had begun, and
/// the run that read it first ran no step and gave no key.
fn answers_were_asked_for(line: &[&Run]) -> Result<(), TestCaseError> {
    for event in &line.last().unwrap().events {
        let Event::Consumed { key, value } = event else { continue };
        let origin =
            line.iter().position(|run| run.brought.iter().any(|brought| brought == &(key.clone(), value.clone())));
        let Some(origin) = origin else {
            return Err(TestCaseError::fail(format!("{value} for {key} came from nowhere in {line:#?}")));
        };
        if let Some(before) = origin.checked_sub(1) {
            prop_assert!(line[before].asked.contains(key), "{} was not asked for in {:#?}", key, line);
            continue;
        }
        let first = line.iter().position(|run| run.events.contains(event)).unwrap();
        let acts = |run: &&Run| run.events.iter().any(|event| matches!(event, Event::Begun(_) | Event::Key { .. }));
        prop_assert!(!line[..first].iter().any(acts), "{} was read after a step in {:#?}", key, line);
        let events = &line[first].events;
        let stepped = events.iter().take_while(|other| *other != event).any(|event| matches!(event, Event::Stepped(_)));
        prop_assert!(!stepped, "{} was read after a step in {:#?}", key, events);
        prop_assert!(!acts(&line[first]), "a run that read {} without a state acted: {:#?}", key, events);
    }
    Ok(())
}

/// Checks that every later run of a line sees the same end of a race or a timeout as the run before.
fn races_end_the_same_way(line: &[&Run]) -> Result<(), TestCaseError> {
    let mut ended = HashMap::new();
    for event in line.iter().flat_map(|run| &run.events) {
        if let Event::Won { name, won } = event {
            let first = ended.entry(name).or_insert(won);
            prop_assert_eq!(&*first, &won, "{} in {:#?}", name, line);
        }
    }
    Ok(())
}

/// An answer that was read was given to the words it was read for, where its state says which those were.
fn answers_were_to_these_words(line: &[&Run]) -> Result<(), TestCaseError> {
    for event in line.iter().flat_map(|run| &run.events) {
        let Event::ConsumedAs { key, value, wording } = event else { continue };
        let brought = |run: &&Run| run.brought.iter().any(|brought| brought == &(key.clone(), value.clone()));
        let Some(before) = line.iter().position(brought).and_then(|origin| origin.checked_sub(1)) else { continue };
        let asked = line[before].wordings.iter().find(|(asked, _)| asked == key).map(|(_, wording)| wording);
        // A second asking adds the reason to the words.
        let same = asked.is_some_and(|asked| asked.starts_with(wording.as_str()));
        prop_assert!(same, "{} was asked {:?} and read as {:?} in {:#?}", key, asked, wording, line);
    }
    Ok(())
}
