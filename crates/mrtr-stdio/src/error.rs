//! The public error type of this crate. Later failures are mrtr-client's `TransportError`.

use std::io;

/// An error that says why a [`StdioTransport`](crate::StdioTransport) cannot be made.
///
/// ```
/// use mrtr_stdio::{StdioTransport, StdioTransportError};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let error = StdioTransport::spawn(std::process::Command::new("/there/is/no/such/program")).unwrap_err();
/// assert!(matches!(error, StdioTransportError::Spawn { program, .. } if program == "/there/is/no/such/program"));
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StdioTransportError {
    /// The child process could not be started.
    #[error("`{program}` could not be started")]
    Spawn {
        /// The program.
        program: String,
        /// The error of the operating system.
        source: io::Error,
    },
}
