//! A body that comes in several pieces: gathered in memory that is counted before it is taken.

use bytes::Bytes;

use super::budget::{BodyBudget, BodyReservation, UNCOUNTED};
use super::pages::Pages;
use super::rejection::Rejection;

/// What has come of a body so far.
///
/// It is kept in parts of a fixed size, and each counts as a whole as soon as it is there. One buffer that grows would
/// be up to twice as large as what is in it, and while it moves there would be two.
pub(super) struct BodyBuffer<'b> {
    budget: &'b BodyBudget,
    reservation: BodyReservation,
    parts: Vec<Pages>,
    /// How many bytes the parts have room for.
    capacity: usize,
    /// How many have come.
    length: usize,
}

impl<'b> BodyBuffer<'b> {
    pub(super) fn new(budget: &'b BodyBudget) -> Self {
        Self { budget, reservation: BodyReservation::default(), parts: Vec::new(), capacity: 0, length: 0 }
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Adds a piece of a body that will have so many bytes at most. One that says too little of itself is gathered all
    /// the same.
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

    /// What is left of the last part.
    fn unused(&mut self) -> &mut [u8] {
        let unused = self.capacity - self.length;
        let part = self.parts.last_mut().map(AsMut::as_mut).unwrap_or_default();
        let used = part.len() - unused;
        &mut part[used..]
    }

    fn add_part(&mut self, most: usize) -> Result<(), Rejection> {
        let usual = if self.parts.is_empty() { UNCOUNTED } else { PART };
        let size = usual.min(most);
        self.budget.grow(&mut self.reservation, self.capacity + size)?;
        self.parts.push(Pages::new(size)?);
        self.capacity += size;
        Ok(())
    }

    /// The body in one piece. It is put together without a pause, so that a thread has at most one body twice.
    pub(super) fn whole(mut self) -> Result<Bytes, Rejection> {
        let whole = match self.parts.len() {
            0 => return Ok(Bytes::new()),
            1 => self.parts.swap_remove(0),
            _ => self.joined()?,
        };
        self.reservation.shrink(self.length);
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

/// How much is taken at a time once a body is longer than what does not count.
const PART: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const MAX: usize = 4 * PART;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn ht_8_a_body_is_its_pieces(sizes in vec(prop_oneof![0..10_usize, 4000..4200_usize, 60_000..70_000_usize], 0..6), hint in any::<u32>()) {
            let body: Vec<u8> = (0..sizes.iter().sum()).map(|at: usize| at.to_le_bytes()[at % 2]).collect();
            let budget = BodyBudget::new(10 * MAX);
            let mut buffer = BodyBuffer::new(&budget);
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
            prop_assert!(budget.reserve(10 * MAX - counted).is_ok(), "it counts as what it is");
            prop_assert!(counted == 0 || budget.reserve(10 * MAX - counted + 1).is_err());
            drop(whole);
            prop_assert!(budget.reserve(10 * MAX).is_ok());
        }
    }

    #[test]
    fn ht_8_a_part_that_there_is_no_room_for_is_not_taken() {
        let budget = BodyBudget::new(UNCOUNTED + PART);
        let mut buffer = BodyBuffer::new(&budget);
        buffer.push(&vec![b' '; UNCOUNTED + 1], MAX).expect("there is room for one part");
        buffer.push(&vec![b' '; PART - 1], MAX).expect("it is the same part");
        assert!(matches!(buffer.push(b" ", MAX), Err(Rejection::Overloaded)));
    }
}
