//! The address of a client behind proxies, as trusted proxies give it.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, HeaderName, header};

/// The header in which a trusted proxy says whom it forwards a request for.
///
/// ```
/// use mrtr_http::{Endpoint, ForwardedHeader};
/// use mrtr_server::Server;
///
/// let server = Server::builder("empty", "1.0.0").build()?;
/// let endpoint = Endpoint::anonymous(server)
///     .trusted_proxy([10, 0, 0, 0], 8)
///     .forwarded_header(ForwardedHeader::Forwarded);
/// # Ok::<(), mrtr_server::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForwardedHeader {
    /// `X-Forwarded-For`, as most proxies write it.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

/// The proxies that the endpoint trusts, and the header that they write.
#[derive(Debug, Clone, Default)]
pub(super) struct Proxies {
    networks: Vec<Network>,
    header: ForwardedHeader,
}

/// A network: the addresses that begin with the same bits.
#[derive(Debug, Clone, Copy)]
struct Network {
    address: u128,
    /// The number of those bits, in an IPv6 address.
    bits: u32,
}

impl Network {
    fn new(address: IpAddr, prefix: u8) -> Self {
        let mapped = if address.to_canonical().is_ipv4() { 96 } else { 0 };
        let given = if address.is_ipv4() { mapped + u32::from(prefix) } else { u32::from(prefix) };
        Self { address: bits(address), bits: given.min(u128::BITS) }
    }

    fn contains(self, address: IpAddr) -> bool {
        let differs = self.address ^ bits(address);
        differs.leading_zeros() >= self.bits
    }
}

/// The bits of an address as one of IPv6.
fn bits(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Returns true if a proxy says that it forwarded a request.
pub(super) fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.contains_key(header::FORWARDED) || headers.keys().any(|name| name.as_str().starts_with("x-forwarded-"))
}

impl Proxies {
    pub(super) fn trust(&mut self, address: IpAddr, prefix: u8) {
        self.networks.push(Network::new(address, prefix));
    }

    pub(super) fn set_header(&mut self, header: ForwardedHeader) {
        self.header = header;
    }

    /// Returns the client's address: the last one that no trusted proxy has. Each proxy adds the address of its caller
    /// at the end, and any client may have written the addresses before it.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        if !self.trusts(peer) {
            return peer;
        }
        let mut client = peer;
        // A line that is not text is not an address, so the addresses before it are not trusted.
        let lines: Vec<&str> = headers.get_all(self.name()).iter().map(|line| line.to_str().unwrap_or("?")).collect();
        for entry in lines.iter().rev().flat_map(|line| line.rsplit(',')).take(MOST_PROXIES) {
            let Some(address) = self.address(entry) else { return client };
            client = address;
            if !self.trusts(client) {
                return client;
            }
        }
        client
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(address))
    }

    fn name(&self) -> HeaderName {
        match self.header {
            ForwardedHeader::XForwardedFor => HeaderName::from_static("x-forwarded-for"),
            ForwardedHeader::Forwarded => header::FORWARDED,
        }
    }

    fn address(&self, entry: &str) -> Option<IpAddr> {
        match self.header {
            ForwardedHeader::XForwardedFor => address(entry.trim()),
            ForwardedHeader::Forwarded => {
                let mut pairs = entry.split(';').filter_map(|pair| pair.trim().split_once('='));
                let (_, node) = pairs.find(|(name, _)| name.eq_ignore_ascii_case("for"))?;
                address(node.strip_prefix('"').and_then(|node| node.strip_suffix('"')).unwrap_or(node))
            }
        }
    }
}

/// Reads an address, with or without a port.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

/// The most proxies that a request is followed back through.
const MOST_PROXIES: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn client(header: ForwardedHeader, peer: &str, lines: &[&'static str]) -> String {
        let mut proxies = Proxies::default();
        proxies.trust([10, 0, 0, 0].into(), 8);
        proxies.trust("2001:db8::".parse().expect("an address"), 32);
        proxies.set_header(header);
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(proxies.name(), http::HeaderValue::from_static(line));
        }
        proxies.client(peer.parse().expect("an address"), &headers).to_string()
    }

    #[test]
    fn a_client_is_the_last_address_that_no_trusted_proxy_has() {
        let of = |peer, lines: &[&'static str]| client(ForwardedHeader::XForwardedFor, peer, lines);
        assert_eq!(of("192.0.2.1", &["198.51.100.7"]), "192.0.2.1", "anybody may write the header");
        assert_eq!(of("10.0.0.1", &["198.51.100.7"]), "198.51.100.7");
        assert_eq!(of("::ffff:10.0.0.1", &["198.51.100.7"]), "198.51.100.7", "a socket of both kinds");
        assert_eq!(of("10.0.0.1", &["203.0.113.9, 198.51.100.7, 10.0.0.2"]), "198.51.100.7");
        assert_eq!(of("10.0.0.1", &["203.0.113.9", "198.51.100.7,10.0.0.2"]), "198.51.100.7", "over several lines");
        assert_eq!(of("10.0.0.1", &["198.51.100.7:4711"]), "198.51.100.7", "with a port");
        assert_eq!(of("2001:db8::1", &["2001:db9::7, [2001:db8::2]:80"]), "2001:db9::7");
        assert_eq!(of("10.0.0.1", &["198.51.100.7, unknown"]), "10.0.0.1", "nothing is known of what comes before");
        assert_eq!(of("10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(of("10.0.0.1", &["10.0.0.3, 10.0.0.2"]), "10.0.0.3", "a client inside");
    }

    #[test]
    fn the_standard_header_is_read_as_well() {
        let of = |lines: &[&'static str]| client(ForwardedHeader::Forwarded, "10.0.0.1", lines);
        assert_eq!(of(&["for=198.51.100.7;proto=https, For=\"10.0.0.2:80\""]), "198.51.100.7");
        assert_eq!(of(&["for=\"[2001:db9::7]:4711\""]), "2001:db9::7");
        assert_eq!(of(&["for=198.51.100.7, for=_hidden"]), "10.0.0.1");
        assert_eq!(of(&["proto=https"]), "10.0.0.1");
    }

    #[test]
    fn a_network_is_what_begins_with_the_same_bits() {
        let network = |address: &str, prefix| Network::new(address.parse().expect("an address"), prefix);
        let contains = |network: Network, address: &str| network.contains(address.parse().expect("an address"));
        assert!(contains(network("10.1.2.3", 32), "10.1.2.3") && !contains(network("10.1.2.3", 32), "10.1.2.2"));
        assert!(contains(network("0.0.0.0", 0), "203.0.113.9") && !contains(network("0.0.0.0", 0), "2001:db8::1"));
        assert!(contains(network("::", 0), "203.0.113.9"), "all addresses");
        assert!(contains(network("::1", 255), "::1") && !contains(network("::1", 255), "::2"), "no more than all bits");
    }
}
