//! Plays stories, one after the other, until the last one or an interrupt.

use std::pin::pin;

use anstyle::Style;
use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::json;

use crate::drawing::{BAD, BOLD, DIM, GOOD, WIDTH, wrap};
use crate::recording::{Event, Recording, Screen};
use crate::stage::{Claim, Stage};
use crate::stories::{STORIES, Story};

/// A story with its outcome.
#[derive(Serialize)]
pub(crate) struct Played {
    #[serde(flatten)]
    pub(crate) story: &'static Story,
    pub(crate) events: Vec<Event>,
    pub(crate) claims: Vec<Claim>,
    /// The reason that the story stopped before its end, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// The error of a tour that was interrupted. Everything that the tour had started is stopped and removed.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl Played {
    /// Returns true if the story came to its end, and all of its claims hold.
    pub(crate) fn holds(&self) -> bool {
        self.failures().next().is_none()
    }

    /// The failures, a line each.
    pub(crate) fn failures(&self) -> impl Iterator<Item = String> {
        let name = self.story.name;
        let broken = self.claims.iter().filter(|claim| !claim.holds).map(move |claim| {
            format!("{name}: the claim `{}` failed: {}", claim.what, claim.problem.as_deref().unwrap_or_default())
        });
        broken.chain(self.error.iter().map(move |error| format!("{name}: {error}")))
    }
}

