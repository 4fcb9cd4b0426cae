//! Where a run's entries go as they are made.

use async_trait::async_trait;

use super::question::Question;

/// Where entries go as they are made. Plain rounds keep them in the journal alone.
///
/// ```
/// use mrtr_server::extend::{Entry, JournalSink, SinkError};
///
/// #[derive(Debug)]
/// struct Log;
///
/// #[async_trait::async_trait]
/// impl JournalSink for Log {
///     async fn record(&self, entry: Entry<'_>) -> Result<(), SinkError> {
///         println!("{entry:?}");
///         Ok(())
///     }
/// }
/// ```
#[async_trait]
pub trait JournalSink: Send + Sync + 'static {
    /// Keeps an entry. A step goes on only when this has returned.
    async fn record(&self, entry: Entry<'_>) -> Result<(), SinkError>;

    /// Hears of a question as soon as it is open, while steps may still be running.
    fn asked(&self, _question: &Question) {}
}

/// Something that happened in a run.
///
/// ```
/// use mrtr_server::extend::Entry;
///
/// fn line(entry: Entry<'_>) -> String {
///     match entry {
///         Entry::StepStarted { step } => format!("{step} started"),
///         Entry::StepFinished { step, outcome } => format!("{step} gave {outcome}"),
///         _ => "something else".to_owned(),
///     }
/// }
/// assert_eq!(line(Entry::StepStarted { step: "pay" }), "pay started");
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Entry<'a> {
    /// A step is about to start.
    StepStarted {
        /// Its name.
        step: &'a str,
    },
    /// A step ended, or was given up by its handler; or a race was won, under the names of its members.
    StepFinished {
        /// Its name.
        step: &'a str,
        /// What it gave, in the form in which [`Journal::replay`](crate::extend::Journal::replay) takes it back.
        outcome: &'a str,
    },
}

/// Why an entry could not be kept: the run ends there.
///
/// ```
/// use mrtr_server::extend::SinkError;
///
/// let error = SinkError::Store("the disk is full".into());
/// assert_eq!(error.to_string(), "the entry could not be kept");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// Another runner has this flow now.
    #[error("somebody else runs this flow now")]
    Lost,
    /// The store failed.
    #[error("the entry could not be kept")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
}
