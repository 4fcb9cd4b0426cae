//! A round over a growing journal: its time should be a straight line.

use anyhow::Result;
use mrtr_server::{Flow, Server, Tool};
use mrtr_state::{Key, KeyRing, Sealer};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Round, Times};
use crate::Scale;
use crate::report::{Figure, Target};
use crate::server::exchange::{call, state_in};
use crate::tracker::answer;

const KIBIBYTES: [usize; 5] = [1, 4, 16, 32, 60];

/// By default a state has 64 KiB of text, which is 47 KiB of journal in base64 and beside the claims. For 60 KiB, and
/// what stands around them, it takes more.
const LIMIT: usize = 96 << 10;

#[derive(Deserialize, JsonSchema)]
struct Report {
    kibibytes: usize,
}

#[derive(Deserialize, JsonSchema)]
struct Approved {
    approved: bool,
}

/// Writes something long, and asks twice what to do with it.
async fn report(flow: Flow, Report { kibibytes }: Report) -> Result<String> {
    let text: String = flow.step("write", async { anyhow::Ok(LINE.repeat(kibibytes << 10 >> 6)) }).await?;
    for key in ["editor", "publisher"] {
        let Approved { approved } = flow.elicit(key, "Shall this be printed?").await?;
        anyhow::ensure!(approved, "it is not to be printed");
    }
    Ok(format!("{} bytes are printed", text.len()))
}

/// 64 bytes of text.
const LINE: &str = "The state of a call is carried by its client, sealed, to and fro";
const _: () = assert!(LINE.len() == 64);

pub(super) fn figures(scale: Scale) -> Result<Vec<Figure>> {
    let sealer = Sealer::new(KeyRing::new(Key::new("2026-11", [7; 32])?), "bench")?.limit(LIMIT);
    let server = Server::builder("reports", "1.0.0").sealer(sealer).tool(Tool::new("report", report)).build()?;
    let rounds = KIBIBYTES.iter().map(|kibibytes| second_round(&server, *kibibytes)).collect::<Result<Vec<_>>>()?;
    let times = Times::of(&rounds, scale)?;
    let mut figures: Vec<_> = KIBIBYTES.iter().enumerate().map(|(which, size)| figure(&times, which, *size)).collect();
    let marginal = |low: usize, high: usize| {
        let (low_size, high_size) = (KIBIBYTES[low], KIBIBYTES[high]);
        #[expect(clippy::cast_precision_loss, reason = "a few dozen")]
        let kibibytes = (high_size - low_size) as f64;
        format!("{:.2} µs a KiB", (times.micros(high) - times.micros(low)) / kibibytes)
    };
    figures.push(Figure {
        what: "32 to 60 KiB, beside 4 to 32 KiB".to_owned(),
        who: "mrtr-server".to_owned(),
        ratio: times.bend([1, 3, 4]).into(),
        target: Some(Target::AtMost(1.2)),
        absolute: format!("{}, beside {}", marginal(3, 4), marginal(1, 3)),
    });
    Ok(figures)
}

fn figure(times: &Times, which: usize, kibibytes: usize) -> Figure {
    Figure {
        what: format!("round over a journal of {kibibytes} KiB"),
        who: "mrtr-server".to_owned(),
        ratio: times.ratio(which).into(),
        target: None,
        absolute: format!("{:.1} µs", times.micros(which)),
    }
}

/// The round that answers the first question and asks the second: it opens such a journal, and seals it again.
fn second_round(server: &Server, kibibytes: usize) -> Result<Round<'_>> {
    let runtime = crate::server::load::runtime()?;
    let arguments = json!({ "kibibytes": kibibytes });
    let first = runtime.block_on(answer(server, call("report", &arguments, None)))?;
    let approved = ("editor", json!({ "approved": true }));
    let body = call("report", &arguments, Some((approved, &state_in(&first)?)));
    Ok(Round { server, body, mark: "\"publisher\"".to_owned() })
}
