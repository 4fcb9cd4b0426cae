//! The address to listen on, and the hosts that requests may name, as the command line has them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use anyhow::{Result, anyhow};
use mrtr::schema::Printable;
use tokio::net::TcpListener;

use crate::failure::Failure;

/// Reads the value of `--listen`: an IP address, with or without the brackets of a URL, or `localhost`.
pub(super) fn address(text: &str) -> Result<IpAddr, Failure> {
    if let Some(address) = ip(text) {
        return Ok(address);
    }
    let failure = Failure::usage(format!("`{}` is not an address to listen on", Printable::line(text)));
    let (host, port) = without_port(text);
    Err(match (ip(host), port) {
        (Some(_), Some(port)) => failure.next(format!("the port goes into --port: --listen {host} --port {port}")),
        _ => failure.next("write an IP address: 127.0.0.1 is this machine alone, 0.0.0.0 all of its addresses"),
    })
}

/// Checks the value of `--allow-host`: a name or an IP address.
pub(super) fn check_host(text: &str) -> Result<(), Failure> {
    if is_host(text) {
        return Ok(());
    }
    let failure = Failure::usage(format!("`{}` is not a host", Printable::line(text)));
    let authority = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, _) = without_port(authority);
    Err(if is_host(host) {
        failure.next(format!("write the host alone: --allow-host {host}"))
    } else {
        failure.next("such as --allow-host mcp.example.com")
    })
}

fn is_host(text: &str) -> bool {
    let is_name = |char: char| char.is_ascii_alphanumeric() || "-._".contains(char);
    ip(text).is_some() || (!text.is_empty() && text.chars().all(is_name))
}

/// Splits a port off a host. Of an IPv6 address without brackets, it splits nothing off.
fn without_port(text: &str) -> (&str, Option<u16>) {
    let parts = text.rsplit_once(':').filter(|(host, _)| !host.contains(':') || host.ends_with(']'));
    let parts = parts.and_then(|(host, port)| Some((host, port.parse().ok()?)));
    parts.map_or((text, None), |(host, port)| (host, Some(port)))
}

fn ip(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    match bare {
        Some(bare) => bare.parse().ok().map(IpAddr::V6),
        None if text.eq_ignore_ascii_case("localhost") => Some(Ipv4Addr::LOCALHOST.into()),
        None => text.parse().ok(),
    }
}

/// Returns an address at which this machine reaches a server that listens on that one.
pub(super) fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

pub(super) async fn listen(ip: IpAddr, port: u16) -> Result<TcpListener> {
    TcpListener::bind((ip, port)).await.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => Failure::new(format!("port {port} is in use by another program"))
            .next("take another, or any that is free: --port 0")
            .into(),
        io::ErrorKind::AddrNotAvailable => Failure::new(format!("this machine does not have the address {ip}"))
            .next("127.0.0.1 is this machine alone, 0.0.0.0 all of its addresses")
            .into(),
        io::ErrorKind::PermissionDenied => Failure::new(format!("this command cannot listen on port {port}: {error}"))
            .next("ports below 1024 need a privilege: take a higher one")
            .into(),
        _ => anyhow!(error).context(format!("this command cannot listen on port {port}")),
    })
}
