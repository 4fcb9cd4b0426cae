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
use crate::serve::{THIS_PROCESS, unusable};
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
        /// Write this file, for its owner only; an existing one is not overwritten
        file: Option<PathBuf>,
        /// Name the deployment that uses these keys; states sealed with them open only there
        #[arg(long, default_value = "mrtr-demo", value_name = "ID")]
        audience: String,
        /// Name the key; without this, its name is the time
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
    /// Replace a key in three deployments: add a new one, let it seal, drop the old one
    #[command(after_help = STEPS)]
    Rotate {
        /// Change this file of keys
        file: PathBuf,
        /// Take this step; without it, add a key if there is only one
        #[arg(long, value_enum)]
        step: Option<Step>,
    },
}

/// The steps of a rotation, as [`STEPS`] describes them.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Step {
    Add,
    Promote,
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
    if audience == THIS_PROCESS {
        bail!(
            Failure::usage("the audience `this-process` is that of servers without keys")
                .next("name your deployment, such as --audience shop-eu")
        );
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
        (None, _) => bail!(several_keys(path, &ring)),
    };
    let next = match step {
        Step::Add => {
            if ring.newest().is_some_and(|newest| newest != 0) {
                eprintln!("{} has a key already that does not seal yet; this adds another", path.display());
            }
            ring.add();
            format!("deploy it to every instance; when all have it: {}", command(path, "promote"))
        }
        Step::Promote => {
            promote(&mut ring, path)?;
            format!("deploy it to every instance; {WAIT}: {}", command(path, "drop"))
        }
        Step::Drop => {
            drop_old(&mut ring, path)?;
            "deploy it to every instance: the old keys are gone".to_owned()
        }
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

/// Says which keys there are, and the step that is due.
fn several_keys(path: &Path, ring: &Ring) -> Failure {
    let keys = ring.ids().join(", ");
    let failure = Failure::usage(format!("{} has the keys {keys}, of which the first seals", path.display()));
    match ring.newest() {
        None => failure.next(UNKNOWN_ORDER),
        Some(0) => failure.next(format!("the newest seals; {WAIT}: {}", command(path, "drop"))),
        Some(_) => failure.next(format!("once every instance has the newest key: {}", command(path, "promote"))),
    }
}

fn promote(ring: &mut Ring, path: &Path) -> Result<()> {
    let refused = match (ring.ids().len(), ring.newest()) {
        (1, _) => Failure::usage("there is one key, and it seals already").next("--step add adds a new one"),
        (_, None) => Failure::usage("the names of the keys do not say which is the newest").next(UNKNOWN_ORDER),
        (_, Some(0)) => Failure::usage(format!("the newest key, {}, seals already", ring.ids()[0]))
            .next(format!("{WAIT}: {}", command(path, "drop"))),
        (_, Some(newest)) => {
            ring.promote(newest);
            return Ok(());
        }
    };
    bail!(refused)
}

/// Drops the old keys, unless one of them still seals: dropping the newest key would undo the rotation, and refuse the
/// states of instances that seal with it already.
fn drop_old(ring: &mut Ring, path: &Path) -> Result<()> {
    let refused = match (ring.ids().len(), ring.newest()) {
        (1, _) => Failure::usage("there is one key: it is not dropped").next("--step add adds a new one"),
        (_, None) => Failure::usage("the names of the keys do not say which is the newest").next(UNKNOWN_ORDER),
        (_, Some(0)) => {
            ring.keep_sealing();
            return Ok(());
        }
        (_, Some(newest)) => {
            let ids = ring.ids();
            Failure::usage(format!("the newest key, {}, does not seal yet: {} does", ids[newest], ids[0]))
                .next(format!("once every instance has the newest key: {}", command(path, "promote")))
                .next(format!("then deploy it to every instance; {WAIT}: {}", command(path, "drop")))
        }
    };
    bail!(refused)
}

/// Writes the command of another step.
fn command(path: &Path, step: &str) -> String {
    format!("mrtr keys rotate {} --step {step}", path.display())
}

/// The time that old keys are still needed: states and tasks that they sealed are still to come back.
const WAIT: &str = "when all have had it for as long as a state lives (an hour, unless the server's author set another \
                    time) and every older task has ended";

/// The remedy for a ring that other hands have made.
const UNKNOWN_ORDER: &str = "put the new key first in the file to let it seal, and take an old one out, by hand";

const EXAMPLES: &str = "\
Examples:
  mrtr keys new keys --audience shop-eu
  export MRTR_STATE_KEYS=\"$(mrtr keys new --audience shop-eu)\"
  mrtr keys rotate keys                  add a second key, which opens states
  mrtr keys rotate keys --step promote   let the second key seal
  mrtr keys rotate keys --step drop      remove the first key";

const STEPS: &str = "\
Steps:
  add      Add a new key, which opens states and does not seal yet
  promote  Let the newest key seal, once every instance has it; the others still open
  drop     Remove all keys but the sealing one, once every instance has sealed with it for as long as a state
           lives (an hour, unless the server's author set another time) and every older task has ended

Deploy the file to every instance after each step, and restart those of `mrtr serve`: it reads keys at its start only.";

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

    /// Adds a new key after the others. Its name sorts after all names that this command gave, so that every later step
    /// knows the newest.
    fn add(&mut self) {
        let now = (id_of_now(), 0);
        let newest = self.keys.iter().filter_map(|(id, _)| made_at(id)).max();
        // Two keys may be made within one second, and clocks may be behind.
        let (time, number) = match newest {
            Some((time, number)) if *time >= *now.0 => (time.to_owned(), number + 1),
            _ => now,
        };
        let id = if number == 0 { time } else { format!("{time}-{number}") };
        self.keys.push((id, secret()));
    }

    /// Returns the place of the newest key: of the last name that [`add`](Self::add) gave. A name that a person chose
    /// belongs to the first key of a ring, which is older than all that were added. `None` if a person chose all names
    /// of several keys.
    fn newest(&self) -> Option<usize> {
        let times = self.keys.iter().enumerate().filter_map(|(place, (id, _))| Some((made_at(id)?, place)));
        times.max().map(|(_, place)| place)
    }

    /// Puts the newest key first.
    fn promote(&mut self, newest: usize) {
        let key = self.keys.remove(newest);
        self.keys.insert(0, key);
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

/// The time in a name that this command made up, and the number after it, by which they sort. `None` for a name that a
/// person chose.
fn made_at(id: &str) -> Option<(&str, u32)> {
    let (time, number) = match id.split_once('-') {
        Some((time, number)) => (time, number.parse().ok()?),
        None => (id, 0),
    };
    (time.len() == 14 && time.bytes().all(|byte| byte.is_ascii_digit())).then_some((time, number))
}

fn secret() -> String {
    let mut bytes = [0; 32];
    ProcessRandom::new().fill(&mut bytes);
    STANDARD.encode(bytes)
}
