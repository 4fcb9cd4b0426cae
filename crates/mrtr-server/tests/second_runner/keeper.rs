//! A keeper of flows in memory: rows, runs over them, and what a restart or a crash leaves.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use mrtr_flow::{
    Entries, EntryKind, Journal, JournalSink, Outcome, Question, RunReport, SinkError, StopReason, StopSignal,
};
use mrtr_schema::{CallToolResult, ContentBlock, Json, JsonObject, Revision};
use mrtr_server::extend::{Extension, ExtensionMessage, ExtensionReply, ExtensionRequest, Host, OfferedCall, ToolCall};
use mrtr_server::{Failure, ProtocolError};
use mrtr_state::{FlowId, FlowProgress, Timestamp};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The table that outlives restarts: rows by id. Clones are the same.
#[derive(Clone)]
pub(crate) struct Kept(Arc<Mutex<HashMap<String, Row>>>, watch::Sender<()>);

impl Default for Kept {
    fn default() -> Self {
        Self(Arc::default(), watch::Sender::new(()))
    }
}

/// Everything in it could stand in a table: texts, bytes and numbers.
#[derive(Clone)]
struct Row {
    tool: String,
    arguments: String,
    capabilities: String,
    identity: String,
    revision: String,
    flow: [u8; 16],
    times: [u64; 2],
    /// The number of the run that has it; an earlier run writes nothing any more.
    fence: u64,
    /// Entries as they came, one after the other.
    journal: Vec<u8>,
    asked: Vec<Asked>,
    /// Keys that were shown, and for which request each stood: none ever stands for two.
    shown: Vec<(String, String)>,
    /// Answers that came while it was running.
    answers: Vec<(String, String)>,
    running: bool,
    done: Option<(String, bool)>,
    cancelled: bool,
}

#[derive(Clone)]
struct Asked {
    name: String,
    /// Its key on the wire.
    key: String,
    wording: mrtr_flow::Asked,
    optional: bool,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Status {
    Working { asked: Vec<String> },
    Waiting { asked: Vec<String> },
    Done { text: String, failed: bool },
    Cancelled,
}

/// The extension. Clones are the same.
#[derive(Clone)]
pub(crate) struct Keeper {
    kept: Kept,
    host: Arc<OnceLock<Host>>,
    runs: Arc<Mutex<HashMap<String, Vec<JoinHandle<()>>>>>,
    /// The signals that stop the runs, by flow.
    signals: Arc<Mutex<HashMap<String, StopSignal>>>,
}

impl Keeper {
    pub(crate) fn over(kept: &Kept) -> Self {
        Self { kept: kept.clone(), host: Arc::default(), runs: Arc::default(), signals: Arc::default() }
    }

    fn rows(&self) -> MutexGuard<'_, HashMap<String, Row>> {
        self.kept.0.lock().unwrap()
    }

    fn change<T>(&self, id: &str, change: impl FnOnce(&mut Row) -> T) -> T {
        let changed = change(self.rows().get_mut(id).unwrap());
        self.kept.1.send_replace(());
        changed
    }

    /// Keeps a call under its flow's id, if it is not kept yet, and runs it.
    fn keep(&self, call: &ToolCall) -> Json {
        let id = call.flow_progress.flow().to_string();
        let is_new = !self.rows().contains_key(&id);
        if is_new {
            let row = Row {
                tool: call.tool.clone(),
                arguments: call.arguments.as_str().to_owned(),
                capabilities: serde_json::to_string(&call.capabilities).unwrap(),
                identity: serde_json::to_string(&call.identity).unwrap(),
                revision: call.revision.to_string(),
                flow: *call.flow_progress.flow().as_bytes(),
                times: [call.flow_progress.started().as_millis(), call.flow_progress.ends().as_millis()],
                fence: 0,
                journal: call.journal.to_bytes(),
                asked: Vec::new(),
                shown: Vec::new(),
                answers: Vec::new(),
                running: false,
                done: None,
                cancelled: false,
            };
            self.rows().insert(id.clone(), row);
            self.start(&id);
        }
        Json::of(&json!({ "resultType": "com.example/kept", "id": id })).unwrap()
    }

    /// Starts a run of what the row says.
    fn start(&self, id: &str) {
        let row = self.change(id, |row| {
            row.fence += 1;
            row.running = true;
            row.asked.clear();
            row.clone()
        });
        let (keeper, id) = (self.clone(), id.to_owned());
        let run = {
            let id = id.clone();
            tokio::spawn(async move { keeper.run(&id, row).await })
        };
        self.runs.lock().unwrap().entry(id).or_default().push(run);
    }

