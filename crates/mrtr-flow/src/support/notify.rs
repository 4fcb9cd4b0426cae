//! What a flow says while it runs: how far it has come, and log messages.

use async_trait::async_trait;
use mrtr_schema::{Json, LoggingLevel, Number};

/// Takes what a flow says while it runs. A runner says with [`RunContext::notifications`] where it goes.
///
/// [`RunContext::notifications`]: crate::RunContext::notifications
///
/// ```
/// use mrtr_flow::{NotificationSink, Progress};
/// use mrtr_schema::{Json, LoggingLevel};
///
/// struct Printed;
///
/// #[async_trait::async_trait]
/// impl NotificationSink for Printed {
///     async fn progress(&self, progress: Progress) {
///         println!("{} {:?}", progress.progress, progress.message);
///     }
///
///     async fn log(&self, level: LoggingLevel, data: Json) {
///         println!("{level:?} {data:?}");
///     }
/// }
/// ```
#[async_trait]
pub trait NotificationSink: Send + Sync + 'static {
    /// Takes how far the flow has come. The handler goes on when this has returned.
    async fn progress(&self, progress: Progress);

    /// Takes a log message. The handler goes on when this has returned.
    async fn log(&self, level: LoggingLevel, data: Json);
}

/// How far a flow has come, as [`Flow::progress`](crate::Flow::progress) said it.
///
/// ```
/// use mrtr_flow::Progress;
///
/// let mut progress = Progress::new(3);
/// progress.total = Some(10.into());
/// assert_eq!(progress.message, None);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// How far it has come.
    pub progress: Number,
    /// How far it has to go, if that is known.
    pub total: Option<Number>,
    /// What it does.
    pub message: Option<String>,
}

impl Progress {
    /// So far, of an unknown total and without words.
    pub fn new(progress: impl Into<Number>) -> Self {
        Self { progress: progress.into(), total: None, message: None }
    }
}
