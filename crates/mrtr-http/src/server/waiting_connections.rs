//! Connections that wait until there is a place for them.

use std::collections::HashMap;
use std::net::IpAddr;

use mrtr_server::transport::{CallerKey, FairPool, Holding};
use tokio::net::TcpStream;

use super::accept::Accepted;

/// Connections that wait until there is a place for them, in the order in which they came. One whose address has its
/// share already does not hold up the others.
#[derive(Debug, Default)]
pub(super) struct WaitingConnections(Vec<(TcpStream, IpAddr)>);

impl WaitingConnections {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Has a connection wait. If there are too many, the last one is closed of the address that has most of them.
    pub(super) fn push(&mut self, stream: TcpStream, address: IpAddr) {
        self.0.push((stream, address));
        if self.0.len() > MOST {
            let mut counts = HashMap::new();
            for (_, address) in &self.0 {
                *counts.entry(CallerKey::address(*address)).or_insert(0) += 1;
            }
            let most = counts.into_iter().max_by_key(|(_, count)| *count).map(|(key, _)| key);
            let last = self.0.iter().rposition(|(_, address)| Some(CallerKey::address(*address)) == most);
            self.0.remove(last.unwrap_or(MOST));
        }
    }

    /// Those that there is a place for now.
    pub(super) fn admit(&mut self, places: &FairPool) -> Vec<Accepted> {
        let mut admitted = Vec::new();
        for (stream, address) in std::mem::take(&mut self.0) {
            match take(places, address) {
                Some(place) => admitted.push(Accepted { stream, address, place }),
                None => self.0.push((stream, address)),
            }
        }
        admitted
    }
}

/// A place for a connection from this address. One of its own that is idle makes way.
fn take(places: &FairPool, address: IpAddr) -> Option<Holding> {
    let account = places.account(&CallerKey::address(address));
    loop {
        match account.take(1) {
            Ok(place) => return Some(place),
            Err(_) if account.end_oldest_offer() => {}
            Err(_) => return None,
        }
    }
}

/// How many connections wait on a thread. Beyond it, those of the address that has most are closed.
const MOST: usize = 64;
