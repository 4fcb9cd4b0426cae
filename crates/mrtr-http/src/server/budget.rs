//! The bytes of requests that are held at a time, by caller.

use bytes::Bytes;
use mrtr_server::transport::{Account, Holding};

use super::accounts::Accounts;
use super::rejection::Rejection;

/// The bytes that one request takes, given back when it is dropped. The server turns away a request that finds none
/// left, and does not let it wait: two requests that each hold a part and wait for the other's would never end.
#[derive(Debug, Default)]
pub(super) struct BodyReservation(Option<Holding>);

impl BodyReservation {
    /// Reserves this many bytes.
    pub(super) fn of(accounts: &Accounts, bytes: usize) -> Result<Self, Rejection> {
        let mut reservation = Self::default();
        if counted(bytes) > 0 {
            reservation.grow(accounts.bodies(), bytes)?;
        }
        Ok(reservation)
    }

    /// Grows the reservation to this many bytes in all. If there are not that many left, it stays as it was.
    pub(super) fn grow(&mut self, account: &Account, bytes: usize) -> Result<(), Rejection> {
        let bytes = counted(bytes);
        match &mut self.0 {
            // A request that does not fit is refused and never waits: two bodies that both want more could wait for
            // each other.
            Some(taken) if bytes > taken.units() => taken.resize(bytes).map_err(|_| Rejection::Overloaded),
            None if bytes > 0 => {
                self.0 = Some(account.take(bytes).map_err(|_| Rejection::Overloaded)?);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Shrinks the reservation to this many bytes in all.
    pub(super) fn shrink(&mut self, bytes: usize) -> Result<(), Rejection> {
        match &mut self.0 {
            Some(taken) => taken.resize(counted(bytes).min(taken.units())).map_err(|_| Rejection::Overloaded),
            None => Ok(()),
        }
    }

    /// Offers the reservation to callers below their share, while the server waits for more of the request.
    pub(super) fn offer(&mut self, end: impl FnOnce() + Send + 'static) {
        if let Some(taken) = &mut self.0 {
            taken.offer(end);
        }
    }

    /// Ties the reservation to the body, whose last reference gives it back: the round of a single-use tool may outlive
    /// its connection, and holds the body until it ends.
    pub(super) fn attach(self, body: Bytes) -> Bytes {
        match self.0 {
            Some(taken) => Bytes::from_owner(ReservedBytes { bytes: body, _taken: taken }),
            None => body,
        }
    }
}

/// Bytes with their share of a pool.
pub(super) struct ReservedBytes {
    pub(super) bytes: Bytes,
    pub(super) _taken: Holding,
}

impl AsRef<[u8]> for ReservedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The bytes of a request of this size that count: all or none.
fn counted(bytes: usize) -> usize {
    if bytes > UNCOUNTED { bytes } else { 0 }
}

/// The size up to which a body does not count. `Endpoint::UNCOUNTED_BODY` says why.
pub(super) const UNCOUNTED: usize = 4 << 10;

#[cfg(test)]
mod tests {
    use mrtr_server::transport::{CallerKey, FairPool};

    use super::*;

    const MAX: usize = 10 * UNCOUNTED;

    /// The account of a caller that has all for itself, but for a reserve that it may have once.
    fn account() -> Account {
        FairPool::new(MAX).account(&CallerKey::unknown())
    }

    fn reserve(account: &Account, bytes: usize) -> Result<BodyReservation, Rejection> {
        let mut reservation = BodyReservation::default();
        reservation.grow(account, bytes).map(|()| reservation)
    }

    #[test]
    fn ht_8_room_is_given_back_with_the_last_of_a_body() {
        let account = account();
        let reservation = reserve(&account, 6 * UNCOUNTED).expect("there is room");
        let body = reservation.attach(Bytes::from(vec![b' '; 6 * UNCOUNTED]));
        let part = body.slice(..1);
        drop(body);
        assert_eq!(account.used(), 6 * UNCOUNTED);
        drop(part);
        assert_eq!(account.used(), 0);
    }

    #[test]
    fn ht_8_what_does_not_fit_takes_nothing() {
        let account = account();
        let mut reservation = reserve(&account, 2 * UNCOUNTED).expect("there is room");
        assert!(matches!(reservation.grow(&account, MAX + 1), Err(Rejection::Overloaded)));
        assert_eq!(account.used(), 2 * UNCOUNTED);
        assert!(reservation.grow(&account, MAX).is_ok(), "a body may go on to take all of it");
        assert!(reserve(&account, UNCOUNTED).is_ok(), "a small one is taken all the same");
        assert!(matches!(reserve(&account, UNCOUNTED + 1), Err(Rejection::Overloaded)));
        reservation.shrink(4 * UNCOUNTED).expect("it was not offered");
        assert_eq!(account.used(), 4 * UNCOUNTED, "what is not needed is given back");
        reservation.shrink(UNCOUNTED).expect("it was not offered");
        assert_eq!(account.used(), 0);
    }
}
