//! Our client, as a multiple of the time that a handwritten loop around reqwest takes.

mod by_hand;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use mrtr_client::Client;
use mrtr_http::HttpTransport;
use mrtr_schema::ContentBlock;
use serde::Serialize;
use tokio::runtime::Runtime;

use crate::measure::Spread;
use crate::report::{Figure, Group, Target};
use crate::server::Candidate;
use crate::server::candidate::Server;
use crate::server::exchange::PATH;
use crate::{Scale, machine};
use by_hand::ByHand;

pub(crate) fn measure(scale: Scale) -> Result<Group> {
    let server = Server::start(Candidate::Hyper)?;
    let bench = Bench {
        runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
        by_hand: ByHand::new(server.address)?,
        ours: Ours::new(server.address)?,
    };
    let mut figures = Vec::new();
    for work in Work::ALL {
        figures.extend(bench.compare(work, scale)?);
    }
    Ok(Group {
        title: "Client",
        about: "CPU time of the client for each POST, as a multiple of the time of a loop written by hand around the \
            same HTTP client. The calls run one after the other, over one connection, to our server on the other \
            core.",
        figures,
    })
}

/// The work of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// A call that asks nothing.
    Plain,
    /// A call that asks once, and its answer.
    Asked,
}

impl Work {
    const ALL: [Self; 2] = [Self::Plain, Self::Asked];

    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain call",
            Self::Asked => "call in two rounds",
        }
    }

    fn tool(self) -> &'static str {
        match self {
            Self::Plain => "close_work_item",
            Self::Asked => "update_work_item",
        }
    }

    /// The number of requests that a call takes.
    fn posts(self) -> u32 {
        match self {
            Self::Plain => 1,
            Self::Asked => 2,
        }
    }
}

/// The arguments of both tools.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    work_item_id: u64,
    fields: Fields,
}

#[derive(Serialize)]
struct Fields {
    #[serde(rename = "System.State")]
    state: &'static str,
}

const ARGUMENTS: Arguments = Arguments { work_item_id: 4522, fields: Fields { state: "Resolved" } };

/// The answer to the tracker's question: with this the second round is the last.
#[derive(Serialize)]
struct Answer {
    resolution: &'static str,
}

const ANSWER: Answer = Answer { resolution: "Fixed" };

/// The text that both tools return in the end.
const SAID: &str = "Bug #4522 resolved, 1 fields set";

/// A client: it calls a tool, answers its questions, and returns the text at the end.
trait Caller {
    async fn call(&self, work: Work) -> Result<String>;
}

struct Bench {
    runtime: Runtime,
    by_hand: ByHand,
    ours: Ours,
}

impl Bench {
    fn compare(&self, work: Work, scale: Scale) -> Result<[Figure; 2]> {
        self.warm_up(&self.by_hand, work)?;
        self.warm_up(&self.ours, work)?;
        let (mut floor, mut ours) = (Turns::default(), Turns::default());
        for _ in 0..scale.turns() {
            let least = floor.take(self.turn(&self.by_hand, work, scale.window())?, None);
            ours.take(self.turn(&self.ours, work, scale.window())?, Some(least));
        }
        let target = Some(Target::AtMost(1.3));
        Ok([floor.figure(work, "reqwest by hand", None), ours.figure(work, "mrtr-client", target)])
    }

    /// Opens the connection and fills the allocator with the first calls. Neither client does more at first than later:
    /// ours neither discovers nor lists, unless a server refuses a call for its headers, which this one does not.
    fn warm_up(&self, caller: &impl Caller, work: Work) -> Result<()> {
        self.runtime.block_on(async {
            for _ in 0..WARM_UP {
                let said = caller.call(work).await?;
                ensure!(said == SAID, "the tool said {said}");
            }
            Ok(())
        })
    }

    fn turn(&self, caller: &impl Caller, work: Work, window: Duration) -> Result<Turn> {
        self.runtime.block_on(async {
            let mut latencies = Vec::with_capacity(1 << 14);
            let busy = own_cpu_time();
            let mut begun = Instant::now();
            let end = begun + window;
            while begun < end {
                caller.call(work).await?;
                let answered = Instant::now();
                latencies.push(answered - begun);
                begun = answered;
            }
            let busy = own_cpu_time().saturating_sub(busy);
            latencies.sort_unstable();
            let calls = u32::try_from(latencies.len())?;
            Ok(Turn { cpu: micros(busy) / f64::from(calls * work.posts()), latencies })
        })
    }
}

/// The time that this process was on a core; zero where the system does not say.
fn own_cpu_time() -> Duration {
    machine::cpu_time(std::process::id()).unwrap_or_default()
}

struct Turn {
    /// The processor time of a POST, in microseconds.
    cpu: f64,
    /// The time that each call took, shortest first.
    latencies: Vec<Duration>,
}

/// The cost of a client, turn by turn.
#[derive(Default)]
struct Turns {
    ratios: Vec<f64>,
    cpu: Vec<f64>,
    medians: Vec<f64>,
    tails: Vec<f64>,
}

impl Turns {
    /// Adds a turn, with its ratio to the floor's time just before, and returns the turn's processor time.
    fn take(&mut self, Turn { cpu, latencies }: Turn, floor: Option<f64>) -> f64 {
        self.ratios.push(cpu / floor.unwrap_or(cpu));
        self.cpu.push(cpu);
        self.medians.push(micros(latencies[latencies.len() / 2]));
        self.tails.push(micros(latencies[latencies.len() * 99 / 100]));
        cpu
    }

    fn figure(self, work: Work, who: &str, target: Option<Target>) -> Figure {
        let median = |all: Vec<f64>| Spread::of(all).median;
        let (cpu, half, tail) = (median(self.cpu), median(self.medians), median(self.tails));
        Figure {
            what: work.name().to_owned(),
            who: who.to_owned(),
            ratio: Spread::of(self.ratios).into(),
            target,
            absolute: format!("{cpu:.1} µs of CPU a POST, calls: p50 {half:.0} µs, p99 {tail:.0} µs"),
        }
    }
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

const WARM_UP: usize = 500;

struct Ours(Client);

impl Ours {
    fn new(server: SocketAddr) -> Result<Self> {
        let transport = HttpTransport::new(&format!("http://{server}{PATH}"))?;
        let client = Client::builder(transport).info("bench", "1.0.0");
        Ok(Self(client.on_elicit(|form| async move { form.accept(&ANSWER) }).build()))
    }
}

impl Caller for Ours {
    async fn call(&self, work: Work) -> Result<String> {
        let result = self.0.call_tool(work.tool(), ARGUMENTS).await?;
        match result.content.into_iter().next() {
            Some(ContentBlock::Text(text)) => Ok(text.text),
            other => bail!("the tool said {other:?}"),
        }
    }
}
