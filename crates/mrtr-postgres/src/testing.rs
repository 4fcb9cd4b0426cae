//! PostgreSQL and pgbouncer for tests: a throw-away cluster in a temporary folder (feature `testing`).
//!
//! ```
//! use mrtr_postgres::PostgresOptions;
//! use mrtr_postgres::testing::{Bouncer, Cluster};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Where PostgreSQL is not installed there is none, and a line says so.
//! let Some(cluster) = Cluster::shared() else { return Ok(()) };
//! let Some(bouncer) = Bouncer::start(cluster) else { return Ok(()) };
//! let direct = cluster.fresh_database()?;
//! let shared = bouncer.before(&direct);
//! let store = PostgresOptions::new(&shared)?.pgbouncer(true).listener(&direct)?.connect().await?;
//! # drop(store);
//! # Ok(()) }
//! ```

pub use mrtr_postgres_cluster::{Bouncer, Cluster};
