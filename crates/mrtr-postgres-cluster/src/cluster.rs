//! A PostgreSQL server of a test's own.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::programs::{self, Afterwards, run, unprivileged};

/// A PostgreSQL server in a temporary folder, on a free port of this machine.
///
/// ```
/// use mrtr_postgres_cluster::Cluster;
///
/// # fn main() -> std::io::Result<()> {
/// // Where PostgreSQL is not installed there is none, and a line says so.
/// let Some(cluster) = Cluster::shared() else { return Ok(()) };
/// println!("{}", cluster.fresh_database()?);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Cluster {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    settings: Vec<String>,
    databases: AtomicUsize,
    _taken_down: Afterwards,
}

impl Cluster {
    /// Returns true if PostgreSQL is installed on this machine.
    ///
    /// ```
    /// use mrtr_postgres_cluster::Cluster;
    ///
    /// println!("stories about a fleet: {}", if Cluster::is_installed() { "told" } else { "left out" });
    /// ```
    pub fn is_installed() -> bool {
        programs::postgres().is_some()
    }

    /// Returns the server that all tests of a program share. It does not wait for the disk (`fsync=off`), since tests
    /// do not need that. Where PostgreSQL is not installed, this returns `None` and says so on standard error, and
    /// panics where `CI` is set.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&["fsync=off", "max_connections=300"])).as_ref()
    }

    /// Starts a server with these settings for the caller alone, such as a test that restarts it. Like
    /// [`shared`](Self::shared), it returns `None` where PostgreSQL is not installed.
    ///
    /// ```
    /// use mrtr_postgres_cluster::Cluster;
    ///
    /// if let Some(cluster) = Cluster::start(&["synchronous_commit=on"]) {
    ///     cluster.restart().expect("it comes back");
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if PostgreSQL is installed and does not start.
    pub fn start(settings: &[&str]) -> Option<Self> {
        let Some(programs) = programs::postgres() else {
            programs::left_out("PostgreSQL");
            return None;
        };
        Some(Self::make(programs, settings).expect("PostgreSQL starts where it is installed"))
    }

    fn make(programs: PathBuf, settings: &[&str]) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("mrtr-postgres-").tempdir()?.keep();
        programs::make_over(&folder)?;
        let stop = format!("wait_for_owner; '{}' -D \"$1/data\" -m immediate stop", programs.join("pg_ctl").display());
        let taken_down = Afterwards::run(&stop, &folder)?;
        let mut initdb = unprivileged(programs.join("initdb"));
        initdb.args(["--username=mrtr", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "-D"]);
        run(initdb.arg(folder.join("data")).current_dir("/"))?;
        let cluster = Self {
            programs,
            port: programs::free_port()?,
            folder,
            settings: settings.iter().map(|&setting| setting.to_owned()).collect(),
            databases: AtomicUsize::new(0),
            _taken_down: taken_down,
        };
        cluster.resume()?;
        Ok(cluster)
    }

    /// Returns the address of a database in this cluster, as the superuser.
    pub fn address(&self, database: &str) -> String {
        format!("postgres://mrtr@127.0.0.1:{}/{database}", self.port)
    }

    /// Returns the port on which the server listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Creates an empty database, and returns its address.
    pub fn fresh_database(&self) -> io::Result<String> {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let port = self.port.to_string();
        run(self.program("createdb").args(["-h", "127.0.0.1", "-U", "mrtr", "-p", &port, &name]))?;
        Ok(self.address(&name))
    }

    /// Makes a command that runs one of PostgreSQL's programs, such as `pg_dump`, as a user other than root.
    pub fn program(&self, name: &str) -> Command {
        let mut command = unprivileged(self.programs.join(name));
        command.current_dir("/");
        command
    }

    /// Stops the server as a crash would, and starts it again.
    pub fn restart(&self) -> io::Result<()> {
        self.stop()?;
        self.resume()
    }

    /// Stops the server as a crash would.
    pub fn stop(&self) -> io::Result<()> {
        run(self.program("pg_ctl").args(["-m", "immediate", "-w", "stop", "-D"]).arg(self.folder.join("data")))
    }

    /// Starts the server again after [`stop`](Self::stop).
    pub fn resume(&self) -> io::Result<()> {
        let mut options = format!("-p {} -k {} -c listen_addresses=127.0.0.1", self.port, self.folder.display());
        for setting in &self.settings {
            options.push_str(" -c ");
            options.push_str(setting);
        }
        let log = self.folder.join("log");
        let mut start = self.program("pg_ctl");
        start.args(["-w", "start", "-o", &options, "-D"]).arg(self.folder.join("data")).arg("-l").arg(&log);
        // Its output goes to the log: a server that kept our pipe open would keep us waiting.
        run(&mut start).map_err(|error| {
            let log = fs::read_to_string(log).unwrap_or_default();
            io::Error::other(format!("{error}\n{log}"))
        })
    }
}
