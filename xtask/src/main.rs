//! The commands of a contributor: `cargo xtask <command>`.

mod compare_official;
mod deployment;
mod doc_examples;
mod fuzz;
mod methods;
mod mutants;
mod packages;
mod programs;
mod public_api;
mod readme_projects;
mod schema;
mod source;
mod sql_neighbours;
mod test;
mod tidy;
mod tools;
mod validate_examples;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask_support::Outcome;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "What a contributor runs", disable_version_flag = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run every check and test, or some of them: the one command that must pass
    Test(test::Options),
    /// Check layers, dependencies, comments and paths, and print the figures of the code
    Tidy,
    /// Write the JSON Schemas that are generated from the types
    Schema(schema::Options),
    /// Check example JSON against the schemas and the types
    ValidateExamples(validate_examples::Options),
    /// Compare the generated schemas with the official ones, on examples with one thing changed at a time
    CompareOfficial(compare_official::Options),
    /// List `serde_json::Value` in public signatures, and fail where no reason is given for it
    PublicApi,
    /// Run the official conformance suite against our server and our client, with npm
    Conformance,
    /// Let clients and servers of other SDKs talk with ours, and check docs/INTEROP.md
    Interop(programs::Interop),
    /// Lint the container files, the manifests and the units that the page Deployment shows, with pip
    Deployment,
    /// Run tasks on workers that are killed at any moment, and check that nothing is lost or done twice
    Chaos(programs::Chaos),
    /// Let hostile callers attack a server beside honest ones, and check that the honest ones hardly notice
    Soak(programs::Soak),
    /// List public items without an example that runs, and fail for crates in which all have one
    DocExamples,
    /// List the public methods of the main types with a place that shows each, and check docs/guide/METHODS.md
    Methods(methods::Options),
    /// Check each page's programs as a project of its own, with the dependencies that the page names
    ReadmeProjects,
    /// Build and test each published package from its own archive
    Packages(packages::Options),
    /// Resolve the facade beside the SQL libraries of others, which link SQLite too
    SqlNeighbours,
    /// Measure speed, as ratios within one run, and write docs/BENCHMARKS.md
    Bench(programs::Bench),
    /// Fuzz what reads strangers' bytes, with a nightly compiler and cargo-fuzz
    Fuzz(fuzz::Options),
    /// Change one line at a time, and list the changes that no test notices, with cargo-mutants
    Mutants(mutants::Options),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Test(options) => test::run(&options),
        Command::Tidy => tidy::run(),
        Command::Schema(options) => schema::run(&options),
        Command::ValidateExamples(options) => validate_examples::run(&options),
        Command::CompareOfficial(options) => compare_official::run(&options),
        Command::PublicApi => public_api::run(),
        Command::Conformance => programs::conformance(),
        Command::Interop(options) => options.run(),
        Command::Deployment => deployment::run(),
        Command::Chaos(options) => options.run(),
        Command::Soak(options) => options.run(),
        Command::DocExamples => doc_examples::run(),
        Command::Methods(options) => methods::run(&options),
        Command::ReadmeProjects => readme_projects::run(),
        Command::Packages(options) => packages::run(&options),
        Command::SqlNeighbours => sql_neighbours::run(),
        Command::Bench(options) => options.run(),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Mutants(options) => mutants::run(&options),
    };
    match outcome {
        Ok(Outcome::Passed | Outcome::LeftOut(_)) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
