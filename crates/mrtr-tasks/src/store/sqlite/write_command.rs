//! A verb on its way to the thread that writes, and its result on the way back.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::super::StoreError;
use super::store_error;
use super::tables::{Failure, Tables};

/// A verb, and where its result goes once the transaction is through.
pub(super) trait WriteCommand: Send {
    /// Fails if the whole transaction has to. A refusal of the verb alone is a result like any other.
    fn run(&mut self, tables: &mut Tables<'_>) -> rusqlite::Result<()>;

    /// Says how it went: `failed` if the transaction did.
    fn report(self: Box<Self>, failed: Option<&Arc<rusqlite::Error>>);
}

pub(super) struct VerbCommand<Verb, T> {
    /// Until it has begun.
    verb: Option<Verb>,
    /// Once it is done.
    result: Option<Result<T, StoreError>>,
    caller: oneshot::Sender<Result<T, StoreError>>,
}

impl<Verb, T> VerbCommand<Verb, T>
where
    Verb: FnOnce(&mut Tables<'_>) -> Result<T, Failure>,
{
    pub(super) fn new(verb: Verb, caller: oneshot::Sender<Result<T, StoreError>>) -> Self {
        Self { verb: Some(verb), result: None, caller }
    }
}

impl<Verb, T> WriteCommand for VerbCommand<Verb, T>
where
    Verb: FnOnce(&mut Tables<'_>) -> Result<T, Failure> + Send,
    T: Send,
{
    fn run(&mut self, tables: &mut Tables<'_>) -> rusqlite::Result<()> {
        self.result = match self.verb.take().map(|verb| verb(tables)) {
            Some(Err(Failure::Transaction(error))) => return Err(error),
            Some(Err(Failure::Verb(refusal))) => Some(Err(refusal)),
            Some(Ok(value)) => Some(Ok(value)),
            None => None,
        };
        Ok(())
    }

    fn report(self: Box<Self>, failed: Option<&Arc<rusqlite::Error>>) {
        let result = match (failed, self.result) {
            (Some(error), _) => Err(store_error(Arc::clone(error))),
            (None, Some(result)) => result,
            (None, None) => Err(store_error("the verb was not carried out")),
        };
        // A caller that no longer wants to know has dropped the other end.
        drop(self.caller.send(result));
    }
}
