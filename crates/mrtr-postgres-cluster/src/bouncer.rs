//! A pgbouncer of a test's own.

use std::fs;
use std::io;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::Cluster;
use crate::programs::{self, Afterwards};

/// A pgbouncer in front of a [`Cluster`]: clients share its connections to the server, one transaction each.
///
/// ```
/// use mrtr_postgres_cluster::{Bouncer, Cluster};
///
/// # fn main() -> std::io::Result<()> {
/// let Some(cluster) = Cluster::shared() else { return Ok(()) };
/// let Some(bouncer) = Bouncer::start(cluster) else { return Ok(()) };
/// println!("{}", bouncer.before(&cluster.fresh_database()?));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Bouncer {
    port: u16,
    cluster: u16,
    _taken_down: Afterwards,
}

impl Bouncer {
    /// Starts a pgbouncer in front of this cluster. Where pgbouncer is not installed, this returns `None` and says so
    /// on standard error, and panics where `CI` is set.
    ///
    /// # Panics
    ///
    /// Panics if pgbouncer is installed and does not start.
    pub fn start(cluster: &Cluster) -> Option<Self> {
        let Some(program) = programs::on_path("pgbouncer") else {
            programs::left_out("pgbouncer");
            return None;
        };
        Some(
            Self::make(&program.display().to_string(), cluster.port()).expect("pgbouncer starts where it is installed"),
        )
    }

    fn make(program: &str, cluster: u16) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("mrtr-pgbouncer-").tempdir()?.keep();
        let (port, settings) = (programs::free_port()?, folder.join("pgbouncer.ini"));
        fs::write(
            &settings,
            format!(
                "[databases]\n* = host=127.0.0.1 port={cluster} user=mrtr\n\
                 [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
                 pool_mode = transaction\ndefault_pool_size = 4\nmax_client_conn = 500\nserver_reset_query =\n"
            ),
        )?;
        programs::make_over(&folder)?;
        programs::make_over(&settings)?;
        let script = format!("'{program}' \"$1/pgbouncer.ini\" & wait_for_owner; kill $!; wait");
        let taken_down = Afterwards::run(&script, &folder)?;
        let deadline = Instant::now() + Duration::from_secs(10);
        while let Err(error) = TcpStream::connect(("127.0.0.1", port)) {
            if Instant::now() > deadline {
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(Self { port, cluster, _taken_down: taken_down })
    }

    /// Returns the address that reaches a database through this pgbouncer, given the address that reaches it directly.
    pub fn before(&self, direct: &str) -> String {
        direct.replace(&format!(":{}/", self.cluster), &format!(":{}/", self.port))
    }
}
