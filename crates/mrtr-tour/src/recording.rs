//! Keeps what happens in a story, in order: messages and effects; and draws each as it happens.

use std::fmt::Write as _;
use std::io;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mrtr::Failure;
use mrtr::schema::Printable;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::drawing::Drawing;

/// A participant in a story, by the name at the head of its lifeline.
pub(crate) type Actor = &'static str;

/// An event in a story.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Event {
    /// A message passed on the wire.
    Message {
        from: Actor,
        to: Actor,
        #[serde(flatten)]
        message: Message,
    },
    /// A reply was lost on its way to the client.
    Lost { from: Actor, to: Actor, why: String },
    /// A handler did something outside of its flow.
    Effect { at: Actor, what: String },
    /// A server stopped.
    Stopped { at: Actor, what: String },
    /// A server started, or started again.
    Started { at: Actor, what: String },
    /// A note about a server, which no message shows.
    Note { at: Actor, what: String },
}

/// The place where a tour is drawn, shared by all who write there.
#[derive(Clone)]
pub(crate) struct Screen(Arc<Mutex<dyn Write + Send>>);

impl Screen {
    pub(crate) fn new(out: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(out)))
    }

    /// Shows a line. A reader that has closed the output has seen enough.
    pub(crate) fn line(&self, line: impl std::fmt::Display) {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}

/// The messages and effects of one story. Its clones are one recording.
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

    /// Records a message on the wire.
    pub(crate) fn message(&self, from: Actor, to: Actor, text: &str) {
        self.add(Event::Message { from, to, message: Message::of(text) });
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.lock().events.clone()
    }

    /// The effects of handlers, in order.
    pub(crate) fn effects(&self) -> Vec<String> {
        let effect = |event| if let Event::Effect { what, .. } = event { Some(what) } else { None };
        self.events().into_iter().filter_map(effect).collect()
    }

    /// The messages that this actor sent, in order.
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

/// A message, with the details that interest a reader.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Message {
    /// Its method, or the kind of result.
    pub(crate) says: String,
    /// The questions, answers or texts in it, a line each.
    pub(crate) details: Vec<String>,
    /// The size of the state in it.
    pub(crate) state_bytes: Option<usize>,
    /// The size of the whole message.
    pub(crate) bytes: usize,
    /// The message itself.
    #[serde(rename = "message")]
    pub(crate) json: Value,
}

impl Message {
    /// Reads a message. A text that is no JSON is shown as it is.
    pub(crate) fn of(text: &str) -> Self {
        let message = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
        let (says, details) = match (message.get("method"), message.get("result"), message.get("error")) {
            (Some(method), ..) => request(shown(method), &message["params"]),
            (_, Some(result), _) => response(result),
            (_, _, Some(error)) => (format!("error {}", error["code"]), vec![shown(&error["message"])]),
            _ => (shown(&message), Vec::new()),
        };
        let part = if message.get("method").is_some() { &message["params"] } else { &message["result"] };
        let state_bytes = part["requestState"].as_str().map(str::len);
        Self { says, details, state_bytes, bytes: text.len(), json: message }
    }

    /// The keys of its questions.
    pub(crate) fn asks(&self) -> Vec<&str> {
        keys(&self.json["result"]["inputRequests"])
    }

    /// Returns the keys of the answers that the message holds.
    pub(crate) fn answers(&self) -> Vec<&str> {
        keys(&self.json["params"]["inputResponses"])
    }
}

fn keys(map: &Value) -> Vec<&str> {
    map.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect()
}

fn request(method: String, params: &Value) -> (String, Vec<String>) {
    let mut says = method;
    if says == "elicitation/create" {
        return (says, vec![format!("? {}", shown(&params["message"]))]);
    }
    for member in ["name", "protocolVersion"] {
        if let Some(value) = params.get(member) {
            let _ = write!(says, " {}", shown(value));
        }
    }
    // A retry repeats the arguments of the call; the story has shown them before.
    let is_retry = params.get("requestState").or(params.get("inputResponses")).is_some();
    if !is_retry && let Some(arguments) = params["arguments"].as_object() {
        says += &members(arguments);
    }
    let answers = params["inputResponses"].as_object().into_iter().flatten();
    (says, answers.map(|(key, answer)| format!("= {}:{}", line(key), short_answer(answer))).collect())
}

