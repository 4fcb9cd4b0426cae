//! What replies take of the memory that an endpoint has for them.

use std::sync::Arc;

use bytes::Bytes;
use mrtr_server::transport::Holding;

use super::accounts::Accounts;
use super::budget::ReservedBytes;
use super::link::Link;
use super::pieces::PIECE;
use super::reader::Reader;
use super::withdrawal::Withdrawal;

/// Has the replies to one request count as its caller's, from when they are there until they are read.
#[derive(Debug)]
pub(super) struct Charges {
    accounts: Arc<Accounts>,
    cut: Cut,
}

/// How a reply that is not read makes way for another caller's.
#[derive(Debug)]
enum Cut {
    /// Its stream ends.
    Body(Arc<Withdrawal>),
    /// Its connection closes, where it has nothing else.
    Connection(Arc<Link>),
}

impl Charges {
    /// Charges of a request on this connection, or of one that an application reads from a connection of its own.
    pub(super) fn new(accounts: Arc<Accounts>, link: Option<&Arc<Link>>) -> Self {
        let cut = match link {
            Some(link) if Reader::current().is_none() => Cut::Connection(Arc::clone(link)),
            _ => Cut::Body(Arc::default()),
        };
        Self { accounts, cut }
    }

    /// Counts a reply, unless it is short: there are only so many of those. While it is not read, it may make way.
    pub(super) fn charge(&self, reply: Bytes) -> Bytes {
        if reply.len() <= PIECE {
            return reply;
        }
        let mut taken = self.accounts.charge_reply(reply.len());
        self.offer(&mut taken);
        Bytes::from_owner(ReservedBytes { bytes: reply, _taken: taken })
    }

    /// Has a subscription make way: it only waits.
    pub(super) fn subscribe(&self, mut permit: Holding) -> Holding {
        self.offer(&mut permit);
        permit
    }

    fn offer(&self, taken: &mut Holding) {
        match &self.cut {
            Cut::Body(withdrawal) => {
                let withdrawal = Arc::clone(withdrawal);
                taken.offer(move || withdrawal.withdraw());
            }
            Cut::Connection(link) => {
                let link = Arc::clone(link);
                taken.offer(move || link.cut_off());
            }
        }
    }

    /// What a body of it is told to end by.
    pub(super) fn withdrawal(&self) -> Option<&Arc<Withdrawal>> {
        if let Cut::Body(withdrawal) = &self.cut { Some(withdrawal) } else { None }
    }

    pub(super) fn into_withdrawal(self) -> Option<Arc<Withdrawal>> {
        if let Cut::Body(withdrawal) = self.cut { Some(withdrawal) } else { None }
    }
}
