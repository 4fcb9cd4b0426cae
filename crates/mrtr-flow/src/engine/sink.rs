//! Where a run's entries go as they are made.

use async_trait::async_trait;

use super::journal::Entries;

/// Where entries go as they are made. Plain rounds keep them in the journal alone.
///
/// ```
/// use mrtr_flow::{Entries, JournalSink, SinkError};
///
/// #[derive(Debug)]
/// struct Log;
///
/// #[async_trait::async_trait]
/// impl JournalSink for Log {
///     async fn record(&self, entries: &Entries) -> Result<(), SinkError> {
///         for entry in entries.iter() {
///             println!("{:?} {}", entry.kind(), entry.name());
///         }
///         Ok(())
///     }
/// }
/// ```
#[async_trait]
pub trait JournalSink: Send + Sync + 'static {
    /// Keeps entries, after those of earlier calls. The runner makes one call at a time. A step starts when the entry
    /// that says so is kept, and its handler goes on when its outcome is; a question may be shown once this returns.
    async fn record(&self, entries: &Entries) -> Result<(), SinkError>;
}

/// Why entries could not be kept: the run ends there.
///
/// ```
/// use mrtr_flow::SinkError;
///
/// let error = SinkError::Store("the disk is full".into());
/// assert_eq!(error.to_string(), "the entry could not be kept");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// Another runner has this flow now.
    #[error("another runner has this flow now")]
    Lost,
    /// The store failed.
    #[error("the entry could not be kept")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
}
