//! A call from its first message to its end: shown while it runs, and saved where it cannot continue here.

mod ending;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, bail};
use mrtr::client::{CallEvent, EventKind};
use mrtr::schema::{CallToolResult, Json, Number, Printable, Wire};
use mrtr::{CallError, CallErrorKind, Client, PendingCall};

use crate::answering::{Answering, AnsweringOptions, Replaced, WhenAsked};
use crate::failure::{Code, Failure};
use crate::kept::{Kept, answered};
use crate::saved::{SaveTo, SavedCall};
use crate::screen::Screen;
use crate::server::{ReachOptions, Target};
use crate::shown;
use crate::shown::{ERROR, QUIET, quoted_path, styled};
pub(crate) use ending::{explained, is_refused, no_such_task};

#[derive(clap::Args)]
pub(crate) struct OutputOptions {
    /// Write the whole result as JSON
    #[arg(long)]
    json_output: bool,
}

/// A client with a person behind it.
pub(crate) struct Conversation {
    pub(crate) client: Client,
    target: Target,
    screen: Screen,
    answering: Arc<Answering>,
    writes_json: bool,
}

/// The way in which a call ended, or the reason why it could not continue here.
pub(crate) enum Ended {
    /// The call has a result, which was printed.
    Done(ExitCode),
    /// The call has no result.
    Failed(anyhow::Error),
}

impl Conversation {
    /// Sets a client up, and connects to the server.
    pub(crate) fn begin(
        target: Target,
        reach: &ReachOptions,
        answering: &AnsweringOptions,
        output: &OutputOptions,
        when_asked: WhenAsked,
    ) -> Result<Self> {
        let screen = Screen::default();
        let client = reach.client(&target, &screen)?;
        let (client, answering) = answering.prepare(client, &screen, when_asked)?;
        let client = client.build();
        tokio::spawn(follow(client.clone(), screen.clone(), Arc::clone(&answering)));
        Ok(Self { client, target, screen, answering, writes_json: output.json_output })
    }

    /// Notes that the call was saved before.
    pub(crate) fn note_resumed(&self) {
        self.answering.note_resumed();
    }

    pub(crate) fn screen(&self) -> &Screen {
        &self.screen
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Runs a call to its end, and prints its result. Ctrl-C saves it.
    pub(crate) async fn run(&self, tool: &str, kept: Kept, save_to: &SaveTo) -> Result<Ended> {
        let call = match self.answering.replace_kept(&kept)? {
            Replaced::Call(call) => *call,
            Replaced::Contradicts(key) => bail!(self.contradicted(&key, save_to)),
        };
        self.note_kept(&kept, &call);
        let ended = self.client.resume_until(call, self.interrupted()).await;
        self.screen.idle();
        match ended {
            Ok(result) => self.print(&result).map(Ended::Done),
            Err(error @ CallError { kind: CallErrorKind::Interrupted, .. }) => {
                Ok(Ended::Failed(self.stopped(tool, error, &kept, save_to)))
            }
            Err(error) => Ok(Ended::Failed(self.failed(tool, error, &kept, save_to))),
        }
    }

    /// Names the answers that are sent although they were given before, and those that are not.
    fn note_kept(&self, kept: &Kept, call: &PendingCall) {
        let (sent, replaced): (Vec<_>, Vec<_>) =
            answered(&kept.call).partition(|key| answered(call).any(|kept| kept == *key));
        for (what, keys) in [("answered before", sent), ("replaced by --answers", replaced)] {
            if !keys.is_empty() {
                self.screen.say(styled(QUIET, format_args!("{what}: {}", shown::listed(keys))));
            }
        }
    }

    /// Waits for Ctrl-C while no question is open; a question sees Ctrl-C by itself.
    async fn interrupted(&self) {
        loop {
            if tokio::signal::ctrl_c().await.is_err() {
                // Without signals there is no Ctrl-C to wait for.
                return std::future::pending().await;
            }
            if !self.screen.has_question() {
                return;
            }
            self.answering.interrupt();
        }
    }

    fn print(&self, result: &Json) -> Result<ExitCode> {
        if let Some(unused) = self.answering.unused() {
            self.screen.say(styled(QUIET, unused));
        }
        let typed = CallToolResult::from_json(result.as_str(), self.client.revision().lenient())
            .map_err(|error| Failure::new(format!("the result is not one of a tool: {error}")))?;
        let has_failed = typed.is_error == Some(true);
        match (self.writes_json, has_failed) {
            (true, _) => shown::print(&format!("{}\n", shown::visible_json(result.as_str())))?,
            (false, false) => shown::print_result(&typed)?,
            (false, true) => {
                let text = shown::text_of(&typed);
                self.screen.say(format_args!("{} {}", styled(ERROR, "the tool failed:"), Printable::text(&text)));
            }
        }
        Ok(if has_failed { Code::ToolFailed.into() } else { ExitCode::SUCCESS })
    }

    /// Saves a call, and returns the path of its file.
    fn save(&self, tool: &str, kept: Kept, save_to: &SaveTo) -> Result<PathBuf> {
        SavedCall::new(self.target.clone(), tool, kept).write(save_to)
    }

    /// The command that resumes a saved call.
    fn resume_command(&self, saved: &Path) -> String {
        let more = if self.target.has_credentials() { " --url URL (the credentials in it are not saved)" } else { "" };
        format!("mrtr resume {}{more}", quoted_path(saved))
    }
}

/// Shows what happens during calls.
async fn follow(client: Client, screen: Screen, answering: Arc<Answering>) {
    let mut events = client.events();
    while let Some(CallEvent { name, kind, .. }) = events.next().await {
        let name = name.as_deref().map(|name| Printable::line(name).up_to(64).to_string()).unwrap_or_default();
        match kind {
            EventKind::Round(1) => screen.working(name),
            EventKind::Round(round) => screen.working(format!("{name}, round {round}")),
            EventKind::BackOff(pause) => {
                let waits = if answering.awaits_visit() {
                    "waiting for your visit to the page"
                } else {
                    "waiting for the server, which is not ready"
                };
                screen.working(format!("{name}: {waits}; asks again in {:.1} s", pause.as_secs_f64()));
            }
            EventKind::Task(id) => {
                screen.say(styled(QUIET, format_args!("the call has become task {}", Printable::line(&id).up_to(64))));
                screen.working(format!("{name}: the task runs"));
            }
            EventKind::Progress(progress) => {
                let message = Printable::line(progress.message.as_deref().unwrap_or(&name)).up_to(64).to_string();
                match (whole(&progress.progress), progress.total.as_ref().and_then(whole)) {
                    (Some(done), Some(of)) if of > 0 => screen.progress(message, done, of),
                    _ => screen.working(message),
                }
            }
            EventKind::Log(log) => {
                let said =
                    log.data.as_text().map_or_else(|| log.data.as_str().to_owned(), std::borrow::Cow::into_owned);
                screen.say(styled(QUIET, format_args!("server: {}", shown::prose(&said))));
            }
            EventKind::Done | EventKind::Abandoned => screen.idle(),
            _ => {}
        }
    }
}

fn whole(number: &Number) -> Option<u64> {
    number.as_i64().and_then(|number| number.try_into().ok())
}