/// Plays these stories, and draws them if there is a screen. A story that fails does not stop the others.
pub(crate) async fn play(
    stories: &[&'static Story],
    screen: Option<&Screen>,
    interrupt: impl Future<Output = ()>,
) -> Result<Vec<Played>, Interrupted> {
    let mut interrupt = pin!(interrupt);
    let mut played = Vec::new();
    if let Some(screen) = screen {
        opening(screen);
    }
    for (number, story) in (1..).zip(stories) {
        if let Some(screen) = screen {
            heading(number, story, screen);
        }
        let recording = Recording::begin(story.cast, screen);
        let one = play_one(story, recording, interrupt.as_mut()).await?;
        if let Some(screen) = screen {
            conclusion(&one, screen);
        }
        played.push(one);
    }
    Ok(played)
}

/// Plays a story, until it ends or `interrupt` is done. Then everything that the story had started is stopped and
/// removed.
pub(crate) async fn play_one(
    story: &'static Story,
    recording: Recording,
    interrupt: impl Future<Output = ()>,
) -> Result<Played, Interrupted> {
    let stage = match Stage::new(recording) {
        Ok(stage) => stage,
        Err(error) => return Ok(failed(story, &error)),
    };
    let ended = tokio::select! {
        ended = (story.play)(&stage) => Some(ended.context("the story did not come to its end")),
        () = interrupt => None,
    };
    let closed = stage.close().await;
    match (ended, closed) {
        (None, _) => Err(Interrupted),
        (Some(ended), Ok((events, claims))) => {
            let error = ended.err().map(|error| format!("{error:#}"));
            Ok(Played { story, events, claims, error })
        }
        (_, Err(error)) => Ok(failed(story, &error)),
    }
}

fn failed(story: &'static Story, error: &anyhow::Error) -> Played {
    Played { story, events: Vec::new(), claims: Vec::new(), error: Some(format!("{error:#}")) }
}

/// Lists the stories by name.
pub(crate) fn list(screen: &Screen) {
    for story in &STORIES {
        let name = format!("{:NAME_WIDTH$}", story.name);
        screen.line(format_args!("{BOLD}{name}{BOLD:#}{}", story.title));
    }
}

/// Tells the reader what is about to be shown.
pub(crate) fn opening(screen: &Screen) {
    paragraph(OPENING, Style::new(), screen);
}

pub(crate) fn heading(number: usize, story: &Story, screen: &Screen) {
    let title = format!("{number}. {}", story.title);
    let name = format!("{:>1$}", format!("({})", story.name), WIDTH - title.chars().count());
    screen.line("");
    screen.line(format_args!("{BOLD}{title}{BOLD:#}{DIM}{name}{DIM:#}"));
    paragraph(story.premise, Style::new(), screen);
    screen.line("");
}

/// Shows the claims that were checked, and what the story showed.
pub(crate) fn conclusion(played: &Played, screen: &Screen) {
    screen.line("");
    for claim in &played.claims {
        let (style, mark) = if claim.holds { (GOOD, '✓') } else { (BAD, '✗') };
        paragraph(&format!("{mark} {}", claim.what), style, screen);
        if let Some(problem) = &claim.problem {
            paragraph(&format!("  {problem}"), BAD, screen);
        }
    }
    match &played.error {
        Some(error) => paragraph(&format!("✗ {error}"), BAD, screen),
        None => paragraph(played.story.shown, Style::new(), screen),
    }
}

/// Sums up how it went, and says what to try next.
pub(crate) fn farewell(played: &[Played], screen: &Screen) {
    let (claims, failed) = (played.iter().map(|one| one.claims.len()).sum::<usize>(), played.iter());
    let failed: Vec<_> = failed.filter(|one| !one.holds()).map(|one| one.story.name).collect();
    screen.line("");
    if failed.is_empty() {
        let stories = if played.len() == 1 { "1 story".to_owned() } else { format!("{} stories", played.len()) };
        screen.line(format_args!("{GOOD}{stories}, {claims} claims checked: all hold.{GOOD:#}"));
    } else {
        screen.line(format_args!("{BAD}Not everything holds: see {}.{BAD:#}", failed.join(", ")));
    }
    screen.line("");
    screen.line(format_args!("{BOLD}What to try next{BOLD:#}"));
    // As the command is called here: a fresh clone has no `mrtr` on its path.
    let mrtr = if std::env::var_os("CARGO").is_some() { "cargo run -p mrtr-cli --" } else { "mrtr" };
    for (command, what) in NEXT {
        screen.line(format_args!("  {mrtr} {command}"));
        screen.line(format_args!("      {DIM}{what}{DIM:#}"));
    }
    paragraph(DOCS, Style::new(), screen);
}

/// Writes all of it as JSON, for programs.
pub(crate) fn document(played: &[Played]) -> String {
    let holds = played.iter().all(Played::holds);
    format!("{:#}", json!({ "holds": holds, "stories": played }))
}

fn paragraph(text: &str, style: Style, screen: &Screen) {
    let indent = if text.starts_with(['✓', '✗', ' ']) { 2 } else { 0 };
    for line in wrap(text, WIDTH, indent) {
        screen.line(format_args!("{style}{line}{style:#}"));
    }
}

const OPENING: &str = "Servers and clients on this machine, over real HTTP. Each arrow is a message as it was seen; ? is \
                       a question, = an answer, ● something that was really done.";

const NAME_WIDTH: usize = 18;

const NEXT: [(&str, &str); 3] = [
    ("serve", "a server with tools that ask, for any client; it says its address"),
    ("call URL TOOL name=value", "calls a tool of any server, and asks you what the server asks"),
    ("tour --story echo-task --json", "one story alone, as JSON"),
];

const DOCS: &str = "https://github.com/mrtr-rs/mrtr#readme shows how to write a server and a client. \
                    https://github.com/mrtr-rs/mrtr/blob/main/docs/HOSTS.md has the settings for Claude, VS Code and \
                    others.";

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::Stdio;
    use std::sync::{Arc, Mutex, OnceLock};

    use tokio::process::Command;

    use super::*;
    use crate::exit_code;
    use crate::stories::STORIES;

    static WEATHER: Story = STORIES[0];

    /// The text that a screen showed.
    #[derive(Clone, Default)]
    struct Shown(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Shown {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().map_err(|_| std::io::ErrorKind::Other)?.write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Shown {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().expect("no test panicked").clone()).expect("it is text")
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_claim_that_does_not_hold_fails_the_tour_and_is_named() {
        let recording = Recording::begin(WEATHER.cast, None);
        // As if the weather had been looked up before the user was asked.
        recording.add(Event::Effect { at: "weather", what: "looks the weather up".into() });
        let played = play_one(&WEATHER, recording, std::future::pending()).await.expect("no interrupt");
        let failures: Vec<_> = played.failures().collect();
        assert_eq!(failures, ["weather: the claim `the weather was looked up once` failed: expected 1, saw 2"]);
        let shown = Shown::default();
        conclusion(&played, &Screen::new(shown.clone()));
        farewell(std::slice::from_ref(&played), &Screen::new(shown.clone()));
        let text = shown.text();
        assert!(text.contains("✗ the weather was looked up once") && text.contains("expected 1, saw 2"), "{text}");
        assert!(text.contains("Not everything holds: see weather."), "{text}");
        assert_eq!(exit_code(&[played]), std::process::ExitCode::FAILURE);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn claims_that_hold_end_the_tour_well() {
        let played = play_one(&WEATHER, Recording::begin(WEATHER.cast, None), std::future::pending()).await;
        let played = played.expect("no interrupt");
        assert_eq!((played.failures().count(), played.claims.len()), (0, 3));
        assert_eq!(exit_code(&[played]), std::process::ExitCode::SUCCESS);
    }

    static STARTED: OnceLock<(PathBuf, u32)> = OnceLock::new();

    /// Starts a process in the folder of its stage, and then waits for ever.
    static ENDLESS: Story = Story {
        play: |stage| {
            Box::pin(async {
                let file = stage.file("in-the-folder");
                std::fs::write(&file, "")?;
                // Without the streams of the test, so that the process ends even if the test fails.
                let mut process = Command::new("sleep");
                process.arg("60").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                let process = process.spawn()?;
                STARTED.get_or_init(|| (file, process.id().unwrap_or_default()));
                stage.adopt(process).await;
                std::future::pending().await
            })
        },
        ..STORIES[0]
    };

    #[tokio::test]
    async fn an_interrupt_leaves_neither_a_process_nor_a_file() {
        let started = async {
            while STARTED.get().is_none() {
                tokio::task::yield_now().await;
            }
        };
        let played = play(&[&ENDLESS], None, started).await;
        assert!(matches!(played, Err(Interrupted)));
        let (file, process) = STARTED.get().expect("it was started");
        assert!(!file.exists() && !file.parent().expect("a folder").exists(), "{} is left", file.display());
        let alive =
            std::process::Command::new("kill").args(["-0", &process.to_string()]).stderr(Stdio::null()).status();
        assert!(!alive.expect("there is `kill`").success(), "process {process} is left");
    }
}
