//! Known faults of other SDKs: the cells that fail by each, and the exchange that shows it without our software.

use crate::evidence::Evidence;
use crate::matrix::{Cell, Side};
use crate::scenario::{Era, Transport};

/// A behaviour of a peer that differs from the specification.
pub(crate) struct Fault {
    pub(crate) peer: &'static str,
    pub(crate) side: Side,
    pub(crate) scenario: &'static str,
    pub(crate) era: Era,
    pub(crate) transports: &'static [Transport],
    /// Part of the output in those cells.
    pub(crate) seen: &'static str,
    pub(crate) what: &'static str,
    /// The clause of the specification.
    pub(crate) clause: &'static str,
    pub(crate) evidence: Evidence,
}

impl Fault {
    pub(crate) fn is_of(&self, cell: &Cell) -> bool {
        self.peer == cell.peer.name
            && self.side == cell.side
            && self.scenario == cell.scenario.name
            && self.era == cell.era
            && self.transports.contains(&cell.transport)
    }
}

/// All known faults. A listed cell that passes fails the stage, and its row must go; so does an exchange that shows
/// nothing.
pub(crate) static FAULTS: [Fault; 8] = [
    Fault {
        peer: "Python 1.x",
        side: Side::Server,
        scenario: "mixed",
        era: Era::Legacy,
        transports: &[Transport::Http],
        seen: "no result came within",
        what: "`ServerSession.list_roots` does not say which call it belongs to, so the request goes to the stream of a \
               GET. A client need not open one, and ours does not",
        clause: ON_STREAMS,
        evidence: Evidence::OtherStream,
    },
    Fault {
        peer: "FastMCP",
        side: Side::Server,
        scenario: "mixed",
        era: Era::Legacy,
        transports: &[Transport::Http],
        seen: "no result came within",
        what: "`ServerSession.list_roots`, which FastMCP takes from Python 2.x, does not say which call it belongs to either",
        clause: ON_STREAMS,
        evidence: Evidence::OtherStream,
    },
    Fault {
        peer: "rmcp",
        side: Side::Client,
        scenario: "url",
        era: Era::Modern,
        transports: &Transport::ALL,
        seen: UNEXPECTED,
        what: "in URL mode the client requires an `elicitationId`, which this revision no longer has",
        clause: "2026-07-28, schema, `ElicitRequestURLParams`: its members are `message`, `mode` and `url`",
        evidence: Evidence::Script(include_str!("../exchanges/rmcp_url.json")),
    },
    Fault {
        peer: "rmcp",
        side: Side::Client,
        scenario: "task",
        era: Era::Modern,
        transports: &Transport::ALL,
        seen: UNEXPECTED,
        what: "the client refuses an acknowledgement of `tasks/update` that has a `_meta`",
        clause: "2026-07-28, schema, `ResultMetaObject`: \"Servers SHOULD include this field on every response\", of \
                 `io.modelcontextprotocol/serverInfo`",
        evidence: Evidence::Script(include_str!("../exchanges/rmcp_task.json")),
    },
    Fault {
        peer: "FastMCP",
        side: Side::Client,
        scenario: "task",
        era: Era::Modern,
        transports: &[Transport::Http],
        seen: "Mcp-Name is missing",
        what: "the client's requests about a task do not name the task in a header",
        clause: "Tasks extension, Streamable HTTP: Routing Headers: \"the client MUST set the Mcp-Name header to the value \
                 of params.taskId\"",
        evidence: Evidence::Lacking(include_str!("../exchanges/fastmcp_task.json")),
    },
    Fault {
        peer: "neva",
        side: Side::Client,
        scenario: "url",
        era: Era::Modern,
        transports: &Transport::ALL,
        seen: "did not declare a capability that this request needs: elicitation.url",
        what: "a client that was told to declare URL mode declares no mode, which means forms alone",
        clause: "2026-07-28, elicitation, Capabilities: \"an empty capabilities object is equivalent to declaring support \
                 for form mode only\"",
        evidence: Evidence::Lacking(include_str!("../exchanges/neva_url.json")),
    },
    Fault {
        peer: "neva",
        side: Side::Client,
        scenario: "task",
        era: Era::Modern,
        transports: &Transport::ALL,
        seen: "did not declare a capability that this request needs: extensions",
        what: "a client that was told to declare tasks does not declare them",
        clause: "Tasks extension: \"A server MUST NOT return CreateTaskResult to a client that did not include the \
                 extension capability on its request\"",
        evidence: Evidence::Lacking(include_str!("../exchanges/neva_task.json")),
    },
    Fault {
        peer: "neva",
        side: Side::Server,
        scenario: "mixed",
        era: Era::Modern,
        transports: &Transport::ALL,
        seen: "missing field `name`",
        what: "the server requires a `name` of every root",
        clause: "2026-07-28, schema, `Root`: \"An optional name for the root\"; only `uri` is required",
        evidence: Evidence::Answers(include_str!("../exchanges/neva_roots.json")),
    },
];

const ON_STREAMS: &str = "2025-11-25, transports, Listening for Messages from the Server: \"The client MAY issue an HTTP \
                          GET\"; \"The server MAY send JSON-RPC requests and notifications on the stream. These messages \
                          SHOULD be unrelated to any concurrently-running JSON-RPC request from the client.\"";

/// The error of rmcp's client for a reply that it cannot read.
const UNEXPECTED: &str = "Unexpected response type";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::{LACKS, PEERS};
    use crate::scenario::SCENARIOS;

    #[test]
    fn what_is_known_of_peers_is_of_cells_that_there_are() {
        let is_peer = |name| PEERS.iter().any(|peer| peer.name == name);
        let is_scenario = |name: &str| SCENARIOS.iter().any(|scenario| scenario.name == name);
        assert!(FAULTS.iter().all(|fault| is_peer(fault.peer) && is_scenario(fault.scenario)));
        assert!(LACKS.iter().all(|lack| is_peer(lack.peer) && lack.scenarios.iter().all(|name| is_scenario(name))));
    }
}
