//! The SDKs of the matrix, as data: where each is pinned and to which version, and which programs are its client and its
//! server.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;
use xtask_support::root;

use crate::scenario::Era;

/// An SDK, with a client and a server written in it.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) pin: Pin,
    pub(crate) client: Program,
    pub(crate) server: Program,
    /// The questions that its client answers by itself: it has no handler for them.
    pub(crate) unasked: &'static [&'static str],
}

/// The committed file that says its version.
pub(crate) enum Pin {
    /// A package in `xtask/interop/<folder>/requirements.txt`.
    Python { folder: &'static str, package: &'static str },
    /// A package in `xtask/interop/node/package.json`.
    Node(&'static str),
    /// A package in `Cargo.lock`.
    Cargo(&'static str),
}

/// The program to start.
pub(crate) enum Program {
    /// A script in `xtask/interop/python`, run by the environment of this name.
    Python { environment: &'static str, script: &'static str },
    /// A script in `xtask/interop/typescript`.
    Node(&'static str),
    /// The program `peers`, which has the SDKs of Rust, with these arguments.
    Peers(&'static [&'static str]),
    /// A program of ours.
    Ours(&'static str),
}

/// Our own.
pub(crate) static OURS: Peer = Peer {
    name: "mrtr",
    pin: Pin::Cargo("mrtr"),
    client: Program::Ours("interop-client"),
    server: Program::Ours("interop-server"),
    unasked: &[],
};

pub(crate) static PEERS: [Peer; 6] = [
    Peer {
        name: "Python 2.x",
        pin: Pin::Python { folder: "python-2", package: "mcp" },
        client: Program::Python { environment: "python-2", script: "client_2.py" },
        server: Program::Python { environment: "python-2", script: "server_2.py" },
        unasked: &[],
    },
    Peer {
        name: "Python 1.x",
        pin: Pin::Python { folder: "python-1", package: "mcp" },
        client: Program::Python { environment: "python-1", script: "client_1.py" },
        server: Program::Python { environment: "python-1", script: "server_1.py" },
        unasked: &[],
    },
    Peer {
        name: "FastMCP",
        pin: Pin::Python { folder: "python-2", package: "fastmcp" },
        client: Program::Python { environment: "python-2", script: "client_fastmcp.py" },
        server: Program::Python { environment: "python-2", script: "server_fastmcp.py" },
        unasked: &[],
    },
    Peer {
        name: "TypeScript",
        pin: Pin::Node("@modelcontextprotocol/server"),
        client: Program::Node("client.mjs"),
        server: Program::Node("server.mjs"),
        unasked: &[],
    },
    Peer {
        name: "rmcp",
        pin: Pin::Cargo("rmcp"),
        client: Program::Peers(&["client", "rmcp"]),
        server: Program::Peers(&["server", "rmcp"]),
        unasked: &[],
    },
    Peer {
        name: "neva",
        pin: Pin::Cargo("neva"),
        client: Program::Peers(&["client", "neva"]),
        server: Program::Peers(&["server", "neva"]),
        unasked: &["roots"],
    },
];

/// A thing that the server of a peer does not have. Clients say so themselves.
pub(crate) struct Lack {
    pub(crate) peer: &'static str,
    /// None means all of them.
    pub(crate) scenarios: &'static [&'static str],
    pub(crate) eras: &'static [Era],
    pub(crate) why: &'static str,
}

/// All known lacks. A listed cell that passes fails the stage, and its row must go.
pub(crate) static LACKS: [Lack; 6] = [
    Lack { peer: "Python 1.x", scenarios: &[], eras: &[Era::Modern], why: "it speaks the legacy era alone" },
    Lack {
        peer: "Python 2.x",
        scenarios: &["task"],
        eras: &[Era::Modern],
        why: "it has no tasks, only the hooks for an extension that brings them",
    },
    Lack {
        peer: "TypeScript",
        scenarios: &["task"],
        eras: &[Era::Modern],
        why: "its server has no tasks; the package `ext-tasks` is for clients",
    },
    Lack { peer: "neva", scenarios: &[], eras: &[Era::Legacy], why: "a build of it speaks one era" },
    Lack {
        peer: "neva",
        scenarios: &["state-only"],
        eras: &[Era::Modern],
        why: "it makes no reply that has a state and asks nothing",
    },
    Lack {
        peer: "neva",
        scenarios: &["task"],
        eras: &[Era::Modern],
        why: "its server makes a task only of a call with `params.task`, which this revision does not have",
    },
];

/// The version that a peer is pinned to.
pub(crate) fn version_of(peer: &Peer) -> Result<String> {
    match peer.pin {
        Pin::Python { folder, package } => python_version(folder, package),
        Pin::Node(package) => node_version(package),
        Pin::Cargo(package) => cargo_version(package),
    }
}

pub(crate) fn python_version(folder: &str, package: &str) -> Result<String> {
    let list = fs::read_to_string(root().join("xtask/interop").join(folder).join("requirements.txt"))?;
    let line = list.lines().find_map(|line| line.strip_prefix(package)?.strip_prefix("=="));
    line.map(str::to_owned).with_context(|| format!("{folder} does not pin {package}"))
}

pub(crate) fn node_version(package: &str) -> Result<String> {
    let manifest: Value = serde_json::from_slice(&fs::read(root().join("xtask/interop/node/package.json"))?)?;
    let version = manifest["dependencies"][package].as_str();
    version.map(str::to_owned).with_context(|| format!("package.json does not pin {package}"))
}

fn cargo_version(package: &str) -> Result<String> {
    let lock = fs::read_to_string(root().join("Cargo.lock"))?;
    let named =
        lock.split("[[package]]").find_map(|entry| entry.trim().strip_prefix(&format!("name = \"{package}\"\n")));
    let version = named.and_then(|rest| rest.strip_prefix("version = \"")?.split('"').next());
    version.map(str::to_owned).with_context(|| format!("Cargo.lock does not have {package}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_is_pinned() {
        for peer in PEERS.iter().chain([&OURS]) {
            let version = version_of(peer).expect("it is pinned");
            assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{}: {version}", peer.name);
        }
    }
}
