//! `mrtr keys`: makes the keys that seal states, and replaces them without refusing a client.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use anstream::eprintln;
use anyhow::{Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mrtr_state::{KeyId, ProcessRandom, Random, Sealer};

use crate::failure::Failure;
use crate::private_file;
use crate::serve::unusable;
use crate::shown::print;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Make a key: in a new file, or on standard output as `MRTR_STATE_KEYS` takes it
    New {
        /// The file, for its owner only; an existing file is not overwritten
        file: Option<PathBuf>,
        /// The deployment that shares the keys: its states open nowhere else
        #[arg(long, default_value = "mrtr-demo", value_name = "ID")]
        audience: String,
        /// The key's name in tokens; made from the time if it is not given
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
    /// Replace a key in three deployments: add a new one, let it seal, drop the old one
    Rotate {
        /// The file of keys
        file: PathBuf,
        /// The step to take; with a single key in the file, a new one is added
        #[arg(long, value_enum)]
        step: Option<Step>,
    },
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Step {
    /// Add a new key, which opens states and does not seal yet
    Add,
    /// Let the newest key seal; the others still open
    Promote,
    /// Drop all keys but the sealing one
    Drop,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    match &options.command {
        Command::New { file, audience, id } => new(file.as_deref(), audience, id.as_deref())?,
        Command::Rotate { file, step } => rotate(file, *step)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn new(file: Option<&Path>, audience: &str, id: Option<&str>) -> Result<()> {
    let id = id.map_or_else(id_of_now, str::to_owned);
    KeyId::new(&*id).map_err(|error| Failure::usage(error.to_string()).next("such as --id 2026-11"))?;
    if audience.is_empty() || audience.len() > 255 || audience.contains(['=', ':', ',']) {
        bail!(Failure::usage("an audience has 1 to 255 bytes, without = : and ,").next("such as --audience shop-eu"));
    }
    let ring = Ring::new(audience, &id);
    let Some(path) = file else {
        return print(&format!("{}\n", ring.text()));
    };
    private_file::create(path, &format!("{}\n", ring.text())).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::new(format!("{} is there already: keys are not written over", path.display()))
                .next(format!("to replace a key without refusing a client: mrtr keys rotate {}", path.display()))
        }
        _ => Failure::new(format!("{} cannot be written: {error}", path.display())),
    })?;
    eprintln!("{}: key {id} of {audience}", path.display());
    eprintln!("  → mrtr serve --state-keys {}", path.display());
    Ok(())
}

fn rotate(path: &Path, step: Option<Step>) -> Result<()> {
    Sealer::from_file(path).map_err(|error| unusable(&error))?;
    let mut ring = Ring::parse(&fs::read_to_string(path)?);
    let step = match (step, ring.ids().len()) {
        (Some(step), _) => step,
        (None, 1) => Step::Add,
        (None, _) => bail!(
            Failure::usage(format!(
                "{} has the keys {}, of which the first seals",
                path.display(),
                ring.ids().join(", ")
            ))
            .next("once every instance has the newest key: --step promote")
            .next("once the newest seals, and an hour or the longest lifetime of a state has passed: --step drop")
        ),
    };
    let next = match step {
        Step::Add => {
            ring.add();
            "deploy it everywhere; then: --step promote"
        }
        Step::Promote if ring.ids().len() > 1 => {
            ring.promote();
            "deploy it everywhere, and wait for as long as a state may live; then: --step drop"
        }
        Step::Promote => {
            bail!(Failure::usage("there is one key, and it seals already").next("--step add adds a new one"))
        }
        Step::Drop if ring.ids().len() > 1 => {
            ring.keep_sealing();
            "deploy it everywhere: the old keys are gone"
        }
        Step::Drop => bail!(Failure::usage("there is one key: it is not dropped").next("--step add adds a new one")),
    };
    private_file::rewrite(path, &format!("{}\n", ring.text())).map_err(|error| {
        Failure::new(format!("{} cannot be replaced with its owner and its mode: {error}", path.display()))
            .next("the file is as it was: rotate as the user who owns it")
    })?;
    eprintln!(
        "{}: {} seals{}",
        path.display(),
        ring.ids()[0],
        match &ring.ids()[1..] {
            [] => String::new(),
            others => format!(", {} open", others.join(", ")),
        }
    );
    eprintln!("  → {next}");
    Ok(())
}

const EXAMPLES: &str = "\
Examples:
  mrtr keys new keys --audience shop-eu
  export MRTR_STATE_KEYS=\"$(mrtr keys new --audience shop-eu)\"
  mrtr keys rotate keys                  a second key, which opens
  mrtr keys rotate keys --step promote   it seals
  mrtr keys rotate keys --step drop      the first is gone";

/// The keys of a file that was checked, or of one that is to be made.
struct Ring {
    audience: String,
    /// The names and keys, the sealing one first. Never empty.
    keys: Vec<(String, String)>,
}

impl Ring {
    fn new(audience: &str, id: &str) -> Self {
        Self { audience: audience.to_owned(), keys: vec![(id.to_owned(), secret())] }
    }

    fn parse(text: &str) -> Self {
        let (audience, keys) = text.split_once('=').unwrap_or_default();
        let keys = keys.split(',').filter_map(|key| key.trim().split_once(':'));
        let keys = keys.map(|(id, secret)| (id.trim().to_owned(), secret.trim().to_owned())).collect();
        Self { audience: audience.trim().to_owned(), keys }
    }

    fn text(&self) -> String {
        let keys: Vec<_> = self.keys.iter().map(|(id, secret)| format!("{id}:{secret}")).collect();
        format!("{}={}", self.audience, keys.join(","))
    }

    fn ids(&self) -> Vec<&str> {
        self.keys.iter().map(|(id, _)| id.as_str()).collect()
    }

    /// Adds a new key after the others.
    fn add(&mut self) {
        let now = id_of_now();
        let is_known = |id: &String| self.keys.iter().any(|(known, _)| known == id);
        // Two keys may be made within one second.
        let id = std::iter::once(now.clone()).chain((2_u32..).map(|number| format!("{now}-{number}")));
        let id = id.into_iter().find(|id| !is_known(id)).unwrap_or(now);
        self.keys.push((id, secret()));
    }

    /// Puts the newest key, which is the last, first.
    fn promote(&mut self) {
        self.keys.rotate_right(1);
    }

    /// Drops all but the first.
    fn keep_sealing(&mut self) {
        self.keys.truncate(1);
    }
}

/// A name that says when the key was made.
fn id_of_now() -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    now.chars().filter(char::is_ascii_digit).collect()
}

fn secret() -> String {
    let mut bytes = [0; 32];
    ProcessRandom::new().fill(&mut bytes);
    STANDARD.encode(bytes)
}
