//! Where a request comes from.

use std::net::IpAddr;
use std::sync::Arc;

use http::request::Parts;

use super::accounts::Accounts;
use super::authenticate::Identity;
use super::config::EndpointConfig;
use super::link::Link;

/// Where a request comes from, as far as that is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer<'l> {
    pub(super) address: Option<IpAddr>,
    /// The connection, if it is one of ours.
    pub(super) link: Option<&'l Arc<Link>>,
}

impl Peer<'_> {
    /// The accounts of whom a request is from.
    pub(super) fn accounts(self, config: &EndpointConfig, head: &Parts, identity: &Identity) -> Arc<Accounts> {
        let address = self.address.map(|address| config.proxies.client(address, &head.headers));
        match self.link {
            Some(link) => link.accounts(&config.pools, identity, address),
            None => Arc::new(Accounts::new(&config.pools, identity, address)),
        }
    }
}
