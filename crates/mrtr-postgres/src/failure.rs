//! The failure of a statement, which tells whether it may have been carried out.

use std::error::Error;
use std::io;

use deadpool_postgres::{PoolError, TimeoutType};
use mrtr_state::single_use::SingleUseError;
use mrtr_tasks::record::TransitionError;
use mrtr_tasks::store::StoreError;
use tokio_postgres::error::{DbError, Severity, SqlState};

/// The failure of a statement, by what it means for the next attempt.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// No connection was free in time: nothing was sent.
    #[error("no connection to the database became free in time")]
    Busy(#[source] Box<dyn Error + Send + Sync>),
    /// There is no connection: nothing was sent.
    #[error("the database cannot be reached")]
    Unreachable(#[source] Box<dyn Error + Send + Sync>),
    /// The database took the statement back, since it met another transaction: it can be sent again.
    #[error("the statement conflicted with another transaction")]
    Collided(#[source] tokio_postgres::Error),
    /// The database refused the statement, and carried out nothing of it.
    #[error("the database refused the statement")]
    Refused(#[source] tokio_postgres::Error),
    /// The connection was lost after the statement was sent: the database may have carried it out, or may do so yet.
    #[error("the connection to the database was lost")]
    Unsure(#[source] Box<dyn Error + Send + Sync>),
    /// A row is not as this store writes it.
    #[error("a row is not in the form that this store writes")]
    Unreadable(#[source] Box<dyn Error + Send + Sync>),
}

impl Failure {
    /// Returns true if another attempt may succeed soon.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Collided(_) | Self::Unsure(_))
    }

    /// The unique constraint that a statement broke, if it broke one.
    pub(crate) fn broken_constraint(&self) -> Option<&str> {
        let Self::Refused(error) = self else { return None };
        let error = error.as_db_error().filter(|error| *error.code() == SqlState::UNIQUE_VIOLATION)?;
        error.constraint()
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        let is_full = match &error {
            PoolError::Timeout(kind) => matches!(kind, TimeoutType::Wait),
            PoolError::Backend(error) => error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS),
            _ => false,
        };
        if is_full { Self::Busy(error.into()) } else { Self::Unreachable(error.into()) }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        let is_cut = |error: &tokio_postgres::Error| {
            error.is_closed() || error.source().is_some_and(<dyn Error>::is::<io::Error>)
        };
        match error.as_db_error().map(judge) {
            Some(Verdict::Collided) => Self::Collided(error),
            Some(Verdict::Refused) => Self::Refused(error),
            None if !is_cut(&error) => Self::Unreadable(error.into()),
            Some(Verdict::Unsure) | None => Self::Unsure(error.into()),
        }
    }
}

enum Verdict {
    Collided,
    Refused,
    Unsure,
}

/// Judges an error of the database. An error undoes its transaction, but one that ends the whole session may come after
/// the commit.
fn judge(error: &DbError) -> Verdict {
    let collisions = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
    match error.parsed_severity() {
        Some(Severity::Error) if collisions.contains(error.code()) => Verdict::Collided,
        Some(Severity::Error) => Verdict::Refused,
        _ => Verdict::Unsure,
    }
}

/// The failure of a verb on a task: the state machine refused it, or a statement failed.
#[derive(Debug)]
pub(crate) enum VerbFailure {
    Verb(StoreError),
    Statement(Failure),
}

impl From<StoreError> for VerbFailure {
    fn from(error: StoreError) -> Self {
        Self::Verb(error)
    }
}

impl From<TransitionError> for VerbFailure {
    fn from(refusal: TransitionError) -> Self {
        Self::Verb(refusal.into())
    }
}

impl From<Failure> for VerbFailure {
    fn from(failure: Failure) -> Self {
        Self::Statement(failure)
    }
}

impl From<VerbFailure> for StoreError {
    fn from(failure: VerbFailure) -> Self {
        match failure {
            VerbFailure::Verb(error) => error,
            VerbFailure::Statement(Failure::Busy(error)) => Self::Busy(error),
            VerbFailure::Statement(failure) => Self::Store(failure.into()),
        }
    }
}

impl From<Failure> for SingleUseError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Busy(error) => Self::Busy(error),
            failure => Self::Store(failure.into()),
        }
    }
}
