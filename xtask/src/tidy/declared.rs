//! The declared structure of the workspace: its layers, edges and budgets. A change here is a decision.

/// A crate whose modules lie in layers: each imports from those below it only.
pub(super) struct Layered {
    pub(super) name: &'static str,
    /// The layers, from top to bottom.
    pub(super) layers: &'static [Layer],
}

/// Modules at the root of a crate that may import each other.
pub(super) struct Layer {
    pub(super) name: &'static str,
    pub(super) modules: &'static [&'static str],
}

pub(super) const LAYERED: [Layered; 2] = [
    Layered {
        name: "mrtr-flow",
        layers: &[
            // Items for mrtr-server alone; no module inside imports from here.
            Layer { name: "facade", modules: &["for_server"] },
            Layer { name: "flow", modules: &["flow"] },
            Layer { name: "engine", modules: &["engine"] },
            Layer { name: "support", modules: &["error", "support"] },
        ],
    },
    Layered {
        name: "mrtr-server",
        layers: &[
            // The crate's re-exports for its users, by purpose; no module inside imports from here.
            Layer { name: "facade", modules: &["extend", "flow", "handler", "transport"] },
            Layer { name: "server", modules: &["server", "testing"] },
            Layer { name: "session", modules: &["session"] },
            Layer { name: "protocol", modules: &["protocol"] },
            Layer { name: "round", modules: &["round"] },
            Layer { name: "definition", modules: &["definition"] },
            Layer { name: "support", modules: &["error", "support"] },
        ],
    },
];

/// The most modules at a crate's root that may import each other in a circle, 1 being none: it may fall, not grow.
pub(super) const LARGEST_CYCLE: [(&str, usize); 19] = [
    ("mrtr", 1),
    ("mrtr-bench", 2),
    ("mrtr-cli", 1),
    ("mrtr-client", 1),
    ("mrtr-fixtures", 1),
    ("mrtr-flow", 1),
    ("mrtr-http", 1),
    ("mrtr-macros", 1),
    ("mrtr-postgres", 1),
    ("mrtr-postgres-cluster", 1),
    ("mrtr-rmcp", 1),
    ("mrtr-schema", 1),
    ("mrtr-server", 1),
    ("mrtr-sqlite", 4),
    ("mrtr-state", 2),
    ("mrtr-stdio", 1),
    ("mrtr-tasks", 1),
    ("mrtr-tour", 2),
    ("mrtr-validate", 1),
];

/// The most files of Rust for each thousand lines of code: each is a door that a reader must open.
pub(super) const LARGEST_SHARE_OF_FILES: usize = 8;

/// The members that each member depends on, its tests apart.
pub(super) const EDGES: [(&str, &[&str]); 27] = [
    (
        "mrtr",
        &[
            "mrtr-client",
            "mrtr-flow",
            "mrtr-http",
            "mrtr-macros",
            "mrtr-postgres",
            "mrtr-schema",
            "mrtr-server",
            "mrtr-sqlite",
            "mrtr-state",
            "mrtr-stdio",
            "mrtr-tasks",
        ],
    ),
    (
        "mrtr-bench",
        &[
            "mrtr-client",
            "mrtr-fixtures",
            "mrtr-http",
            "mrtr-postgres",
            "mrtr-schema",
            "mrtr-server",
            "mrtr-sqlite",
            "mrtr-state",
            "mrtr-tasks",
        ],
    ),
    // On mrtr-schema for its checks of arguments, and on mrtr-state and mrtr-postgres for their stores: the facade does
    // not choose them.
    ("mrtr-cli", &["mrtr", "mrtr-postgres", "mrtr-schema", "mrtr-state", "mrtr-tour", "mrtr-validate"]),
    // Not on mrtr-state: a client cannot look inside a state.
    ("mrtr-client", &["mrtr-schema"]),
    (
        "mrtr-examples",
        &[
            "mrtr",
            "mrtr-client",
            "mrtr-http",
            "mrtr-postgres",
            "mrtr-rmcp",
            "mrtr-schema",
            "mrtr-server",
            "mrtr-sqlite",
            "mrtr-state",
            "mrtr-stdio",
        ],
    ),
    // For tests and tools; no published crate depends on it but in its tests.
    ("mrtr-fixtures", &["mrtr-server"]),
    // Not on mrtr-server: a flow knows neither messages nor sessions.
    ("mrtr-flow", &["mrtr-schema", "mrtr-state"]),
    ("mrtr-http", &["mrtr-client", "mrtr-schema", "mrtr-server"]),
    ("mrtr-macros", &[]),
    ("mrtr-postgres", &["mrtr-flow", "mrtr-postgres-cluster", "mrtr-schema", "mrtr-state", "mrtr-tasks"]),
    ("mrtr-postgres-cluster", &[]),
    // On mrtr-state for the states of hand-written handlers.
    ("mrtr-rmcp", &["mrtr-client", "mrtr-schema", "mrtr-server", "mrtr-state"]),
    ("mrtr-schema", &["mrtr-macros"]),
    ("mrtr-server", &["mrtr-flow", "mrtr-schema", "mrtr-state"]),
    // Neither depends on the other: a user of one database does not build the other.
    ("mrtr-sqlite", &["mrtr-flow", "mrtr-schema", "mrtr-state", "mrtr-tasks"]),
    ("mrtr-state", &["mrtr-schema"]),
    ("mrtr-stdio", &["mrtr-client", "mrtr-schema", "mrtr-server"]),
    ("mrtr-tasks", &["mrtr-flow", "mrtr-schema", "mrtr-server", "mrtr-state"]),
    // On mrtr-postgres for the store of a fleet's instances, which the facade does not choose.
    ("mrtr-tour", &["mrtr", "mrtr-postgres", "mrtr-postgres-cluster"]),
    ("mrtr-validate", &["mrtr-schema"]),
    // Not on the programs that it starts.
    ("xtask", &["mrtr-schema", "mrtr-validate", "xtask-support"]),
    (
        "xtask-chaos",
        &[
            "mrtr",
            "mrtr-client",
            "mrtr-http",
            "mrtr-postgres",
            "mrtr-schema",
            "mrtr-server",
            "mrtr-sqlite",
            "mrtr-state",
            "mrtr-tasks",
            "xtask-support",
        ],
    ),
    (
        "xtask-conformance",
        &["mrtr-client", "mrtr-http", "mrtr-schema", "mrtr-server", "mrtr-state", "mrtr-tasks", "xtask-support"],
    ),
    ("xtask-interop", &["mrtr", "mrtr-fixtures", "xtask-support"]),
    ("xtask-peers", &["mrtr-fixtures"]),
    ("xtask-soak", &["mrtr", "mrtr-http", "mrtr-server", "mrtr-sqlite", "mrtr-tasks"]),
    ("xtask-support", &[]),
];

