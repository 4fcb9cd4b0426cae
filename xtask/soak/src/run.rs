//! The course of a soak: a baseline, each attack in turn, and the time until all that was taken is given back.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::time::{Instant, sleep};

use crate::attack::Sent;
use crate::attacks::{ATTACKS, Attack, RATE};
use crate::caller::{Caller, HONEST_CONNECTIONS, HOSTILE_CONNECTIONS};
use crate::honest;
use crate::process::Taken;
use crate::report::{Report, Row};
use crate::samples::{Samples, Seen};
use crate::server::{LISTENING, stated_budget};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The folder for the server's file of tasks and its log
    #[arg(long)]
    folder: PathBuf,
    /// The seconds that all of it may take
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// Make limits and requests smaller by this factor than in a long soak
    #[arg(long, default_value_t = 1)]
    scale: usize,
    /// Take a p99 below this many milliseconds for the machine's noise
    #[arg(long, default_value_t = 5)]
    noise_ms: u64,
    /// Run these attacks alone
    #[arg(long, value_delimiter = ',')]
    attacks: Vec<String>,
    /// Write the report as JSON
    #[arg(long)]
    json: bool,
}

/// Fails if honest callers noticed more than they may, or if the server did not give back what the attacks took.
pub(crate) async fn run(options: &Options) -> Result<ExitCode> {
    let chosen: Vec<_> = ATTACKS.iter().filter(|attack| options.chooses(attack)).collect();
    let plan = Plan::of(Duration::from_secs(options.seconds), chosen.len());
    let server = ServerProcess::start(&options.folder, options.scale, plan.attack / 3)?;
    let samples = Samples::new();
    let honest = (0..HONEST_CONNECTIONS).map(Caller::honest);
    let _crowd = honest::start(honest, server.address, HONEST_PERIOD, &samples);

    let hostile = (0..HOSTILE_CONNECTIONS).map(Caller::hostile);
    let harmless = honest::start(hostile, server.address, Duration::from_secs_f64(1.0 / RATE), &Samples::new());
    sleep(WARM_UP).await;
    let quiet = Phase::begin(&server, &samples)?;
    sleep(plan.baseline).await;
    let (quiet, quiet_load) = quiet.end(&server, &samples)?;
    drop(harmless);
    sleep(SETTLING).await;
    let before = server.taken()?;

    let attacked = Phase::begin(&server, &samples)?;
    let mut rows = Vec::new();
    for attack in chosen {
        let row = suffer(attack, &server, plan.attack, options.scale, &samples).await?;
        eprintln!("{row}");
        rows.push(row);
        sleep(BETWEEN).await;
    }
    let (attacked, attacked_load) = attacked.end(&server, &samples)?;
    let (recovered_after, after) = recover(&server, before).await?;
    let afterwards = samples.now();
    sleep(SETTLING).await;
    // By now, the exchanges that were sent under attack have had their time.
    for row in &mut rows {
        row.honest = samples.within(row.time.clone());
    }
    let report = Report {
        scale: options.scale.max(1),
        noise: Duration::from_millis(options.noise_ms),
        stated: stated_budget(options.scale.max(1)),
        baseline: samples.within(quiet),
        rows,
        under_attack: samples.within(attacked),
        before,
        after,
        recovered_after,
        still_answers: samples.within(afterwards..samples.now()),
        load: [quiet_load, attacked_load],
    };
    println!("{}", if options.json { report.to_json().to_string() } else { report.to_string() });
    let violations = report.violations();
    for violation in &violations {
        eprintln!("violation: {violation}");
    }
    Ok(if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Options {
    fn chooses(&self, attack: &Attack) -> bool {
        self.attacks.is_empty() || self.attacks.iter().any(|name| name == attack.name)
    }
}

/// The length of each part.
struct Plan {
    baseline: Duration,
    attack: Duration,
}

impl Plan {
    fn of(whole: Duration, attacks: usize) -> Self {
        let baseline = whole / 8;
        // A server that gives everything back does so long before the deadline.
        let fixed = baseline + WARM_UP + 2 * SETTLING;
        let each = whole.saturating_sub(fixed) / u32::try_from(attacks.max(1)).unwrap_or(u32::MAX);
        Self { baseline, attack: each.saturating_sub(BETWEEN).max(SHORTEST_ATTACK) }
    }
}

/// Some time of a soak.
struct Phase {
    began: Duration,
    busy: Duration,
}

impl Phase {
    fn begin(server: &ServerProcess, samples: &Samples) -> Result<Self> {
        Ok(Self { began: samples.now(), busy: server.taken()?.busy })
    }

    /// Returns the time of the phase, and the share of its core that the server used in it.
    fn end(self, server: &ServerProcess, samples: &Samples) -> Result<(Range<Duration>, f64)> {
        let time = self.began..samples.now();
        let busy = server.taken()?.busy.saturating_sub(self.busy);
        let load = busy.as_secs_f64() / time.end.saturating_sub(time.start).as_secs_f64();
        Ok((time, load))
    }
}

/// Runs an attack, and measures the server meanwhile.
async fn suffer(
    attack: &'static Attack,
    server: &ServerProcess,
    time: Duration,
    scale: usize,
    samples: &Samples,
) -> Result<Row> {
    let began = samples.now();
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["attack", attack.name, "--server", &server.address.to_string()]);
    command.args(["--seconds", &time.as_secs_f64().to_string(), "--scale", &scale.to_string()]);
    let mut process = Killed(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?);
    let give_up = Instant::now() + time + OVERTIME;
    let mut peak = server.taken()?;
    while process.0.try_wait()?.is_none() && Instant::now() < give_up {
        sleep(GLANCE).await;
        let taken = server.taken()?;
        peak = Taken { resident: peak.resident.max(taken.resident), files: peak.files.max(taken.files), ..taken };
    }
    let said = process.0.stdout.take().and_then(|output| BufReader::new(output).lines().next()).transpose()?;
    let sent: Sent = said.map(|line| serde_json::from_str(&line)).transpose()?.unwrap_or_default();
    let (time, honest) = (began..samples.now(), Seen::default());
    Ok(Row { name: attack.name, what: attack.what, sent, peak, time, honest })
}

/// Waits until the server has given back what the attacks took, and returns the time that this took.
async fn recover(server: &ServerProcess, before: Taken) -> Result<(Option<Duration>, Taken)> {
    let began = Instant::now();
    loop {
        let taken = server.taken()?;
        if taken.resident <= before.resident + Report::MAY_STAY && taken.files <= before.files + Report::FILES_MAY_STAY
        {
            return Ok((Some(began.elapsed()), taken));
        }
        if began.elapsed() > RECOVERY {
            return Ok((None, taken));
        }
        sleep(GLANCE).await;
    }
}

/// A process that is killed when this is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // The process may have ended already; that is fine.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct ServerProcess {
    process: Killed,
    address: SocketAddr,
    /// The input of the server, which serves as long as this is open.
    _input: Option<ChildStdin>,
}

