//! A body that comes in several pieces: gathered in memory that is counted before it is taken.

use std::sync::Arc;

use bytes::Bytes;
use memmap2::MmapMut;
use tokio::sync::Notify;

use super::accounts::Accounts;
use super::budget::{BodyReservation, UNCOUNTED};
use super::rejection::Rejection;

/// The part of a body that has come so far.
///
/// The buffer keeps it in parts of a fixed size, and counts each part in full as soon as it is there. One buffer that
/// grows would be up to twice as large as its content, and there would be two while it moves.
pub(super) struct BodyBuffer<'b> {
    accounts: &'b Accounts,
    reservation: BodyReservation,
    /// The signal that another caller got the room of this body, while the server waited for more of it.
    taken: Arc<Notify>,
    parts: Vec<Pages>,
    /// The number of bytes that the parts have room for.
    capacity: usize,
    /// The number of bytes that have come.
    length: usize,
}

impl<'b> BodyBuffer<'b> {
    pub(super) fn new(accounts: &'b Accounts, taken: Arc<Notify>) -> Self {
        let reservation = BodyReservation::default();
        Self { accounts, reservation, taken, parts: Vec::new(), capacity: 0, length: 0 }
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Adds a piece of a body that will have at most `most` bytes. A body that turns out longer than that is gathered
    /// all the same.
    pub(super) fn push(&mut self, mut piece: &[u8], most: usize) -> Result<(), Rejection> {
        let most = most.max(self.length + piece.len());
        while !piece.is_empty() {
            if self.length == self.capacity {
                self.add_part(most - self.capacity)?;
            }
            let unused = self.unused();
            let taken = piece.len().min(unused.len());
            unused[..taken].copy_from_slice(&piece[..taken]);
            self.length += taken;
            piece = &piece[taken..];
        }
        Ok(())
    }

    /// The free room in the last part.
    fn unused(&mut self) -> &mut [u8] {
        let unused = self.capacity - self.length;
        let part = self.parts.last_mut().map(AsMut::as_mut).unwrap_or_default();
        let used = part.len() - unused;
        &mut part[used..]
    }

    fn add_part(&mut self, most: usize) -> Result<(), Rejection> {
        let usual = if self.parts.is_empty() { UNCOUNTED } else { PART };
        let size = usual.min(most);
        let needed = self.capacity + size;
        if needed > UNCOUNTED {
            self.reservation.grow(self.accounts.bodies(), needed)?;
            let taken = Arc::clone(&self.taken);
            self.reservation.offer(move || taken.notify_one());
        }
        self.parts.push(Pages::new(size)?);
        self.capacity += size;
        Ok(())
    }

    /// Returns the body in one piece. This joins the parts without a pause, so that a thread has at most one body
    /// twice.
    pub(super) fn whole(mut self) -> Result<Bytes, Rejection> {
        let whole = match self.parts.len() {
            0 => return Ok(Bytes::new()),
            1 => self.parts.swap_remove(0),
            _ => self.joined()?,
        };
        self.reservation.shrink(self.length)?;
        Ok(self.reservation.attach(Bytes::from_owner(whole).slice(..self.length)))
    }

    fn joined(&mut self) -> Result<Pages, Rejection> {
        let mut whole = Pages::new(self.length)?;
        let mut rest = whole.as_mut();
        for part in self.parts.drain(..) {
            let (place, next) = rest.split_at_mut(part.as_ref().len().min(rest.len()));
            place.copy_from_slice(&part.as_ref()[..place.len()]);
            rest = next;
        }
        Ok(whole)
    }
}

/// Memory from the system that goes back to it at once. Allocators keep freed memory, so a server would stay as large
/// as in its worst minute for as long as it runs.
#[derive(Debug)]
struct Pages(MmapMut);

impl Pages {
    /// Takes this many bytes, all zero. They take no memory until they are written.
    pub(super) fn new(bytes: usize) -> Result<Self, Rejection> {
        MmapMut::map_anon(bytes).map(Self).map_err(|error| {
            tracing::error!(%error, bytes, "the system has no memory for a body");
            Rejection::Overloaded
        })
    }
}

impl AsRef<[u8]> for Pages {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl AsMut<[u8]> for Pages {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// The bytes that a body takes from the budget at a time, once it is longer than what does not count.
const PART: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use mrtr_server::Identity;
    use mrtr_server::transport::FairPool;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::server::accounts::Pools;
    use crate::server::heavy_requests::HeavyRequests;

    const MAX: usize = 4 * PART;

    /// The accounts of a caller at an endpoint with room for so many bytes of bodies.
    fn accounts(bytes: usize) -> Accounts {
        let pool = || FairPool::new(1);
        let bodies = FairPool::new(bytes);
        let heavy_requests = HeavyRequests::new();
        let pools = Pools { requests: pool(), subscriptions: pool(), bodies, replies: pool(), heavy_requests };
        Accounts::new(&Arc::new(pools), &Identity::anonymous(), None)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn ht_8_a_body_is_its_pieces(sizes in vec(prop_oneof![0..10_usize, 4000..4200_usize, 60_000..70_000_usize], 0..6), hint in any::<u32>()) {
            let body: Vec<u8> = (0..sizes.iter().sum()).map(|at: usize| at.to_le_bytes()[at % 2]).collect();
            let accounts = accounts(10 * MAX);
            let mut buffer = BodyBuffer::new(&accounts, Arc::default());
            let mut rest = &*body;
            for size in sizes {
                let (piece, next) = rest.split_at(size);
                // What it says of itself may be anything.
                buffer.push(piece, hint as usize % (2 * MAX)).expect("there is room");
                prop_assert!(buffer.capacity <= buffer.length + PART, "no more than a part is ahead");
                rest = next;
            }
            let whole = buffer.whole().expect("there is room");
            prop_assert!(whole == body);
            let counted = if body.len() > UNCOUNTED { body.len() } else { 0 };
            prop_assert_eq!(accounts.bodies().used(), counted, "it counts as what it is");
            drop(whole);
            prop_assert_eq!(accounts.bodies().used(), 0);
        }
    }

    #[test]
    fn ht_8_a_part_that_there_is_no_room_for_is_not_taken() {
        let accounts = accounts(UNCOUNTED + PART);
        let mut buffer = BodyBuffer::new(&accounts, Arc::default());
        buffer.push(&vec![b' '; UNCOUNTED + 1], MAX).expect("there is room for one part");
        buffer.push(&vec![b' '; PART - 1], MAX).expect("it is the same part");
        assert!(matches!(buffer.push(b" ", MAX), Err(Rejection::Overloaded)));
    }
}
