//! A log of what is written while a test runs.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, Once};

use tracing::field::{Field, Visit};
use tracing::subscriber::{DefaultGuard, Interest};
use tracing::{Event, Id, Metadata, Subscriber, span};

/// The log of this thread while it lives.
pub(crate) struct Log {
    lines: Arc<Mutex<Vec<String>>>,
    _guard: DefaultGuard,
}

impl Log {
    /// Begins a log of what this crate and tasks write.
    #[allow(dead_code, reason = "some tests look at other crates")]
    pub(crate) fn start() -> Self {
        Self::of(&["mrtr_flow", "mrtr_server", "mrtr_tasks"])
    }

    /// Begins a log of what these crates write.
    pub(crate) fn of(crates: &'static [&'static str]) -> Self {
        // Tests run side by side, and tracing keeps for all of them whether a line is wanted at all. One subscriber
        // that stays, and never says no for good, keeps a test without a log from deciding that for one with it.
        static ALWAYS: Once = Once::new();
        ALWAYS.call_once(|| tracing::subscriber::set_global_default(Undecided).unwrap_or_default());
        let lines = Arc::default();
        Self { _guard: tracing::subscriber::set_default(Lines(Arc::clone(&lines), crates)), lines }
    }

    pub(crate) fn text(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }
}

/// Hears nothing, and may want any line.
struct Undecided;

impl Subscriber for Undecided {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        false
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Lines(Arc<Mutex<Vec<String>>>, &'static [&'static str]);

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.1.iter().any(|name| metadata.target().starts_with(name))
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        write!(self.0, " {field}={value}").unwrap();
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}
