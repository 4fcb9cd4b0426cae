//! A verb on its way to the thread that owns the file, and its result on the way back.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::super::SingleUseError;
use super::store_error;
use super::table::{Failure, Table};

/// A verb, and where its result goes once the transaction is through.
pub(super) trait WriteCommand: Send {
    /// Fails if the whole transaction has to. An error of the verb alone is a result like any other.
    fn run(&mut self, table: &mut Table<'_>) -> rusqlite::Result<()>;

    /// Says how it went: `failed` if the transaction did.
    fn report(self: Box<Self>, failed: Option<&Arc<rusqlite::Error>>);
}

pub(super) struct VerbCommand<Verb, T> {
    stage: Stage<Verb, T>,
    caller: oneshot::Sender<Result<T, SingleUseError>>,
}

enum Stage<Verb, T> {
    Queued(Verb),
    /// Also while it runs, and for good if the transaction fails meanwhile.
    Unknown,
    Done(Result<T, SingleUseError>),
}

impl<Verb, T> VerbCommand<Verb, T>
where
    Verb: FnOnce(&mut Table<'_>) -> Result<T, Failure>,
{
    pub(super) fn new(verb: Verb, caller: oneshot::Sender<Result<T, SingleUseError>>) -> Self {
        Self { stage: Stage::Queued(verb), caller }
    }
}

impl<Verb, T> WriteCommand for VerbCommand<Verb, T>
where
    Verb: FnOnce(&mut Table<'_>) -> Result<T, Failure> + Send,
    T: Send,
{
    fn run(&mut self, table: &mut Table<'_>) -> rusqlite::Result<()> {
        if let Stage::Queued(verb) = std::mem::replace(&mut self.stage, Stage::Unknown) {
            self.stage = Stage::Done(match verb(table) {
                Ok(value) => Ok(value),
                Err(Failure::Verb(error)) => Err(error),
                Err(Failure::Transaction(error)) => return Err(error),
            });
        }
        Ok(())
    }

    fn report(self: Box<Self>, failed: Option<&Arc<rusqlite::Error>>) {
        let result = match (failed, self.stage) {
            (Some(error), _) => Err(store_error(Arc::clone(error))),
            (None, Stage::Done(outcome)) => outcome,
            (None, Stage::Queued(_) | Stage::Unknown) => Err(store_error("the verb was not carried out")),
        };
        // A caller that no longer wants to know has dropped the other end.
        drop(self.caller.send(result));
    }
}
