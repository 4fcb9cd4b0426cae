//! `mrtr keys`: keys that states are sealed with are made, and replaced without refusing a client.

mod ring;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstream::eprintln;
use anyhow::{Result, bail};
use mrtr_state::{KeyId, Sealer};

use crate::failure::Failure;
use crate::private_file;
use crate::serve::unusable;
use crate::shown::print;
use ring::Ring;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Makes a key: in a new file, or on standard output as `MRTR_STATE_KEYS` takes it
    New {
        /// The file, which is for its owner only; one that is there is not written over
        file: Option<PathBuf>,
        /// The deployment that shares the keys: its states open nowhere else
        #[arg(long, default_value = "mrtr-demo", value_name = "ID")]
        audience: String,
        /// What tokens call the key; made from the time if it is not given
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
    /// Replaces a key in three deployments: add a new one, let it seal, drop the old one
    Rotate {
        /// The file of keys
        file: PathBuf,
        /// What to do; with a single key in the file, a new one is added
        #[arg(long, value_enum)]
        step: Option<Step>,
    },
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Step {
    /// A new key opens, and does not seal yet
    Add,
    /// The newest key seals, and the others open
    Promote,
    /// All keys but the sealing one are dropped
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
    let id = id.map_or_else(ring::id_of_now, str::to_owned);
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
