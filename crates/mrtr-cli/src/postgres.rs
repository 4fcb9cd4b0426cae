//! `mrtr postgres`: makes the tables that a fleet of instances shares, or brings them to the newest version.

use std::process::ExitCode;

use anstream::eprintln;
use anyhow::Result;
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
    /// Bring the tables of tasks and single use to the newest version, from any version
    Migrate {
        /// The database, as a URL or as libpq takes it; better in the environment, where others do not see a password
        #[arg(
            env = "MRTR_DATABASE",
            hide_env_values = true,
            value_name = "ADDRESS",
            required_unless_present = "print"
        )]
        address: Option<String>,
        /// The schema that has the tables
        #[arg(long, default_value_t = Schema::default(), value_name = "NAME")]
        schema: Schema,
        /// Write the script instead, to read it and run it with psql; needs no database
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
    let connected = async {
        // As through pgbouncer, which works everywhere: nothing is prepared, and nothing listened to.
        PostgresOptions::new(address)?.schema(schema.clone()).connections(1).pgbouncer(true).connect().await
    };
    drop(connected.await.map_err(explained)?);
    eprintln!("schema {schema}: version {}", migrations::NEWEST);
    Ok(())
}

/// The database's own words behind ours, and what to do.
fn explained(error: ConnectError) -> Failure {
    let is_of_usage = matches!(error, ConnectError::Address(_));
    let is_unreachable = matches!(error, ConnectError::Unreachable(_));
    let is_refused = matches!(error, ConnectError::Migration { .. });
    let what = format!("{:#}", anyhow::Error::new(error));
    if is_of_usage {
        return Failure::usage(what)
            .next("such as postgres://mrtr@db.example.com/mrtr, or host=/run/postgresql dbname=mrtr");
    }
    let failure = Failure::new(what);
    if is_unreachable {
        return failure.next("where only psql gets through, such as with TLS: mrtr postgres migrate --print | psql");
    }
    if is_refused {
        return failure.next("a user who may create tables there: mrtr postgres migrate --print | psql");
    }
    failure
}

const EXAMPLES: &str = "\
Examples:
  mrtr postgres migrate postgres://mrtr@db.example.com/mrtr
  mrtr postgres migrate --print | psql -d mrtr
  mrtr postgres migrate --schema mrtr_staging --print";
