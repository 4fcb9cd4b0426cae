//! The versions of what is run, read from the files that pin them.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use super::peer::{Peer, Pin};
use crate::workspace::root;

/// The version that a peer is pinned to.
pub(super) fn of(peer: &Peer) -> Result<String> {
    match peer.pin {
        Pin::Python { folder, package } => python(folder, package),
        Pin::Node(package) => node(package),
        Pin::Cargo(package) => cargo(package),
    }
}

pub(super) fn python(folder: &str, package: &str) -> Result<String> {
    let list = fs::read_to_string(root().join("xtask/interop").join(folder).join("requirements.txt"))?;
    let line = list.lines().find_map(|line| line.strip_prefix(package)?.strip_prefix("=="));
    line.map(str::to_owned).with_context(|| format!("{folder} does not pin {package}"))
}

pub(super) fn node(package: &str) -> Result<String> {
    let manifest: Value = serde_json::from_slice(&fs::read(root().join("xtask/interop/node/package.json"))?)?;
    let version = manifest["dependencies"][package].as_str();
    version.map(str::to_owned).with_context(|| format!("package.json does not pin {package}"))
}

fn cargo(package: &str) -> Result<String> {
    let lock = fs::read_to_string(root().join("Cargo.lock"))?;
    let named =
        lock.split("[[package]]").find_map(|entry| entry.trim().strip_prefix(&format!("name = \"{package}\"\n")));
    let version = named.and_then(|rest| rest.strip_prefix("version = \"")?.split('"').next());
    version.map(str::to_owned).with_context(|| format!("Cargo.lock does not have {package}"))
}

#[cfg(test)]
mod tests {
    use super::super::peer::{OURS, PEERS};

    #[test]
    fn every_peer_is_pinned() {
        for peer in PEERS.iter().chain([&OURS]) {
            let version = super::of(peer).expect("it is pinned");
            assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{}: {version}", peer.name);
        }
    }
}
