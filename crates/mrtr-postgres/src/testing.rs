//! PostgreSQL and pgbouncer for tests: a throw-away cluster in a temporary folder (feature `testing`).
//!
//! What is started here is taken down when the process is gone, however it ended: a shell waits for that at the other end
//! of a pipe.

mod bouncer;
mod cluster;
mod programs;

pub use bouncer::Bouncer;
pub use cluster::Cluster;
