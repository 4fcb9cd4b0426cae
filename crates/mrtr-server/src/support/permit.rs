//! Permits: things that a request holds of its transport for as long as it runs.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Something that a request holds of its transport for as long as it runs, such as one of a limited number of places.
///
/// The transport lends it to the server with [`Context::permit`](crate::Context::permit). A round that continues
/// without its connection takes it over, and so does a reply that is a stream; either drops it when it ends. Until then
/// it costs nothing: a plain call leaves it where it is.
///
/// ```
/// use std::sync::Arc;
/// use mrtr_server::Context;
/// use mrtr_server::transport::Permit;
/// use tokio::sync::Semaphore;
///
/// let places = Arc::new(Semaphore::new(1));
/// let permit = Permit::new(Arc::clone(&places).try_acquire_owned()?);
/// let context = Context::new().permit(&permit);
/// // After `server.handle(body, context).await`:
/// assert!(permit.into_inner().is_some(), "nothing has taken it over");
/// # Ok::<(), tokio::sync::TryAcquireError>(())
/// ```
pub struct Permit<T>(Mutex<Option<T>>);

impl<T> Permit<T> {
    /// A permit that holds this.
    pub fn new(held: T) -> Self {
        Self(Mutex::new(Some(held)))
    }

    /// Returns what is held, unless work that outlives the connection has taken it over.
    pub fn into_inner(self) -> Option<T> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> fmt::Debug for Permit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}

/// A permit of any kind, to be taken over once.
pub(crate) trait Lend: fmt::Debug + Sync {
    fn take(&self) -> Option<Arc<dyn Any + Send + Sync>>;
}

impl<T: Send + Sync + 'static> Lend for Permit<T> {
    fn take(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Arc::new(held))
    }
}

/// The permit of a context.
#[derive(Debug, Clone)]
pub(crate) enum Held<'h> {
    /// The transport still has it.
    Lent(&'h dyn Lend),
    /// The request has taken it over, and it goes with the last holder.
    Kept(Arc<dyn Any + Send + Sync>),
}

impl Held<'_> {
    /// Takes the permit over from the transport, if nothing has before.
    pub(crate) fn into_owned(self) -> Option<Held<'static>> {
        match self {
            Self::Lent(permit) => permit.take().map(Held::Kept),
            Self::Kept(held) => Some(Held::Kept(held)),
        }
    }
}