impl ServerProcess {
    fn start(folder: &Path, scale: usize, write_timeout: Duration) -> Result<Self> {
        let log = std::fs::File::create(folder.join("server.log"))?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("serve").arg("--store").arg(folder.join("tasks.sqlite")).arg("--scale").arg(scale.to_string());
        command.arg("--write-timeout-ms").arg(write_timeout.as_millis().to_string());
        let mut process = Killed(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn()?);
        let output = process.0.stdout.take().context("its output is piped")?;
        let line = BufReader::new(output).lines().next().context("the server does not start")??;
        let address = line.strip_prefix(LISTENING).context("it says where it listens")?.parse()?;
        let input = process.0.stdin.take();
        Ok(Self { process, address, _input: input })
    }

    fn taken(&self) -> Result<Taken> {
        Taken::by(self.process.0.id()).context("the server is gone")
    }
}

/// The time from one request of an honest connection to the next.
const HONEST_PERIOD: Duration = Duration::from_secs(2);
const WARM_UP: Duration = Duration::from_secs(3);
const SETTLING: Duration = Duration::from_secs(2);
const BETWEEN: Duration = Duration::from_millis(500);
const SHORTEST_ATTACK: Duration = Duration::from_secs(1);
const OVERTIME: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_millis(100);
/// The time in which the server must give back what the attacks took.
const RECOVERY: Duration = Duration::from_mins(1);