    async fn run(&self, id: &str, row: Row) {
        let journal = Journal::from_bytes(row.journal).unwrap();
        let [started, ends] = row.times.map(Timestamp::from_millis);
        let flow_progress = FlowProgress::restore(FlowId::from_bytes(row.flow), started, ends, 1);
        let mut call = self.host.get().unwrap().call(row.tool, Json::parse(&row.arguments).unwrap(), flow_progress);
        call.capabilities = serde_json::from_str(&row.capabilities).unwrap();
        call.identity = serde_json::from_str(&row.identity).unwrap();
        call.revision = row.revision.parse().unwrap();
        let signal = StopSignal::new();
        self.signals.lock().unwrap().insert(id.to_owned(), signal.clone());
        let sink = Arc::new(Sink { keeper: self.clone(), id: id.to_owned(), fence: row.fence });
        let ran = call.run(journal, |context| context.as_task(1 << 20).sink(sink).stop(signal)).await;
        self.conclude(id, row.fence, &call, ran);
    }

    fn conclude(&self, id: &str, fence: u64, call: &ToolCall, ran: Result<RunReport<CallToolResult>, Failure>) {
        let Ok(RunReport { outcome, journal, .. }) = ran else { return };
        let again = self.change(id, |row| {
            if row.fence != fence || row.cancelled {
                return false;
            }
            row.journal = journal.to_bytes();
            row.running = false;
            match outcome {
                Outcome::Done(result) => row.done = Some((text(&result), result.is_error == Some(true))),
                Outcome::Failed(failure) => {
                    row.done = Some(
                        call.failed(failure)
                            .map_or_else(|error| (error.to_string(), true), |result| (text(&result), true)),
                    );
                }
                Outcome::Waiting(questions) => {
                    // Those by hand: the sink was told of the others.
                    let untold = |question: &&Question| row.asked.iter().all(|asked| asked.name != question.key);
                    let by_hand: Vec<_> = questions.iter().filter(untold).collect();
                    for question in by_hand {
                        row.ask(question);
                    }
                }
                // A flow that is woken looks again at questions that are settled elsewhere; a real runner has a clock
                // as well.
                Outcome::Yielded { pause, .. } => return pause.is_zero(),
                Outcome::IntoTask | Outcome::Stopped(_) => unreachable!("it is a task, and was not cancelled"),
            }
            row.take_answers()
        });
        if again {
            self.start(id);
        }
    }

    /// Answers a question; if nothing runs, the next run starts.
    pub(crate) fn answer(&self, id: &str, key: &str, answer: &Value) {
        let starts = self.change(id, |row| {
            row.answers.push((key.to_owned(), answer.to_string()));
            !row.running && row.take_answers()
        });
        if starts {
            self.start(id);
        }
    }

    /// Goes on without answers to what is optional.
    pub(crate) fn go_on_without_answers(&self, id: &str) {
        self.change(id, |row| {
            let mut journal = Journal::from_bytes(row.journal.clone()).unwrap();
            row.asked.iter().filter(|asked| asked.optional).for_each(|asked| journal.skip(&asked.name));
            row.journal = journal.to_bytes();
        });
        self.start(id);
    }

    /// Tells the flow that something outside has happened that it may wait for.
    pub(crate) fn wake(&self, id: &str) {
        self.start(id);
    }

    /// Ends it, unless it has ended: a step that has begun may still be recorded, and no other begins.
    pub(crate) fn cancel(&self, id: &str) {
        self.change(id, |row| row.cancelled = row.done.is_none());
        if let Some(signal) = self.signals.lock().unwrap().get(id) {
            signal.raise(StopReason::Cancelled);
        }
    }

    /// The names of the steps on record.
    pub(crate) fn steps(&self, id: &str) -> Vec<String> {
        let journal = Journal::from_bytes(self.rows()[id].journal.clone()).unwrap();
        journal.steps().map(str::to_owned).collect()
    }

    /// Crashes the process: its runs are dropped where they are.
    pub(crate) fn crash(&self, id: &str) {
        for run in self.runs.lock().unwrap().remove(id).into_iter().flatten() {
            run.abort();
        }
    }

    /// Takes a flow over from the runner that had it.
    pub(crate) fn recover(&self, id: &str) {
        self.change(id, |row| {
            row.take_answers();
        });
        self.start(id);
    }

    pub(crate) fn status(&self, id: &str) -> Status {
        let row = &self.rows()[id];
        let asked = row.asked.iter().map(|asked| asked.key.clone()).collect();
        match &row.done {
            Some((text, failed)) => Status::Done { text: text.clone(), failed: *failed },
            None if row.cancelled => Status::Cancelled,
            None if row.running => Status::Working { asked },
            None => Status::Waiting { asked },
        }
    }

