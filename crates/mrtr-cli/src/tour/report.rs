//! What the tour says around its stories: headings, conclusions, what to try next; and all of it as JSON.

use anstyle::Style;
use serde_json::json;

use super::drawing::{BAD, BOLD, DIM, GOOD, WIDTH, wrap};
use super::play::Played;
use super::recording::Screen;
use super::stories::{STORIES, Story};

/// The stories by name.
pub(crate) fn list(screen: &Screen) {
    for story in &STORIES {
        let name = format!("{:NAME_WIDTH$}", story.name);
        screen.line(format_args!("{BOLD}{name}{BOLD:#}{}", story.title));
    }
}

/// What one is about to see.
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

/// What was shown, and what of it was checked.
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

/// How it went, and what to try next.
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

/// All of it, for machines.
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

const DOCS: &str = "README.md has a server and a client of your own in ten lines each, docs/HOSTS.md what to paste \
                    into Claude, VS Code and others.";
