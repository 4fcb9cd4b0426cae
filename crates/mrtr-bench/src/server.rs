//! Servers, as a share of the requests that a bare handler with the same bytes serves.

pub(crate) mod candidate;
pub(crate) mod exchange;
pub(crate) mod load;

use std::time::Duration;

use anyhow::{Result, ensure};

pub(crate) use candidate::Candidate;
use candidate::Server;
use exchange::Exchange;
use load::Loader;

use crate::Scale;
use crate::measure::Spread;
use crate::report::{Figure, Group, Target};

const CONNECTIONS: [usize; 3] = [1, 64, 512];

pub(crate) fn measure(scale: Scale) -> Result<Group> {
    let servers = Candidate::all().iter().copied().map(Server::start).collect::<Result<Vec<_>>>()?;
    let mut figures = Vec::new();
    for exchange in Exchange::ALL {
        let contenders = contenders(exchange, &servers)?;
        for connections in CONNECTIONS {
            figures.extend(compare(exchange, connections, &contenders, scale)?);
        }
    }
    Ok(Group {
        title: "Server",
        about: "Replies per second, as a share of the rate of a bare axum handler that returns the same bytes. Every \
            server runs on one core, and the load on the other.",
        figures,
    })
}

/// A server, and the request for it.
struct Contender<'a> {
    server: &'a Server,
    request: Vec<u8>,
}

/// The servers of an exchange, the floor first.
fn contenders(exchange: Exchange, servers: &[Server]) -> Result<Vec<Contender<'_>>> {
    let runtime = load::runtime()?;
    let mut contenders = Vec::new();
    for server in servers.iter().filter(|server| server.candidate.serves(exchange)) {
        // The floor gets the same request as our own server.
        let asked = if server.candidate.is_floor() { &servers[1] } else { server };
        let ask = async |body: &str| load::ask(asked.address, &exchange.request(asked.candidate, body)).await;
        let body = runtime.block_on(exchange.body(ask))?;
        let request = exchange.request(server.candidate, &body);
        let reply = runtime.block_on(load::ask(server.address, &request))?;
        ensure!(reply.contains(exchange.mark()), "{} answered {reply}", server.candidate.name());
        contenders.push(Contender { server, request });
    }
    Ok(contenders)
}

/// The measurements of each contender, turn by turn.
#[derive(Default)]
struct Turns {
    shares: Vec<f64>,
    rates: Vec<f64>,
    microseconds: Vec<f64>,
    medians: Vec<f64>,
    tails: Vec<f64>,
}

fn compare(exchange: Exchange, connections: usize, contenders: &[Contender<'_>], scale: Scale) -> Result<Vec<Figure>> {
    let mut all: Vec<Turns> = contenders.iter().map(|_| Turns::default()).collect();
    for _ in 0..scale.turns() {
        let mut floor = None;
        for (contender, turns) in contenders.iter().zip(&mut all) {
            let loader = Loader::open(contender.server.address, connections, &contender.request)?;
            let before = contender.server.cpu_time();
            let load = loader.run(scale.window())?;
            let busy = before.and_then(|before| contender.server.cpu_time()?.checked_sub(before));
            let rate = load.rate;
            turns.shares.push(rate / *floor.get_or_insert(rate));
            turns.rates.push(rate);
            turns.medians.push(micros(load.latencies[load.latencies.len() / 2]));
            turns.tails.push(micros(load.latencies[load.latencies.len() * 99 / 100]));
            turns.microseconds.extend(busy.map(|busy| micros(busy) / (rate * scale.window().as_secs_f64())));
        }
    }
    let what = format!("{}, {connections} connections", exchange.name());
    let mut figures = ahead(&what, contenders, &all);
    let shares = contenders.iter().zip(all).map(|(contender, turns)| {
        // Not every system says how much time a process has used.
        let cpu = if turns.microseconds.is_empty() {
            String::new()
        } else {
            format!("{:.1} µs of CPU, ", median(&turns.microseconds))
        };
        let (rate, half, tail) = (median(&turns.rates), median(&turns.medians), median(&turns.tails));
        Figure {
            what: what.clone(),
            who: contender.server.candidate.name().to_owned(),
            ratio: Spread::of(turns.shares).into(),
            target: target(exchange, contender.server.candidate),
            absolute: format!("{rate:.0}/s, {cpu}p50 {half:.0} µs, p99 {tail:.0} µs"),
        }
    });
    figures.splice(0..0, shares);
    Ok(figures)
}

/// Shows the multiple that ours serves of what each peer serves, turn by turn.
fn ahead(what: &str, contenders: &[Contender<'_>], all: &[Turns]) -> Vec<Figure> {
    let candidates = || contenders.iter().map(|contender| contender.server.candidate).zip(all);
    let Some((_, ours)) = candidates().find(|(candidate, _)| *candidate == Candidate::Hyper) else { return Vec::new() };
    let beside = |(peer, theirs): (Candidate, &Turns)| Figure {
        what: format!("{what}, as a multiple of a peer"),
        who: format!("mrtr on hyper beside {}", peer.name()),
        ratio: Spread::of(ours.rates.iter().zip(&theirs.rates).map(|(ours, theirs)| ours / theirs).collect()).into(),
        target: Some(Target::AtLeast(3.5)),
        absolute: format!("{:.0}/s beside {:.0}/s", median(&ours.rates), median(&theirs.rates)),
    };
    candidates().filter(|(candidate, _)| candidate.is_peer()).map(beside).collect()
}

fn median(measurements: &[f64]) -> f64 {
    Spread::of(measurements.to_vec()).median
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn target(exchange: Exchange, candidate: Candidate) -> Option<Target> {
    let sealed = matches!(exchange, Exchange::AskSealed | Exchange::Final);
    let least = match (candidate, sealed) {
        (Candidate::Hyper, false) => 0.65,
        (Candidate::Hyper, true) => 0.55,
        (_, false) => 0.60,
        (_, true) => 0.50,
    };
    candidate.is_ours().then_some(Target::AtLeast(least))
}
