//! `mrtr tour`: the stories of MRTR, one after the other, on real servers.

use std::process::ExitCode;

use anyhow::Result;

#[derive(clap::Args)]
pub(crate) struct Options {}

pub(crate) async fn run(_: Options) -> Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
