//! `mrtr state inspect`: shows what a sealed state says of itself, as far as the keys at hand open it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use mrtr::flow::Journal;
use mrtr::schema::Printable;
use mrtr_state::codec::Signed;
use mrtr_state::{Payload, Refusal, Sealer, StateClaims, StateHeader, Timestamp};

use crate::failure::Failure;
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
    /// Show how a state was sealed, and with its keys what it is for. Answers are shown with --payload only
    Inspect {
        /// The state: the text of `requestState`
        token: String,
        /// The keys that sealed it
        #[arg(long, value_name = "FILE")]
        keys: Option<PathBuf>,
        /// Show its content as well: there may be answers and secrets in it
        #[arg(long, requires = "keys")]
        payload: bool,
    },
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let Command::Inspect { token, keys, payload } = &options.command;
    let token = token.trim().trim_matches('"');
    let header = StateHeader::read(token).map_err(|_| {
        Failure::new("this is not a state that mrtr sealed").next(
            "give the whole text of `requestState`, such as mrtr1x.k1.YHLY…; `mrtr call --json-output` and a \
             server's log do not have it, the message does",
        )
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
        // Kinds and names, and no answers.
        lines.push(("journal", line(&format!("{journal:?}"))));
    }
    if with_payload {
        let text = String::from_utf8_lossy(claims.payload());
        lines.push(("bytes", Printable::text(&text).up_to(LONGEST).to_string()));
    }
    lines
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
  mrtr state inspect mrtr1x.k1.YHLYVqVG… --keys keys

A state is looked at as it is: whether a server would take it depends on the request that it comes with.";

/// The end of the year 9999, in milliseconds: no later moment can be written.
const LAST_WRITTEN: u64 = 253_402_300_799_000;
