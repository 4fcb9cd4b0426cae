//! The explorer: it visits every state of a model, breadth first, so that it finds the shortest way to what it finds.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::rc::Rc;

use crate::rules::Rule;

/// A world of finitely many states.
pub(crate) trait Model {
    type State: Clone + Eq + Hash;
    type Action: fmt::Display;

    fn initial(&self) -> Self::State;

    /// All steps that can happen next and change anything, always in one order.
    fn steps(&self, state: &Self::State) -> Vec<Step<Self>>;

    /// One of the states that behave as this one does: all of them have one canonical state.
    fn canonical(&self, state: Self::State) -> Self::State;

    /// The rules that do not hold of a canonical state.
    fn broken(&self, state: &Self::State) -> Vec<Rule>;

    /// Returns true if all is well while this happens: nothing dies, nothing is lost, and nothing is called off.
    fn is_benign(&self, action: &Self::Action) -> bool;

    /// The way in which the state has ended, if it has.
    fn end(&self, state: &Self::State) -> Option<&'static str>;
}

/// Something that can happen.
pub(crate) struct Step<M: Model + ?Sized> {
    pub(crate) action: M::Action,
    pub(crate) next: M::State,
    /// The rules that do not hold of it.
    pub(crate) broken: Vec<Rule>,
}

/// The outcome of an exploration.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) states: usize,
    pub(crate) steps: usize,
    /// The number of steps to the state that is farthest away.
    pub(crate) depth: usize,
    /// The ends that were met.
    pub(crate) ends: Vec<&'static str>,
    /// For each rule that was broken, the shortest way to break it.
    pub(crate) found: BTreeMap<Rule, Vec<String>>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { states, steps, depth, ends, found } = self;
        writeln!(f, "{states} states, {steps} steps, {depth} deep, ends: {}", ends.join(", "))?;
        for (rule, trace) in found {
            writeln!(f, "broken: {rule}")?;
            trace.iter().enumerate().try_for_each(|(index, line)| writeln!(f, "{:>4}. {line}", index + 1))?;
        }
        Ok(())
    }
}

/// Visits every state, or as many as it takes to see a rule broken.
pub(crate) fn explore<M: Model>(model: &M) -> Report {
    search(model, |found| !found.is_empty())
}

/// Visits states until all of these rules were seen broken, whatever else is broken.
pub(crate) fn explore_until<M: Model>(model: &M, rules: &[Rule]) -> Report {
    search(model, |found| rules.iter().all(|rule| found.contains_key(rule)))
}

fn search<M: Model>(model: &M, is_enough: impl Fn(&BTreeMap<Rule, Way>) -> bool) -> Report {
    let mut visited = Visited::new(model);
    let mut found: BTreeMap<Rule, Way> = BTreeMap::new();
    let mut steps = 0;
    let mut at = 0;
    while let Some(state) = visited.states.get(at).cloned() {
        if is_enough(&found) {
            return visited.report(model, steps, found);
        }
        for rule in model.broken(&state) {
            found.entry(rule).or_insert(Way { from: visited.parents[at], to: at });
        }
        for Step { action, next, broken } in model.steps(&state) {
            steps += 1;
            let next = visited.visit(model.canonical(next), at);
            if model.is_benign(&action) {
                visited.benign_into[next].push(at);
            }
            for rule in broken {
                found.entry(rule).or_insert(Way { from: at, to: next });
            }
        }
        at += 1;
    }
    if let Some(state) = visited.without_an_end(model) {
        found.insert(Rule::EndInReach, Way { from: visited.parents[state], to: state });
    }
    visited.report(model, steps, found)
}

/// The step at which a rule was broken, between two states.
#[derive(Clone, Copy)]
struct Way {
    from: usize,
    to: usize,
}

struct Visited<S> {
    /// The states in the order in which they were met.
    states: Vec<Rc<S>>,
    indices: HashMap<Rc<S>, usize, BuildHasherDefault<Quick>>,
    /// The state from which each was met first; for the initial one, itself.
    parents: Vec<usize>,
    /// The states from which each is reached while all is well.
    benign_into: Vec<Vec<usize>>,
}

impl<S: Clone + Eq + Hash> Visited<S> {
    fn new<M: Model<State = S>>(model: &M) -> Self {
        let mut visited =
            Self { states: Vec::new(), indices: HashMap::default(), parents: Vec::new(), benign_into: Vec::new() };
        visited.visit(model.canonical(model.initial()), 0);
        visited
    }

    fn report<M: Model<State = S>>(&self, model: &M, steps: usize, found: BTreeMap<Rule, Way>) -> Report {
        let ends: BTreeSet<_> = self.states.iter().filter_map(|state| model.end(state)).collect();
        Report {
            states: self.states.len(),
            steps,
            depth: self.path(self.states.len() - 1).len(),
            ends: ends.into_iter().collect(),
            found: found.into_iter().map(|(rule, way)| (rule, self.trace(model, rule, way))).collect(),
        }
    }

    fn visit(&mut self, state: S, from: usize) -> usize {
        if let Some(&index) = self.indices.get(&state) {
            return index;
        }
        let (index, state) = (self.states.len(), Rc::new(state));
        self.states.push(Rc::clone(&state));
        self.indices.insert(state, index);
        self.parents.push(from);
        self.benign_into.push(Vec::new());
        index
    }

    /// The first state from which no end can be reached, even if all is well from there on.
    fn without_an_end<M: Model<State = S>>(&self, model: &M) -> Option<usize> {
        let ends = |&index: &usize| model.end(&self.states[index]).is_some();
        let mut reach: Vec<usize> = (0..self.states.len()).filter(ends).collect();
        let mut is_in_reach = vec![false; self.states.len()];
        for &index in &reach {
            is_in_reach[index] = true;
        }
        while let Some(index) = reach.pop() {
            for &from in &self.benign_into[index] {
                if !std::mem::replace(&mut is_in_reach[from], true) {
                    reach.push(from);
                }
            }
        }
        is_in_reach.iter().position(|is_in_reach| !is_in_reach)
    }

    /// The states on the shortest way to a state, without the initial one.
    fn path(&self, mut to: usize) -> Vec<usize> {
        let mut path = Vec::new();
        while to != 0 {
            path.push(to);
            to = self.parents[to];
        }
        path.reverse();
        path
    }

    /// The actions on the way, told of the states as they are and not as the explorer keeps them.
    fn trace<M: Model<State = S>>(&self, model: &M, rule: Rule, way: Way) -> Vec<String> {
        let mut path = self.path(way.from);
        path.push(way.to);
        let mut state = model.initial();
        let mut trace = Vec::new();
        for (index, &to) in path.iter().enumerate() {
            let steps = model.steps(&state).into_iter();
            let lead_there = steps.filter(|step| model.canonical(step.next.clone()) == *self.states[to]);
            // The last one is the step that breaks the rule, unless the state does.
            let step = lead_there.min_by_key(|step| index + 1 == path.len() && !step.broken.contains(&rule));
            let step = step.expect("a state and its canonical form have the same steps");
            trace.push(step.action.to_string());
            state = step.next;
        }
        trace
    }
}

/// A hasher that is quick in a debug build, where most of the time would go into the usual one.
#[derive(Default)]
struct Quick(u64);

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word.unsigned_abs() as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}
