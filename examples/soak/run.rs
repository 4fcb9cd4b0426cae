//! The course of a soak: a baseline, each attack in turn, and the time until all that was taken is given back.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
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
use crate::samples::Samples;
use crate::server::{LISTENING, stated_budget};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The folder for the server's file of tasks and its log
    #[arg(long)]
    folder: PathBuf,
    /// How long all of it may take
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// By how much the limits on numbers of things are smaller than by default
    #[arg(long, default_value_t = 1)]
    scale: usize,
    /// Runs these attacks alone
    #[arg(long, value_delimiter = ',')]
    attacks: Vec<String>,
    /// Writes the report as JSON
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
    let began = samples.now();
    sleep(plan.baseline).await;
    let baseline = samples.within(began..samples.now());
    drop(harmless);
    sleep(SETTLING).await;
    let before = server.taken()?;

    let began = samples.now();
    let mut rows = Vec::new();
    for attack in chosen {
        rows.push(suffer(attack, &server, plan.attack, &samples).await?);
        sleep(BETWEEN).await;
    }
    let under_attack = samples.within(began..samples.now());
    let (recovered_after, after) = recover(&server, before, plan.recovery).await?;
    // Those that were sent last have had their time.
    let afterwards = samples.now();
    sleep(SETTLING).await;
    let still_answers = samples.within(afterwards..samples.now());
    let stated = stated_budget(options.scale.max(1));
    let report = Report { stated, baseline, rows, under_attack, before, after, recovered_after, still_answers };
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

/// How long each part takes.
struct Plan {
    baseline: Duration,
    attack: Duration,
    recovery: Duration,
}

impl Plan {
    fn of(whole: Duration, attacks: usize) -> Self {
        let (baseline, recovery) = (whole / 8, (whole / 6).min(MINUTE));
        let fixed = baseline + recovery + WARM_UP + 2 * SETTLING;
        let each = whole.saturating_sub(fixed) / u32::try_from(attacks.max(1)).unwrap_or(u32::MAX);
        Self { baseline, attack: each.saturating_sub(BETWEEN).max(SHORTEST_ATTACK), recovery }
    }
}

/// Runs an attack, and looks at the server meanwhile.
async fn suffer(attack: &'static Attack, server: &ServerProcess, time: Duration, samples: &Samples) -> Result<Row> {
    let began = samples.now();
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["attack", attack.name, "--server", &server.address.to_string()]);
    command.args(["--seconds", &time.as_secs_f64().to_string()]);
    let mut process = Killed(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?);
    let give_up = Instant::now() + time + OVERTIME;
    let mut peak = server.taken()?;
    while process.0.try_wait()?.is_none() && Instant::now() < give_up {
        sleep(GLANCE).await;
        let taken = server.taken()?;
        peak = Taken { resident: peak.resident.max(taken.resident), files: peak.files.max(taken.files) };
    }
    let said = process.0.stdout.take().and_then(|output| BufReader::new(output).lines().next()).transpose()?;
    let sent: Sent = said.map(|line| serde_json::from_str(&line)).transpose()?.unwrap_or_default();
    Ok(Row { name: attack.name, what: attack.what, sent, peak, honest: samples.within(began..samples.now()) })
}

/// Waits until the server has given back what the attacks took, and says after how long that was.
async fn recover(server: &ServerProcess, before: Taken, time: Duration) -> Result<(Option<Duration>, Taken)> {
    let began = Instant::now();
    loop {
        let taken = server.taken()?;
        if taken.resident <= before.resident + Report::MAY_STAY && taken.files <= before.files + Report::FILES_MAY_STAY
        {
            return Ok((Some(began.elapsed()), taken));
        }
        if began.elapsed() > time {
            return Ok((None, taken));
        }
        sleep(GLANCE).await;
    }
}

/// A process that is gone when this is.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may be gone already, which is as well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct ServerProcess {
    process: Killed,
    address: SocketAddr,
    /// It serves as long as this is open.
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

/// From one request of an honest connection to the next.
const HONEST_PERIOD: Duration = Duration::from_secs(2);
const WARM_UP: Duration = Duration::from_secs(3);
const SETTLING: Duration = Duration::from_secs(2);
const BETWEEN: Duration = Duration::from_millis(200);
const SHORTEST_ATTACK: Duration = Duration::from_secs(1);
const OVERTIME: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_millis(100);
const MINUTE: Duration = Duration::from_secs(60);