/// The most packages that a user builds, with the crate itself, for these features and no others.
pub(super) struct Budget {
    pub(super) name: &'static str,
    pub(super) features: &'static str,
    pub(super) packages: usize,
}

pub(super) const BUDGETS: [Budget; 22] = [
    Budget { name: "mrtr-macros", features: "", packages: 5 },
    Budget { name: "mrtr-schema", features: "", packages: 27 },
    Budget { name: "mrtr-schema", features: "validate", packages: 72 },
    Budget { name: "mrtr-state", features: "", packages: 63 },
    Budget { name: "mrtr-state", features: "single-use", packages: 65 },
    Budget { name: "mrtr-state", features: "ring", packages: 66 },
    Budget { name: "mrtr-flow", features: "", packages: 116 },
    Budget { name: "mrtr-server", features: "", packages: 118 },
    Budget { name: "mrtr-tasks", features: "", packages: 120 },
    Budget { name: "mrtr-sqlite", features: "", packages: 127 },
    Budget { name: "mrtr-postgres", features: "", packages: 147 },
    Budget { name: "mrtr-postgres", features: "tls", packages: 162 },
    // With fastrand, for pauses that differ between clients.
    Budget { name: "mrtr-client", features: "", packages: 85 },
    Budget { name: "mrtr-client", features: "terminal", packages: 103 },
    Budget { name: "mrtr-http", features: "server", packages: 145 },
    Budget { name: "mrtr-http", features: "client", packages: 151 },
    Budget { name: "mrtr-stdio", features: "server", packages: 125 },
    // SHA-256 and its dependencies: a saved call names its server by a digest of the command line.
    Budget { name: "mrtr-stdio", features: "client", packages: 102 },
    // With the types of HTTP and tower for the layer around rmcp's HTTP service; rmcp's service has them too.
    Budget { name: "mrtr-rmcp", features: "server", packages: 134 },
    Budget { name: "mrtr-rmcp", features: "client", packages: 98 },
    Budget { name: "mrtr-validate", features: "", packages: 85 },
    // With the client of PostgreSQL, for its tables and for the story of a fleet; with the tour, and the crate that starts
    // a PostgreSQL for it, which are of this workspace.
    Budget { name: "mrtr-cli", features: "", packages: 268 },
];

/// Features that the commands which users install must not have: features for tests stay out of them.
pub(super) const NOT_SHIPPED: [(&str, &str); 1] = [("mrtr-cli", "mrtr-postgres feature \"testing\"")];

/// The categories of crates.io that packages may be in: a registry leaves out one that it does not know.
pub(super) const CATEGORIES: [&str; 15] = [
    "api-bindings",
    "asynchronous",
    "authentication",
    "command-line-utilities",
    "cryptography",
    "database",
    "development-tools",
    "development-tools::procedural-macro-helpers",
    "development-tools::testing",
    "encoding",
    "network-programming",
    "parser-implementations",
    "web-programming",
    "web-programming::http-client",
    "web-programming::http-server",
];
