//! What happened in a story, in the order in which it did: kept, and drawn as it happens.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::drawing::Drawing;
use super::message::Message;

/// Who takes part in a story, by the name at the head of its lifeline.
pub(crate) type Actor = &'static str;

/// Something that happened.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Event {
    /// A message was seen on the wire.
    Message {
        from: Actor,
        to: Actor,
        #[serde(flatten)]
        message: Message,
    },
    /// The reply to a message did not get to its client.
    Lost { from: Actor, to: Actor, why: String },
    /// A handler did something outside of its flow.
    Effect { at: Actor, what: String },
    /// A server is gone.
    Stopped { at: Actor, what: String },
    /// A server is there again.
    Started { at: Actor, what: String },
    /// Something about a server that no message says.
    Note { at: Actor, what: String },
}

/// Where a tour is drawn, shared by all who write there.
#[derive(Clone)]
pub(crate) struct Screen(Arc<Mutex<dyn Write + Send>>);

impl Screen {
    pub(crate) fn new(out: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(out)))
    }

    /// Shows a line. A reader that has gone away has seen enough.
    pub(crate) fn line(&self, line: impl std::fmt::Display) {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}

/// What happens in one story. Its clones are one recording.
#[derive(Clone)]
pub(crate) struct Recording(Arc<Mutex<Recorded>>);

struct Recorded {
    events: Vec<Event>,
    drawing: Option<(Drawing, Screen)>,
}

impl Recording {
    /// Begins to record, and to draw if there is a screen.
    pub(crate) fn begin(cast: &[Actor], screen: Option<&Screen>) -> Self {
        let drawing = screen.map(|screen| (Drawing::new(cast), screen.clone()));
        if let Some((drawing, screen)) = &drawing {
            screen.line(drawing.header());
        }
        Self(Arc::new(Mutex::new(Recorded { events: Vec::new(), drawing })))
    }

    pub(crate) fn add(&self, event: Event) {
        let mut recorded = self.lock();
        if let Some((drawing, screen)) = &mut recorded.drawing {
            for line in drawing.lines(&event) {
                screen.line(line);
            }
        }
        recorded.events.push(event);
    }

    /// Records a message that was seen on the wire.
    pub(crate) fn message(&self, from: Actor, to: Actor, text: &str) {
        self.add(Event::Message { from, to, message: Message::of(text) });
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.lock().events.clone()
    }

    /// What handlers did, in order.
    pub(crate) fn effects(&self) -> Vec<String> {
        let effect = |event| if let Event::Effect { what, .. } = event { Some(what) } else { None };
        self.events().into_iter().filter_map(effect).collect()
    }

    /// The messages that this one sent, in order.
    pub(crate) fn sent_by(&self, actor: Actor) -> Vec<Message> {
        let sent = |event| match event {
            Event::Message { from, message, .. } if from == actor => Some(message),
            _ => None,
        };
        self.events().into_iter().filter_map(sent).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
