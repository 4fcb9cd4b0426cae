//! `mrtr postgres`: creates or updates the tables that several servers share.

use std::error::Error;
use std::process::ExitCode;
use std::{io, iter};

use anstream::eprintln;
use anyhow::{Result, bail};
use mrtr_postgres::{ConnectError, PostgresOptions, Schema, migrations};

use crate::failure::Failure;
use crate::shown::print;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Create the tables of tasks and single use, or update them to the newest version
    Migrate {
        /// Connect to this database, a URL or as libpq takes it; a password is better in the environment, where others do not see it
        #[arg(
            env = "MRTR_DATABASE",
            hide_env_values = true,
            value_name = "ADDRESS",
            required_unless_present = "print"
        )]
        address: Option<String>,
        /// Use the tables in this schema
        #[arg(long, default_value_t = Schema::default(), value_name = "NAME")]
        schema: Schema,
        /// Write the script to standard output instead, for psql; this needs no database
        #[arg(long)]
        print: bool,
    },
}

pub(crate) async fn run(options: Options) -> Result<ExitCode> {
    let Command::Migrate { address, schema, print: is_printed } = options.command;
    match address {
        Some(address) if !is_printed => migrate(&address, &schema).await?,
        _ => print(&migrations::sql(&schema))?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn migrate(address: &str, schema: &Schema) -> Result<()> {
    let newest = migrations::NEWEST;
    let said = match connect(address, schema, false).await {
        Ok(()) => format!("has version {newest} already"),
        Err(ConnectError::OlderSchema { found, .. }) => {
            connect(address, schema, true).await.map_err(|error| explained(&error))?;
            if found == 0 {
                format!("created, with version {newest}")
            } else {
                format!("updated from version {found} to version {newest}")
            }
        }
        Err(error) => bail!(explained(&error)),
    };
    eprintln!("schema {schema}: {said}");
    Ok(())
}

async fn connect(address: &str, schema: &Schema, migrates: bool) -> Result<(), ConnectError> {
    // As through pgbouncer, which works everywhere: nothing is prepared, and nothing listened to.
    let options = PostgresOptions::new(address)?.schema(schema.clone()).connections(1).pgbouncer(true);
    options.migrate_at_start(migrates).connect().await.map(drop)
}

/// The database's own words behind ours, and what to do.
fn explained(error: &ConnectError) -> Failure {
    // The causes between them are those of the driver and its pool, and repeat each other.
    let what = causes(error).last().map_or_else(|| error.to_string(), |last| format!("{error}: {last}"));
    match error {
        ConnectError::Address(_) => Failure::usage(what)
            .next("such as postgres://mrtr@db.example.com/mrtr, or host=/run/postgresql dbname=mrtr"),
        ConnectError::Unreachable(_) if is_of_system(error) => {
            Failure::new(what).next("check the host and the port, and that the database runs")
        }
        ConnectError::Unreachable(_) => Failure::new(what)
            .next("check the database's name, the user and the password")
            .next("if it takes only connections with TLS: mrtr postgres migrate --print | psql"),
        ConnectError::Migration { .. } => {
            Failure::new(what).next("as a user who may create tables there: mrtr postgres migrate --print | psql")
        }
        _ => Failure::new(what),
    }
}

/// Returns true if the system could not connect, so that the database said nothing.
fn is_of_system(error: &ConnectError) -> bool {
    causes(error).any(<dyn Error>::is::<io::Error>)
}

fn causes(error: &ConnectError) -> impl Iterator<Item = &(dyn Error + 'static)> {
    iter::successors(error.source(), |cause| (*cause).source())
}

const EXAMPLES: &str = "\
Examples:
  mrtr postgres migrate postgres://mrtr@db.example.com/mrtr
  mrtr postgres migrate --print | psql -d mrtr
  mrtr postgres migrate --schema mrtr_staging --print";
