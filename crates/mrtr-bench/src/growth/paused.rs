//! Flows that wait for an answer, and the memory of the server that asked: it keeps nothing of them.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use crate::Scale;
use crate::measure::Spread;
use crate::report::{Figure, Target};
use crate::server::Candidate;
use crate::server::candidate::Server;
use crate::server::exchange::{Exchange, call};
use crate::server::load::Lines;

const PAUSED: [u64; 3] = [0, 10_000, 100_000];

/// The number of requests before the first measurement. They grow the server's heap to what [`CONNECTIONS`] need,
/// whatever becomes of the flows.
const WARM_UP: u64 = 5_000;
const CONNECTIONS: usize = 64;
const PATIENCE: Duration = Duration::from_mins(2);

/// Two hundredths of a server this small are some three bytes for each of 100,000 flows, where a state alone has hundreds.
/// They are there because memory is counted in pages, and an allocator may come to need a few more of them.
const NO_GROWTH: Target = Target::AtMost(1.02);

pub(super) fn figures(scale: Scale) -> Result<Vec<Figure>> {
    let servers = match scale {
        Scale::Quick => 1,
        Scale::Full => 3,
    };
    let all = (0..servers).map(|_| residents()).collect::<Result<Vec<_>>>()?;
    let figures = PAUSED.iter().enumerate().map(|(which, paused)| {
        let resident = Spread::of(all.iter().map(|server| server[which]).collect()).median;
        Figure {
            what: format!("resident memory, {paused} paused flows"),
            who: Candidate::Hyper.name().to_owned(),
            ratio: Spread::of(all.iter().map(|server| server[which] / server[0]).collect()).into(),
            target: (which > 0).then_some(NO_GROWTH),
            absolute: format!("{:.2} MiB", resident / f64::from(1 << 20)),
        }
    });
    Ok(figures.collect())
}

/// Measures the resident bytes of a server with each number of flows that wait.
fn residents() -> Result<[f64; 3]> {
    let server = Server::start(Candidate::Hyper)?;
    let mut lines = Lines::open(server.address, CONNECTIONS)?;
    let mut pause = |from: u64, to: u64| lines.send((from..to).map(first_round), Exchange::AskSealed.mark(), PATIENCE);
    pause(0, WARM_UP)?;
    let mut residents = [0.0; 3];
    let mut begun = 0;
    for (resident, paused) in residents.iter_mut().zip(PAUSED) {
        pause(WARM_UP + begun, WARM_UP + paused)?;
        begun = paused;
        let bytes = server.resident().context("this system does not say what is resident")?;
        #[expect(clippy::cast_precision_loss, reason = "no server has that much memory")]
        let bytes = bytes as f64;
        *resident = bytes;
    }
    Ok(residents)
}

/// The first round of a call like no other: the server asks, and the client does not come back.
fn first_round(number: u64) -> Vec<u8> {
    let arguments = json!({ "workItemId": number, "fields": { "System.State": "Resolved" } });
    let body = call("update_work_item", &arguments, None);
    Exchange::AskSealed.request(Candidate::Hyper, &body)
}
