//! The trace: what flows really did, in one file that all workers append to. Its order is the order of events.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// Something that happened to a flow. A flow has one id in all its runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Event {
    /// A run of the handler began.
    Began { order: u64, flow: String, run: String },
    /// The handler was dropped or returned; a killed process does not get to write this.
    Left { run: String },
    /// The effect of a step, which is recorded only after this.
    Effect { flow: String, run: String, step: String, key: String, receipt: String },
    /// The handler was given the outcome of a step, which is therefore recorded.
    Recorded { flow: String, run: String, step: String, receipt: String },
    /// The handler was given an answer.
    Answered { flow: String, run: String, question: String, value: String },
}

/// A trace to write. Clones are the same.
#[derive(Clone)]
pub(crate) struct Trace(Arc<Inner>);

struct Inner {
    file: File,
    /// The name of this process, unlike any other.
    process: String,
    made: AtomicU64,
}

impl Trace {
    pub(crate) fn append_to(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.with_context(|| format!("{} cannot be written", path.display()))?;
        let started = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
        Ok(Self(Arc::new(Inner {
            file,
            process: format!("{}@{started}", std::process::id()),
            made: AtomicU64::new(0),
        })))
    }

    /// A name that no process has given before.
    fn name(&self) -> String {
        format!("{}#{}", self.0.process, self.0.made.fetch_add(1, Ordering::Relaxed))
    }

    /// Appends an event in one write, so that lines of several processes do not mix. It begins with the end of the line
    /// before, which a process that was killed in the middle of a write may have left open.
    fn append(&self, event: &Event) -> Result<()> {
        let mut line = vec![b'\n'];
        serde_json::to_writer(&mut line, event)?;
        (&self.0.file).write_all(&line)?;
        Ok(())
    }

    /// Begins a run of a flow.
    pub(crate) fn begin(&self, order: u64, flow: String) -> Result<TracedRun> {
        let run = self.name();
        self.append(&Event::Began { order, flow: flow.clone(), run: run.clone() })?;
        Ok(TracedRun { trace: self.clone(), flow, run })
    }
}

/// A run of a flow, until it is dropped.
pub(crate) struct TracedRun {
    trace: Trace,
    flow: String,
    run: String,
}

impl TracedRun {
    /// Has an effect, which is on the disk when this returns, and returns the receipt for it.
    pub(crate) fn effect(&self, step: &str, key: &str) -> Result<String> {
        let receipt = self.trace.name();
        let (flow, run) = (self.flow.clone(), self.run.clone());
        let (step, key) = (step.to_owned(), key.to_owned());
        self.trace.append(&Event::Effect { flow, run, step, key, receipt: receipt.clone() })?;
        self.trace.0.file.sync_data()?;
        Ok(receipt)
    }

    pub(crate) fn recorded(&self, step: &str, receipt: &str) -> Result<()> {
        let (flow, run) = (self.flow.clone(), self.run.clone());
        self.trace.append(&Event::Recorded { flow, run, step: step.to_owned(), receipt: receipt.to_owned() })
    }

    pub(crate) fn answered(&self, question: &str, value: &str) -> Result<()> {
        let (flow, run) = (self.flow.clone(), self.run.clone());
        self.trace.append(&Event::Answered { flow, run, question: question.to_owned(), value: value.to_owned() })
    }

    pub(crate) fn flow(&self) -> &str {
        &self.flow
    }
}

impl Drop for TracedRun {
    fn drop(&mut self) {
        // A trace that cannot be written has failed the run before.
        drop(self.trace.append(&Event::Left { run: self.run.clone() }));
    }
}

/// Reads the events of a trace. A line that was cut off did not happen: its process was killed before it could go on.
pub(crate) fn read(path: &Path) -> Result<Vec<Event>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut events = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        match serde_json::from_str(line) {
            Ok(event) => events.push(event),
            Err(error) if error.is_eof() => eprintln!("cut off by a kill: {line}"),
            Err(error) => return Err(error).with_context(|| format!("not an event: {line}")),
        }
    }
    Ok(events)
}