    /// Waits for a status.
    pub(crate) async fn until(&self, id: &str, is_it: impl Fn(&Status) -> bool) -> Status {
        let mut changes = self.kept.1.subscribe();
        loop {
            let status = self.status(id);
            if is_it(&status) {
                return status;
            }
            changes.changed().await.unwrap();
        }
    }

    /// Waits until no run of it is left.
    pub(crate) async fn ended(&self, id: &str) {
        let runs = self.runs.lock().unwrap().remove(id);
        for run in runs.into_iter().flatten() {
            run.await.unwrap();
        }
    }
}

impl Row {
    /// Shows a question under the key it had, unless that stood for another request or for an answer that would not do.
    fn ask(&mut self, question: &Question) {
        let request = serde_json::to_string(&question.request).unwrap();
        let same = self.shown.iter().rev().find(|(_, shown)| *shown == request && question.refused.is_none());
        let key = same.map_or_else(
            || {
                let fresh = (1..).map(|n| if n == 1 { question.key.clone() } else { format!("{}.{n}", question.key) });
                fresh.into_iter().find(|key| self.shown.iter().all(|(shown, _)| shown != key)).unwrap()
            },
            |(key, _)| key.clone(),
        );
        self.shown.push((key.clone(), request));
        let Question { key: name, asked: wording, optional, .. } = question.clone();
        self.asked.retain(|asked| asked.name != name);
        self.asked.push(Asked { name, key, wording, optional });
    }

    /// Puts the answers to open questions into the journal, and says whether there were any.
    fn take_answers(&mut self) -> bool {
        let mut journal = Journal::from_bytes(self.journal.clone()).unwrap();
        let mut any = false;
        for (key, answer) in self.answers.drain(..) {
            if let Some(asked) = self.asked.iter().find(|asked| asked.key == key) {
                journal.answer(&asked.name, &RawValue::from_string(answer).unwrap(), asked.wording);
                any = true;
            }
        }
        self.journal = journal.to_bytes();
        any
    }
}

fn text(result: &CallToolResult) -> String {
    match &result.content[..] {
        [ContentBlock::Text(text)] => text.text.clone(),
        other => format!("{other:?}"),
    }
}

struct Sink {
    keeper: Keeper,
    id: String,
    fence: u64,
}

#[async_trait]
impl JournalSink for Sink {
    async fn record(&self, entries: &Entries) -> Result<(), SinkError> {
        self.keeper.change(&self.id, |row| {
            if row.fence != self.fence {
                return Err(SinkError::Lost);
            }
            row.journal.extend_from_slice(entries.as_bytes());
            entries.questions().iter().for_each(|question| row.ask(question));
            for entry in entries.iter().filter(|entry| entry.kind() == EntryKind::QuestionWithdrawn) {
                row.asked.retain(|asked| asked.name != entry.name());
            }
            Ok(())
        })
    }
}

#[async_trait]
impl Extension for Keeper {
    fn name(&self) -> &'static str {
        "com.example/keeper"
    }

    fn capability(&self, _: Revision) -> Option<JsonObject> {
        Some(JsonObject::default())
    }

    fn attached(&self, host: Host) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.host.set(host).map_err(|_| "a keeper serves one server".into())
    }

    fn owns(&self, method: &str, _: Revision) -> bool {
        method == "com.example/kept/result"
    }

    /// Blocks until the flow has ended, without holding anything.
    async fn handle(&self, request: &ExtensionRequest<'_>) -> Result<ExtensionReply, ProtocolError> {
        let id = request.params.text("id").ok().flatten().unwrap_or_default().into_owned();
        let keeper = self.clone();
        let ended = async move {
            let done = keeper.until(&id, |status| matches!(status, Status::Done { .. } | Status::Cancelled)).await;
            let result = json!({ "resultType": "complete", "status": format!("{done:?}") });
            ExtensionMessage::Result(Ok(result.into()))
        };
        Ok(ExtensionReply::Stream(stream::once(ended).boxed()))
    }

    async fn take_over(&self, call: &OfferedCall<'_>) -> Result<Option<Json>, ProtocolError> {
        Ok(call.task().is_some().then(|| self.keep(&call.to_call())))
    }

    async fn continue_as_task(&self, call: &OfferedCall<'_>) -> Result<Option<Json>, ProtocolError> {
        Ok(Some(self.keep(&call.to_call())))
    }
}
