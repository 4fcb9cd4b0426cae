//! `cargo xtask compare-official`: do our schemas and the official ones accept the same messages?
//!
//! Each example is judged by both, as it is and with one thing changed at a time. Where the verdicts differ, a rule in
//! `schema/differences.json` must say why.

mod comparison;
mod difference;
mod mutation;
mod pair;
mod place;
mod report;
mod rule;
mod source;
mod vocabulary;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::{Outcome, workspace};
use report::Report;

#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// The official schemas and examples, laid out as `<revision>/schema.json` and `<revision>/examples/<Type>/*.json`
    #[arg(long, value_name = "DIR")]
    spec: Option<PathBuf>,
    /// The differences that are meant to be there, and why
    #[arg(long, value_name = "FILE")]
    differences: Option<PathBuf>,
    /// Writes the report as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options) -> Result<Outcome> {
    let default_spec = workspace::root().join("../shared/spec");
    if options.spec.is_none() && !default_spec.is_dir() {
        workspace::print("there are no official schemas in ../shared/spec: nothing was compared")?;
        return Ok(Outcome::LeftOut("the official schemas in ../shared/spec"));
    }
    let spec = options.spec.as_ref().unwrap_or(&default_spec);
    let rules = options.differences.clone().unwrap_or_else(|| workspace::root().join("schema/differences.json"));
    let rules = rule::read(&rules).with_context(|| format!("in {}", rules.display()))?;

    let mut found = difference::Tally::default();
    for source in source::sources(spec).with_context(|| format!("in {}", spec.display()))? {
        found.compare(&source).with_context(|| format!("in {}", source.name))?;
    }
    if found.examples == 0 {
        bail!("no example was found of a type that both sides define");
    }
    let report = Report::new(&found, &rules);
    workspace::print(&if options.json { report.as_json()? } else { report.as_text() })?;
    Ok(if report.is_clean() { Outcome::Passed } else { Outcome::Failed })
}
