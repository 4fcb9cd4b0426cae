//! `mrtr state inspect`: shows what a sealed state says of itself, as far as the keys at hand open it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mrtr::flow::{EntryKind, Journal};
use mrtr::schema::Printable;
use mrtr_state::codec::Signed;
use mrtr_state::{Payload, Refusal, Sealer, StateClaims, StateHeader, Timestamp};

use crate::failure::Failure;
use crate::saved::SavedCall;
use crate::serve::unusable;
use crate::shown::{print, size};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show which key sealed a state; with --keys, also which call it belongs to
    Inspect {
        /// Show this state: the text of `requestState` in a message
        #[arg(required_unless_present = "file")]
        token: Option<String>,
        /// Show the state of the call that `mrtr call` saved in this file
        #[arg(long, value_name = "FILE", conflicts_with = "token")]
        file: Option<PathBuf>,
        /// Open the state with the keys in this file
        #[arg(long, value_name = "FILE")]
        keys: Option<PathBuf>,
        /// Show the answers and values in it, which may be secret
        #[arg(long, requires = "keys")]
        payload: bool,
    },
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let Command::Inspect { token, file, keys, payload } = &options.command;
    let token = match (token, file) {
        (_, Some(path)) => SavedCall::state_in(path)?,
        (token, None) => token.clone().unwrap_or_default(),
    };
    let token = token.trim().trim_matches('"');
    let header = StateHeader::read(token).map_err(|_| {
        Failure::new("this is not a state that mrtr sealed")
            .next("give the whole text of `requestState`, such as mrtr1x.k1.YHLY…")
            .next("or the file of a saved call, which has it: mrtr state inspect --file FILE")
    })?;
    let mut lines = vec![
        ("codec", codec(header.codec).to_owned()),
        ("key", header.key.to_string()),
        ("token id", header.token.to_string()),
        ("length", format!("{} of text, {} of them sealed", size(token.len()), header.sealed_bytes)),
    ];
    match keys {
        None => lines.push(("inside", "not shown without its keys: --keys FILE".to_owned())),
        Some(path) => lines.extend(inside(&open(token, &header, path)?, *payload)),
    }
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let lines: Vec<_> = lines.iter().map(|(name, text)| format!("{name:width$}  {text}")).collect();
    print(&format!("{}\n", lines.join("\n")))?;
    Ok(ExitCode::SUCCESS)
}

fn codec(letter: char) -> &'static str {
    match letter {
        'x' => "x: XChaCha20-Poly1305, sealed and not readable",
        's' => "s: HMAC-SHA256, signed and readable",
        _ => "one that this command does not know",
    }
}

fn open(token: &str, header: &StateHeader, path: &Path) -> Result<StateClaims> {
    let sealer = Sealer::from_file(path).map_err(|error| unusable(&error))?.limit(LONGEST);
    let sealer = if header.codec == 's' { sealer.codec(Signed::default()) } else { sealer };
    sealer.inspect(token).map_err(|refusal| {
        let failure = Failure::new(format!("the keys in {} do not open the state: {refusal}", path.display()));
        match refusal {
            Refusal::UnknownKey => {
                failure.next(format!("it names the key `{}`: give the file that has it", header.key))
            }
            Refusal::Forged => failure.next("the key has the right name and another secret, or the state was changed"),
            _ => failure.next("it may be of another version of mrtr"),
        }
        .into()
    })
}

fn inside(claims: &StateClaims, with_payload: bool) -> Vec<(&'static str, String)> {
    let now = Timestamp::from(SystemTime::now());
    let flow = claims.progress;
    let line = |text: &str| Printable::line(text).to_string();
    let mut lines = vec![
        ("for", format!("{} {}", line(&claims.method), line(&claims.name))),
        ("revision", claims.revision.to_string()),
        ("audience", line(&claims.audience)),
        ("tenant", claims.tenant.as_deref().map_or("none".to_owned(), line)),
        ("caller", if claims.has_principal { "one, whose name is not in it" } else { "anonymous" }.to_owned()),
        ("flow", format!("{}, round {}", flow.flow(), flow.round())),
        ("flow began", moment(flow.started(), now)),
        ("issued", moment(claims.issued, now)),
        ("expires", moment(claims.expires, now)),
        ("flow ends", moment(flow.ends(), now)),
        (
            "handler",
            match &*claims.handler_version {
                "" => "of no version".to_owned(),
                version => format!("of version {}", line(version)),
            },
        ),
        ("payload", format!("{} of kind `{}`", size(claims.payload().len()), line(&claims.kind))),
    ];
    if let (true, Ok(journal)) = (claims.kind == Journal::KIND, Journal::read(claims.payload())) {
        lines.extend(journal.contents().map(|(kind, name, content)| {
            let entry = format!("{} {}", in_words(kind), line(name));
            let entry = entry.trim_end();
            // Without --payload, kinds and names, and no answers.
            let shown = with_payload && !content.is_empty();
            let content = Printable::line(content).up_to(LONGEST);
            ("has", if shown { format!("{entry}: {content}") } else { entry.to_owned() })
        }));
    } else if with_payload {
        let bytes = claims.payload();
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => Printable::line(text).up_to(LONGEST).to_string(),
            Err(_) => format!("not text; in base64 {}", STANDARD.encode(bytes)),
        };
        lines.push(("content", text));
    }
    lines
}

/// Says what an entry of a flow's journal tells.
fn in_words(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::QuestionOpened => "the open question",
        EntryKind::Answered => "the answer to",
        EntryKind::AnswerRefused => "the reason why an answer was refused, to",
        EntryKind::Skipped => "no answer to",
        EntryKind::Visited => "the visit of",
        EntryKind::Decided => "the decision",
        EntryKind::StepStarted => "the start of step",
        EntryKind::StepFinished => "the value of step",
        EntryKind::StepFailed => "the error of step",
        EntryKind::StepDropped => "the end, without a value, of step",
        EntryKind::StepTimedOut => "the timeout of step",
        EntryKind::Progress => "progress",
        EntryKind::Shed => "a pause for other calls",
        EntryKind::KeyGiven => "the id that was made for",
        EntryKind::Reworded => "new words for",
        EntryKind::Carried => "the handler's own value",
        EntryKind::UnsealedAnswer => "an answer that came without a state, to",
        EntryKind::Consented => "consent to visit",
        EntryKind::QuestionWithdrawn => "the end, without an answer, of question",
        _ => "an entry of another version,",
    }
}

fn moment(moment: Timestamp, now: Timestamp) -> String {
    let written = humantime::format_rfc3339_seconds(
        SystemTime::UNIX_EPOCH + Duration::from_millis(moment.as_millis().min(LAST_WRITTEN)),
    );
    let away = if moment <= now { now.since(moment) } else { moment.since(now) };
    let away = humantime::format_duration(Duration::from_secs(away.as_secs()));
    if moment <= now { format!("{written} ({away} ago)") } else { format!("{written} (in {away})") }
}

/// The most bytes of a state that is opened or shown: more than any server takes.
const LONGEST: usize = 1 << 20;

const EXAMPLES: &str = "\
Examples:
  mrtr state inspect mrtr1x.k1.YHLYVqVG…
  mrtr state inspect --file later.json --keys keys

This does not say if a server accepts the state: that depends on the request too.";

/// The end of the year 9999, in milliseconds: no later moment can be written.
const LAST_WRITTEN: u64 = 253_402_300_799_000;
