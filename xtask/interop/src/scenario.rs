//! The scenarios of the matrix, as data. `xtask/interop/README.md` says what programs do in each.

/// Something that a client and a server do together.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// A description for the readers of the page.
    pub(crate) about: &'static str,
    /// The questions to the client's handlers, in order; those of one round are sorted.
    pub(crate) asked: &'static [&'static str],
    pub(crate) end: End,
    /// The server's effects, as it prints them on standard error.
    pub(crate) effects: &'static [&'static str],
    pub(crate) eras: &'static [Era],
    pub(crate) transports: &'static [Transport],
}

/// The end of the call.
pub(crate) enum End {
    /// The call ends with this text.
    Text(&'static str),
    /// The call ends without the greeting, in words of the server's own.
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Modern,
    Legacy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Http,
    Stdio,
}

impl Era {
    pub(crate) const ALL: [Self; 2] = [Self::Modern, Self::Legacy];

    /// The word by which programs know it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Modern => "modern",
            Self::Legacy => "legacy",
        }
    }

    /// The version that programs are to speak in it.
    pub(crate) const fn version(self) -> &'static str {
        match self {
            Self::Modern => "2026-07-28",
            Self::Legacy => "2025-11-25",
        }
    }
}

impl Transport {
    pub(crate) const ALL: [Self; 2] = [Self::Http, Self::Stdio];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::Stdio => "stdio",
        }
    }
}

impl Scenario {
    pub(crate) fn is_played(&self, era: Era, transport: Transport) -> bool {
        self.eras.contains(&era) && self.transports.contains(&transport)
    }
}

pub(crate) static SCENARIOS: [Scenario; 11] = [
    Scenario {
        name: "one-round",
        about: "a tool asks for a form",
        asked: &["form: Who are you?"],
        end: End::Text("Hello, Ada"),
        ..PLAIN
    },
    Scenario {
        name: "three-rounds",
        about: "a tool asks twice, has its state carried, and does its effect once",
        asked: &["form: How was this bug resolved?", "form: Which work item is the original?"],
        end: End::Text("Bug #4522 resolved as duplicate of #4301"),
        effects: &["link"],
        ..PLAIN
    },
    Scenario {
        name: "mixed",
        about: "a form, a model's answer and the roots, in one round",
        asked: &["form: Please provide your GitHub username", "roots", "sampling: What is the capital of France?"],
        end: End::Text("octocat, Paris, file:///project"),
        ..PLAIN
    },
    Scenario {
        name: "decline",
        about: "the person says no, and the handler sees it",
        asked: &["form: Who are you?"],
        end: End::Refused,
        effects: &["declined"],
        ..PLAIN
    },
    Scenario {
        name: "cancel",
        about: "the person goes away, and the handler sees it",
        asked: &["form: Who are you?"],
        end: End::Refused,
        effects: &["cancelled"],
        ..PLAIN
    },
    Scenario {
        name: "prompt",
        about: "`prompts/get` asks",
        asked: &["form: Which language?"],
        end: End::Text("Review this Rust"),
        ..PLAIN
    },
    Scenario {
        name: "resource",
        about: "`resources/read` asks",
        asked: &["form: Which notebook?"],
        end: End::Text("The notes of blue"),
        ..PLAIN
    },
    Scenario {
        name: "state-only",
        about: "the first reply has a state and asks nothing",
        end: End::Text("Carried on from 50 percent"),
        eras: &[Era::Modern],
        ..PLAIN
    },
    Scenario {
        name: "url",
        about: "URL mode: the person is asked to visit a page",
        asked: &["url: http://127.0.0.1:9/connect"],
        end: End::Text("Connected"),
        ..PLAIN
    },
    Scenario {
        name: "header",
        about: "an argument with `x-mcp-header` is repeated in a header",
        end: End::Text("Deployed to us-west1"),
        eras: &[Era::Modern],
        transports: &[Transport::Http],
        ..PLAIN
    },
    Scenario {
        name: "task",
        about: "the call becomes a task, which asks",
        asked: &["form: What shall I echo?"],
        end: End::Text("Echo: hi"),
        eras: &[Era::Modern],
        ..PLAIN
    },
];

/// Played everywhere, with nothing asked and nothing done.
const PLAIN: Scenario = Scenario {
    name: "",
    about: "",
    asked: &[],
    end: End::Refused,
    effects: &[],
    eras: &Era::ALL,
    transports: &Transport::ALL,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_says_of_every_scenario_what_is_expected_here() {
        let contract = include_str!("../../interop/README.md");
        for scenario in &SCENARIOS {
            let opening = format!("| `{}` |", scenario.name);
            let row = contract.lines().find(|line| line.starts_with(&opening)).expect("it has a row");
            let Scenario { asked, end, .. } = scenario;
            let texts = asked.iter().filter_map(|asked| asked.split_once(": ").map(|(_, text)| text));
            let end = if let End::Text(text) = end { Some(*text) } else { None };
            // Unless it says otherwise, a row refers to the first one.
            let row = if row.contains("as in `one-round`") { contract } else { row };
            for text in texts.chain(end) {
                assert!(row.contains(text), "{}: {text}", scenario.name);
            }
        }
    }
}
