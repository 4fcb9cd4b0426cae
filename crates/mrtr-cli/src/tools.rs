//! `mrtr tools`: lists a server's tools, as a table or as JSON.

use std::process::ExitCode;

use anyhow::Result;
use comfy_table::{ContentArrangement, Table, presets};
use mrtr::schema::{Printable, Tool};
use serde_json::Value;

use crate::conversation::explained;
use crate::screen::Screen;
use crate::server::{ReachOptions, Target};
use crate::shown::{pretty, print};

#[derive(clap::Args)]
#[command(override_usage = USAGE, after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The server's URL
    #[arg(value_name = "URL", conflicts_with = "stdio")]
    url: Option<String>,
    /// Start this command as the server, and talk to it over its standard input and output
    #[arg(long, value_name = "COMMAND")]
    stdio: Option<String>,
    /// Write the tools as JSON, with their schemas
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reach: ReachOptions,
}

pub(crate) async fn run(options: Options) -> Result<ExitCode> {
    let target = Target::take(options.stdio.as_deref(), &mut Vec::from_iter(options.url).into_iter())?;
    let client = options.reach.client(&target, &Screen::default())?.build();
    let tools = client.list_tools().await.map_err(|error| explained(&error, &target))?;
    let text = if options.json {
        pretty(&serde_json::to_value(&tools)?)
    } else if tools.is_empty() {
        "The server has no tools.".to_owned()
    } else {
        table(&tools)
    };
    print(&format!("{text}\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn table(tools: &[Tool]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["tool", "arguments", "what it does"]);
    for tool in tools {
        let about = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
        table.add_row([
            Printable::line(&tool.name).to_string(),
            Printable::line(&arguments(tool)).to_string(),
            Printable::line(about.lines().next().unwrap_or_default()).to_string(),
        ]);
    }
    table.to_string()
}

/// The names of the arguments, as they are written on the command line; optional ones are in brackets.
fn arguments(tool: &Tool) -> String {
    let schema: Value = serde_json::from_str(tool.input_schema.as_object().as_str()).unwrap_or_default();
    let required: Vec<_> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let names = schema["properties"].as_object().into_iter().flatten();
    let names = names
        .map(|(name, _)| if required.contains(&name.as_str()) { format!("{name}=") } else { format!("[{name}=]") });
    names.collect::<Vec<_>>().join(" ")
}

const USAGE: &str = "mrtr tools [OPTIONS] <URL>
       mrtr tools [OPTIONS] --stdio <COMMAND>";

const EXAMPLES: &str = "\
Examples:
  mrtr tools http://localhost:8000/mcp
  mrtr tools --stdio 'mrtr serve --stdio' --json";
