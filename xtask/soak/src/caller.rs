//! The callers of a soak: principals by a token, and anonymous ones by an address of their own.

use std::net::Ipv4Addr;

/// The number of connections that one caller has.
pub(crate) const CONNECTIONS_OF_CALLER: usize = 10;
pub(crate) const HONEST_CONNECTIONS: usize = 450;
pub(crate) const HOSTILE_CONNECTIONS: usize = 50;

/// One caller. Every second one has a token, which the server takes as its principal; the others are anonymous, and told
/// apart by their address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) name: String,
    pub(crate) token: Option<String>,
    pub(crate) address: Ipv4Addr,
}

impl Caller {
    /// The caller that an honest connection belongs to.
    pub(crate) fn honest(connection: usize) -> Self {
        Self::of("honest", 1, connection / CONNECTIONS_OF_CALLER)
    }

    /// The caller that a hostile connection belongs to.
    pub(crate) fn hostile(connection: usize) -> Self {
        Self::of("hostile", 2, connection / CONNECTIONS_OF_CALLER)
    }

    fn of(kind: &str, network: u8, number: usize) -> Self {
        let name = format!("{kind}-{number}");
        if number.is_multiple_of(2) {
            return Self { token: Some(name.clone()), name, address: Ipv4Addr::LOCALHOST };
        }
        let last = u8::try_from(number % 200).unwrap_or(0) + 1;
        Self { name, token: None, address: Ipv4Addr::new(127, 0, network, last) }
    }
}
