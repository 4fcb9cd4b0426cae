//! Shows what is wrong with a peer by an exchange with the peer alone: no software of ours has a part in it.

mod answers;
mod other_stream;
mod script;
mod wire;

use anyhow::{Context, Result};

use super::cell::Side;
use super::faults::Fault;
use super::peer::{PEERS, Peer};
use super::places::Places;
use super::process::Served;

/// What shows a fault. Those with data of their own have it in `xtask/interop/exchanges`.
pub(super) enum Evidence {
    /// A client is given replies, of which it does not take one, although it may be given it. With another in its place,
    /// the scenario completes.
    Script(&'static str),
    /// A server is given answers to what a tool asks, and refuses them, although it may be given them. With others in
    /// their place, the call completes.
    Answers(&'static str),
    /// A client is given replies, and a request of its lacks what it must have.
    Lacking(&'static str),
    /// A server asks for roots in the middle of a call, and not on the stream of the call.
    OtherStream,
}

/// What went over the wire, for the page.
pub(super) struct Shown {
    pub(super) sent: String,
    pub(super) came: String,
    pub(super) but: String,
}

/// Has the peer show its fault once more.
pub(super) fn show(fault: &Fault, places: &Places) -> Result<Shown> {
    let peer = PEERS.iter().find(|peer| peer.name == fault.peer).context("faults are of peers")?;
    let shown = match &fault.evidence {
        Evidence::Script(script) => script::show(&Playing { fault, peer, places }, serde_json::from_str(script)?),
        Evidence::Lacking(lacking) => {
            script::show_lack(&Playing { fault, peer, places }, serde_json::from_str(lacking)?)
        }
        Evidence::Answers(given) => answers::show(serve(fault, peer, places)?.address(), &serde_json::from_str(given)?),
        Evidence::OtherStream => other_stream::show(serve(fault, peer, places)?.address()),
    };
    shown.with_context(|| format!("{} as a {}: {}", fault.peer, fault.side.word(), fault.what))
}

/// A client that is to show its fault.
struct Playing<'a> {
    fault: &'a Fault,
    peer: &'a Peer,
    places: &'a Places,
}

fn serve(fault: &Fault, peer: &Peer, places: &Places) -> Result<Served> {
    debug_assert!(fault.side == Side::Server, "a server shows its own faults");
    let said = places.folder.join(format!("shown-{}-{}.txt", peer.name.replace(' ', "-"), fault.scenario));
    Served::start(said, |address| places.command(&places.words(&peer.server, &["http", &address.port().to_string()])))
}