fn response(result: &Value) -> (String, Vec<String>) {
    let mut details: Vec<_> = result["inputRequests"].as_object().into_iter().flatten().map(question).collect();
    let says = if let Some(status) = result.get("status") {
        format!("task {}", shown(status))
    } else if let Some(kind) = result.get("resultType") {
        let asks_nothing = kind == "input_required" && details.is_empty();
        shown(kind) + if asks_nothing { ", nothing asked" } else { "" }
    } else if result.get("action").is_some() {
        return ("result".to_owned(), vec![format!("={}", short_answer(result))]);
    } else if let Some(version) = result.get("protocolVersion") {
        format!("result {}", shown(version))
    } else {
        "result".to_owned()
    };
    // A task that is over has its result inside.
    let whole = result.get("result").unwrap_or(result);
    let blocks = whole["content"].as_array().into_iter().flatten();
    details.extend(blocks.filter_map(|block| block["text"].as_str()).map(line));
    (says, details)
}

fn question((key, question): (&String, &Value)) -> String {
    let (key, params) = (line(key), &question["params"]);
    match question["method"].as_str() {
        Some("elicitation/create") => format!("? {key}: {}", shown(&params["message"])),
        Some("sampling/createMessage") => {
            format!("? {key}, of a model: {}", shown(&params["messages"][0]["content"]["text"]))
        }
        _ => format!("? {key}: {}", shown(&question["method"])),
    }
}

/// Writes an answer in short, after a space.
fn short_answer(answer: &Value) -> String {
    if let Some(roots) = answer["roots"].as_array() {
        return roots.iter().fold(String::new(), |all, root| all + " " + &shown(&root["uri"]));
    }
    match (&answer["content"], &answer["action"]) {
        (Value::Object(block), Value::Null) => format!(" {}", shown(&block["text"])),
        (Value::Object(content), _) => members(content),
        (_, action) => format!(" {}", shown(action)),
    }
}

/// Members as one would type them, each behind a space.
fn members(members: &Map<String, Value>) -> String {
    members.iter().fold(String::new(), |all, (name, value)| all + " " + &line(&format!("{name}={value}")))
}

/// Writes a text without its quotes, and any other value as JSON.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| line(&value.to_string()), line)
}

fn line(text: &str) -> String {
    Printable::line(text).to_string()
}

/// The effects that the handlers of one server can have outside of their flows.
#[derive(Clone)]
pub(crate) struct Effects(Reach);

#[derive(Clone)]
enum Reach {
    /// From a server in the tour's own process.
    Here { at: Actor, recording: Recording },
    /// From a server in a process of its own: the tour listens there.
    Elsewhere(SocketAddr),
}

impl Effects {
    pub(crate) fn here(at: Actor, recording: Recording) -> Self {
        Self(Reach::Here { at, recording })
    }

    pub(crate) fn elsewhere(listener: SocketAddr) -> Self {
        Self(Reach::Elsewhere(listener))
    }

    /// Does something. It has happened, for all to see, when this returns.
    pub(crate) async fn act(&self, what: impl Into<String>) -> Result<(), Failure> {
        match &self.0 {
            Reach::Here { at, recording } => recording.add(Event::Effect { at, what: what.into() }),
            Reach::Elsewhere(listener) => tell(*listener, &what.into()).await?,
        }
        Ok(())
    }
}

async fn tell(listener: SocketAddr, what: &str) -> io::Result<()> {
    let mut stream = BufReader::new(TcpStream::connect(listener).await?);
    stream.write_all(format!("{}\n", what.replace('\n', " ")).as_bytes()).await?;
    // The tour closes the connection once it has written it down.
    stream.read_line(&mut String::new()).await.map(drop)
}

/// A listener to which servers in processes of their own report their effects, until this is dropped.
pub(crate) struct Witness {
    address: SocketAddr,
    listening: JoinHandle<()>,
}

impl Witness {
    pub(crate) async fn of(at: Actor, recording: Recording) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let listening = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (told, _answer) = stream.split();
                let mut line = String::new();
                let read = BufReader::new(told.take(LONGEST)).read_line(&mut line).await;
                // Half a line is from a process that was killed before it did anything.
                if read.is_ok() && line.ends_with('\n') {
                    recording.add(Event::Effect { at, what: line.trim_end().to_owned() });
                }
                // Now it has happened.
                drop(stream);
            }
        });
        Ok(Self { address, listening })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// The longest line that the tour reads from a process that reports an effect, in bytes.
const LONGEST: u64 = 1000;
