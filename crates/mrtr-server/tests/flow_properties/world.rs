//! A record of every run, in order: what it did, read and asked, and from which state it went on.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};

use mrtr_server::Flow;

use crate::program::Op;

/// Everything outside a flow. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct World(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    program: Arc<[Op]>,
    runs: Vec<Run>,
    visited: HashSet<String>,
    /// The flow of the run, for what no handler may do with it.
    flow: Option<Arc<Flow>>,
}

/// One run of the handler.
#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    /// The run whose reply carried the state that this one went on from.
    pub(crate) parent: Option<usize>,
    /// The answers that came with the request: key and value.
    pub(crate) brought: Vec<(String, String)>,
    /// The keys that the request answered in any way, also by declining.
    pub(crate) answered: Vec<String>,
    pub(crate) flow: Option<String>,
    pub(crate) events: Vec<Event>,
    /// The keys that the reply asked.
    pub(crate) asked: Vec<String>,
    /// In which words.
    pub(crate) wordings: Vec<(String, String)>,
    /// True if the handler did what none may do; the next one, if it may have done it.
    pub(crate) misused: bool,
    pub(crate) may_be_misused: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// A step's work began.
    Begun(String),
    /// A step took effect, after these questions.
    Effect { step: String, after: Vec<String> },
    /// A step gave its outcome, now or from the journal.
    Stepped(String),
    /// An answer was read.
    Consumed { key: String, value: String },
    /// An answer was read as one to these words.
    ConsumedAs { key: String, value: String, wording: String },
    /// A race or a timeout ended so.
    Won { name: String, won: String },
    /// An idempotency key was handed out.
    Key { name: String, key: String },
}

impl World {
    pub(crate) fn of(program: Vec<Op>) -> Self {
        Self(Arc::new(Mutex::new(Inner { program: program.into(), ..Inner::default() })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    pub(crate) fn program(&self) -> Arc<[Op]> {
        Arc::clone(&self.inner().program)
    }

    pub(crate) fn runs(&self) -> Vec<Run> {
        self.inner().runs.clone()
    }

    /// A request is about to be sent.
    pub(crate) fn begin(&self, parent: Option<usize>, brought: Vec<(String, String)>, answered: Vec<String>) -> usize {
        let mut inner = self.inner();
        inner.runs.push(Run { parent, brought, answered, ..Run::default() });
        inner.runs.len() - 1
    }

    pub(crate) fn replied(&self, asked: Vec<String>, wordings: Vec<(String, String)>) {
        let mut inner = self.inner();
        let run = inner.runs.last_mut().unwrap();
        run.asked = asked;
        run.wordings = wordings;
    }

    /// Returns 0 if the number of the run is even, and 1 if it is odd.
    pub(crate) fn parity(&self) -> usize {
        self.inner().runs.len() % 2
    }

    pub(crate) fn lend(&self, flow: &Arc<Flow>) {
        self.inner().flow = Some(Arc::clone(flow));
    }

    pub(crate) fn borrow(&self) -> Arc<Flow> {
        Arc::clone(self.inner().flow.as_ref().unwrap())
    }

    pub(crate) fn misused(&self) {
        self.inner().runs.last_mut().unwrap().misused = true;
    }

    /// The handler keeps a step, and may ask meanwhile.
    pub(crate) fn may_be_misused(&self) {
        self.inner().runs.last_mut().unwrap().may_be_misused = true;
    }

    /// Returns true if the last run, which failed or did not, ended as its handler deserved.
    pub(crate) fn is_fair(&self, failed: bool) -> bool {
        let inner = self.inner();
        let run = inner.runs.last().unwrap();
        failed == run.misused || failed && run.may_be_misused
    }

    pub(crate) fn enter(&self, flow: &str) {
        self.inner().runs.last_mut().unwrap().flow = Some(flow.to_owned());
    }

    fn happen(&self, event: Event) {
        self.inner().runs.last_mut().unwrap().events.push(event);
    }

    pub(crate) fn begun(&self, step: &str) {
        self.happen(Event::Begun(step.to_owned()));
    }

    pub(crate) fn effect(&self, step: &str, after: &[String]) {
        // What is visited needs no answer.
        let after = after.iter().filter(|key| !self.is_visited(key)).cloned().collect();
        self.happen(Event::Effect { step: step.to_owned(), after });
    }

    pub(crate) fn stepped(&self, step: &str) {
        self.happen(Event::Stepped(step.to_owned()));
    }

    /// An answer will do.
    #[expect(clippy::unnecessary_wraps, reason = "it is what a check gives")]
    pub(crate) fn consumed(&self, key: &str, value: &str) -> Result<(), &'static str> {
        self.happen(Event::Consumed { key: key.to_owned(), value: value.to_owned() });
        Ok(())
    }

    pub(crate) fn consumed_as(&self, key: &str, value: &str, wording: &str) -> Result<(), &'static str> {
        let (key, value, wording) = (key.to_owned(), value.to_owned(), wording.to_owned());
        if value.starts_with("bad") {
            return Err("not that one");
        }
        self.happen(Event::ConsumedAs { key, value, wording });
        Ok(())
    }

    pub(crate) fn won(&self, name: &str, won: &str) {
        self.happen(Event::Won { name: name.to_owned(), won: won.to_owned() });
    }

    pub(crate) fn key(&self, name: &str, key: String) {
        self.happen(Event::Key { name: name.to_owned(), key });
    }

    pub(crate) fn is_visited(&self, key: &str) -> bool {
        self.inner().visited.contains(key)
    }

    pub(crate) fn visit(&self, key: &str) {
        self.inner().visited.insert(key.to_owned());
    }
}
