//! The SDKs of the matrix, as data: where each is pinned, and which programs are its client and its server.

use super::scenario::Era;

/// An SDK, with a client and a server written in it.
pub(super) struct Peer {
    pub(super) name: &'static str,
    pub(super) pin: Pin,
    pub(super) client: Program,
    pub(super) server: Program,
    /// What its client answers by itself: there is no handler that would be asked.
    pub(super) unasked: &'static [&'static str],
}

/// Which committed file says its version.
pub(super) enum Pin {
    /// A package in `xtask/interop/<folder>/requirements.txt`.
    Python { folder: &'static str, package: &'static str },
    /// A package in `xtask/interop/node/package.json`.
    Node(&'static str),
    /// A package in `Cargo.lock`.
    Cargo(&'static str),
}

/// How a program is started.
pub(super) enum Program {
    /// A script in `xtask/interop/python`, run by the environment of this name.
    Python { environment: &'static str, script: &'static str },
    /// A script in `xtask/interop/typescript`.
    Node(&'static str),
    /// The benchmark's program, which has the SDKs of Rust, with these arguments.
    Bench(&'static [&'static str]),
    /// A program of `examples`.
    Example(&'static str),
}

/// Our own.
pub(super) static OURS: Peer = Peer {
    name: "mrtr",
    pin: Pin::Cargo("mrtr"),
    client: Program::Example("interop-client"),
    server: Program::Example("interop-server"),
    unasked: &[],
};

pub(super) static PEERS: [Peer; 6] = [
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
        client: Program::Bench(&["interop-client", "rmcp"]),
        server: Program::Bench(&["interop-server", "rmcp"]),
        unasked: &[],
    },
    Peer {
        name: "neva",
        pin: Pin::Cargo("neva"),
        client: Program::Bench(&["interop-client", "neva"]),
        server: Program::Bench(&["interop-server", "neva"]),
        unasked: &["roots"],
    },
];

/// What the server of a peer does not have. Clients say so themselves.
pub(super) struct Lack {
    pub(super) peer: &'static str,
    /// None means all of them.
    pub(super) scenarios: &'static [&'static str],
    pub(super) eras: &'static [Era],
    pub(super) why: &'static str,
}

/// A cell that is listed here and passes fails the stage: the row is to go.
pub(super) static LACKS: [Lack; 6] = [
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
