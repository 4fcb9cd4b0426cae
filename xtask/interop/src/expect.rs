//! The output that a client must have printed, and the effects that a server must have had.

use std::process::Output;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::matrix::{Cell, Seen, Side};
use crate::process::all_of;
use crate::scenario::End;

/// The output of a client of the matrix.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Printed {
    pub(crate) version: Option<String>,
    #[serde(default)]
    pub(crate) asked: Vec<String>,
    #[serde(default)]
    pub(crate) text: String,
    #[serde(default)]
    is_error: bool,
    error: Option<i64>,
    unsupported: Option<String>,
}

impl Printed {
    pub(crate) fn of(output: &Output) -> Result<Self> {
        let printed = String::from_utf8_lossy(&output.stdout);
        let last = printed.lines().next_back().unwrap_or_default();
        let printed =
            serde_json::from_str(last).with_context(|| format!("it did not say what it saw: {}", all_of(output)))?;
        ensure!(output.status.success(), "it ended with {}: {}", output.status, all_of(output));
        Ok(printed)
    }
}

/// Judges a run by what the client printed and by what the server wrote meanwhile.
pub(crate) fn judge(cell: &Cell, output: &Output, said: &str) -> Seen {
    let judged = Printed::of(output).and_then(|printed| match printed.unsupported {
        Some(why) => Ok(Seen::Unsupported(why)),
        None => check(cell, printed, said).map(|()| Seen::Passed),
    });
    judged.unwrap_or_else(|error| Seen::Failed(format!("{error:#}")))
}

fn check(cell: &Cell, printed: Printed, said: &str) -> Result<()> {
    let Cell { scenario, era, .. } = cell;
    let Printed { version, mut asked, text, is_error, error, .. } = printed;
    match scenario.end {
        End::Text(expected) if text != expected || is_error => {
            bail!("it got {text:?}, error {error:?}, asked {asked:?}")
        }
        End::Refused if text.starts_with("Hello") => bail!("it was greeted: {text:?}"),
        _ => {}
    }
    if scenario.name == "mixed" {
        asked.sort();
    }
    let unasked = if cell.side == Side::Client { cell.peer.unasked } else { &[] };
    let expected: Vec<_> = scenario.asked.iter().filter(|asked| !unasked.contains(asked)).collect();
    ensure!(asked.iter().eq(expected), "it was asked {asked:?}, and got {text:?}");
    let effects: Vec<_> = said.lines().filter_map(|line| line.trim().strip_prefix("effect: ")).collect();
    ensure!(effects == scenario.effects, "the server did {effects:?}");
    ensure!(version.as_deref() == Some(era.version()), "it speaks {version:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;
    use crate::peer::PEERS;
    use crate::scenario::{Era, SCENARIOS, Transport};

    fn judged(name: &str, printed: &str, said: &str) -> Seen {
        let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name).expect("it is in the table");
        let output = Output { status: ExitStatus::from_raw(0), stdout: printed.into(), stderr: Vec::new() };
        let (peer, side) = (&PEERS[0], Side::Client);
        judge(&Cell { peer, side, scenario, era: Era::Modern, transport: Transport::Http }, &output, said)
    }

    fn failure(seen: &Seen) -> &str {
        match seen {
            Seen::Failed(why) => why,
            _ => "",
        }
    }

    #[test]
    fn a_run_passes_when_all_of_it_is_as_expected() {
        let printed = r#"{"version":"2026-07-28","asked":["form: Who are you?"],"text":"declined","isError":false}"#;
        assert!(matches!(judged("decline", printed, "noise\neffect: declined\n"), Seen::Passed));
        assert!(failure(&judged("decline", printed, "")).contains("the server did []"));
        assert!(failure(&judged("cancel", printed, "effect: declined")).contains("declined"));
        assert!(failure(&judged("one-round", printed, "")).contains("it got"));
    }

    #[test]
    fn what_is_asked_in_one_round_comes_in_any_order() {
        let printed = r#"{"version":"2026-07-28","text":"octocat, Paris, file:///project","asked":["roots",
            "sampling: What is the capital of France?","form: Please provide your GitHub username"]}"#;
        assert!(matches!(judged("mixed", &printed.replace('\n', ""), ""), Seen::Passed));
    }

    #[test]
    fn a_client_may_say_that_its_sdk_lacks_something() {
        assert!(matches!(judged("task", r#"{"unsupported":"none"}"#, ""), Seen::Unsupported(why) if why == "none"));
    }

    #[test]
    fn another_version_and_a_crash_are_failures() {
        let printed = r#"{"version":"2025-11-25","asked":[],"text":"Carried on from 50 percent"}"#;
        assert!(failure(&judged("state-only", printed, "")).contains("it speaks"));
        assert!(failure(&judged("state-only", "Traceback", "")).contains("did not say"));
    }
}
