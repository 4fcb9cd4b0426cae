//! How many bytes of bodies are held at a time, over all requests of an endpoint.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::endpoint::{Endpoint, places};
use super::respond::Refusal;

/// Bytes to be held at a time. Nobody waits for them: of two bodies that each wait for the other, none would end.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    most: usize,
    left: Arc<Semaphore>,
}

/// What one body takes of a budget, and gives back when it is dropped.
#[derive(Debug, Default)]
pub(super) struct Room(Option<OwnedSemaphorePermit>);

impl Budget {
    pub(super) fn new(bytes: usize) -> Self {
        Self { most: bytes, left: places(bytes) }
    }

    /// The largest body that there can ever be room for.
    pub(super) fn largest(&self) -> usize {
        self.most.max(FREE)
    }

    /// Room for this many bytes.
    pub(super) fn room(&self, bytes: usize) -> Result<Room, Refusal> {
        let mut room = Room::default();
        self.extend(&mut room, bytes)?;
        Ok(room)
    }

    /// Makes room for this many bytes in all.
    pub(super) fn extend(&self, room: &mut Room, bytes: usize) -> Result<(), Refusal> {
        let missing = counted(bytes).saturating_sub(room.bytes());
        if missing == 0 {
            return Ok(());
        }
        let missing = u32::try_from(missing).map_err(|_| Refusal::TooLarge)?;
        let more = Arc::clone(&self.left).try_acquire_many_owned(missing).map_err(|_| Refusal::Overloaded)?;
        match &mut room.0 {
            Some(taken) => taken.merge(more),
            none => *none = Some(more),
        }
        Ok(())
    }
}

impl Room {
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

    /// The body, which gives its room back when nobody holds it any more: a round may outlive its connection.
    pub(super) fn hold(self, body: Bytes) -> Bytes {
        match self.0 {
            Some(taken) => Bytes::from_owner(Held { body, _taken: taken }),
            None => body,
        }
    }
}

struct Held {
    body: Bytes,
    _taken: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

/// How much of a body of this size counts: all of it or nothing.
fn counted(bytes: usize) -> usize {
    if bytes > FREE { bytes } else { 0 }
}

/// A body of this size does not count.
pub(super) const FREE: usize = Endpoint::UNCOUNTED_BODY;

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 10 * FREE;

    #[test]
    fn ht_8_room_is_given_back_with_the_last_of_a_body() {
        let budget = Budget::new(MOST);
        let room = budget.room(6 * FREE).expect("there is room");
        let body = room.hold(Bytes::from(vec![b' '; 6 * FREE]));
        let part = body.slice(..1);
        drop(body);
        assert!(matches!(budget.room(4 * FREE + 1), Err(Refusal::Overloaded)));
        assert!(budget.room(4 * FREE).is_ok(), "what is left can be had");
        drop(part);
        assert!(budget.room(MOST).is_ok());
    }

    #[test]
    fn ht_8_what_does_not_fit_takes_nothing() {
        let budget = Budget::new(MOST);
        let mut room = budget.room(6 * FREE).expect("there is room");
        assert!(matches!(budget.extend(&mut room, MOST + 1), Err(Refusal::Overloaded)));
        assert!(budget.extend(&mut room, MOST).is_ok(), "a body may go on to take all of it");
        assert!(budget.room(FREE).is_ok(), "a small one is taken all the same");
        assert!(matches!(budget.room(FREE + 1), Err(Refusal::Overloaded)));
        room.shrink(4 * FREE);
        assert!(budget.room(6 * FREE).is_ok(), "what is not needed is given back");
        room.shrink(FREE);
        assert!(budget.room(MOST).is_ok());
    }
}
