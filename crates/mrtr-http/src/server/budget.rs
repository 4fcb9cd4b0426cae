//! How many bytes of bodies are held at a time, over all requests of an endpoint.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::permits::permits;
use super::rejection::Rejection;

/// Bytes of bodies that an endpoint holds at a time. A body that finds none left is sent away and does not wait: of two
/// bodies that each hold a part and wait for the other's, neither would end.
#[derive(Debug, Clone)]
pub(super) struct BodyBudget {
    max: usize,
    left: Arc<Semaphore>,
}

/// What one body takes of a budget, and gives back when it is dropped.
#[derive(Debug, Default)]
pub(super) struct BodyReservation(Option<OwnedSemaphorePermit>);

impl BodyBudget {
    pub(super) fn new(bytes: usize) -> Self {
        Self { max: bytes, left: permits(bytes) }
    }

    /// The largest body that there can ever be room for.
    pub(super) fn largest(&self) -> usize {
        self.max.max(UNCOUNTED)
    }

    /// A reservation for this many bytes.
    pub(super) fn reserve(&self, bytes: usize) -> Result<BodyReservation, Rejection> {
        let mut reservation = BodyReservation::default();
        self.grow(&mut reservation, bytes)?;
        Ok(reservation)
    }

    /// Has a reservation cover this many bytes in all. If there are not that many left, it stays as it was.
    pub(super) fn grow(&self, reservation: &mut BodyReservation, bytes: usize) -> Result<(), Rejection> {
        let missing = counted(bytes).saturating_sub(reservation.bytes());
        if missing == 0 {
            return Ok(());
        }
        let missing = u32::try_from(missing).map_err(|_| Rejection::TooLarge)?;
        let more = Arc::clone(&self.left).try_acquire_many_owned(missing).map_err(|_| Rejection::Overloaded)?;
        match &mut reservation.0 {
            Some(taken) => taken.merge(more),
            none => *none = Some(more),
        }
        Ok(())
    }
}

impl BodyReservation {
    fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, OwnedSemaphorePermit::num_permits)
    }

    /// Gives back what is not needed for this many bytes in all.
    pub(super) fn shrink(&mut self, bytes: usize) {
        if let Some(taken) = &mut self.0 {
            let excess = taken.num_permits().saturating_sub(counted(bytes));
            drop(taken.split(excess));
        }
    }

    /// The body, which gives its reservation back with the last reference to it: the round of a single-use tool may outlive
    /// its connection, and holds the body until it ends.
    pub(super) fn attach(self, body: Bytes) -> Bytes {
        match self.0 {
            Some(taken) => Bytes::from_owner(ReservedBody { body, _taken: taken }),
            None => body,
        }
    }
}

struct ReservedBody {
    body: Bytes,
    _taken: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for ReservedBody {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

/// How much of a body of this size counts: all of it or nothing.
fn counted(bytes: usize) -> usize {
    if bytes > UNCOUNTED { bytes } else { 0 }
}

/// A body of up to this size does not count: `Endpoint::UNCOUNTED_BODY` says why.
pub(super) const UNCOUNTED: usize = 4 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 10 * UNCOUNTED;

    #[test]
    fn ht_8_room_is_given_back_with_the_last_of_a_body() {
        let budget = BodyBudget::new(MAX);
        let reservation = budget.reserve(6 * UNCOUNTED).expect("there is room");
        let body = reservation.attach(Bytes::from(vec![b' '; 6 * UNCOUNTED]));
        let part = body.slice(..1);
        drop(body);
        assert!(matches!(budget.reserve(4 * UNCOUNTED + 1), Err(Rejection::Overloaded)));
        assert!(budget.reserve(4 * UNCOUNTED).is_ok(), "what is left can be had");
        drop(part);
        assert!(budget.reserve(MAX).is_ok());
    }

    #[test]
    fn ht_8_what_does_not_fit_takes_nothing() {
        let budget = BodyBudget::new(MAX);
        let mut reservation = budget.reserve(6 * UNCOUNTED).expect("there is room");
        assert!(matches!(budget.grow(&mut reservation, MAX + 1), Err(Rejection::Overloaded)));
        assert!(budget.grow(&mut reservation, MAX).is_ok(), "a body may go on to take all of it");
        assert!(budget.reserve(UNCOUNTED).is_ok(), "a small one is taken all the same");
        assert!(matches!(budget.reserve(UNCOUNTED + 1), Err(Rejection::Overloaded)));
        reservation.shrink(4 * UNCOUNTED);
        assert!(budget.reserve(6 * UNCOUNTED).is_ok(), "what is not needed is given back");
        reservation.shrink(UNCOUNTED);
        assert!(budget.reserve(MAX).is_ok());
    }
}
