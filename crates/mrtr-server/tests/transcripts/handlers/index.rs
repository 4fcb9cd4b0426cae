//! Long work that an instance under load puts down halfway, and another takes up.

use mrtr_server::handler::{IntoOutput, Output};
use mrtr_server::{Failure, Flow, InputRequired, Tool};
use serde::{Deserialize, Serialize};

use super::done;

pub(crate) fn tool_under_load() -> Tool {
    Tool::new("build_index", |flow: Flow| async move { build_index(&flow, Load::TooMuch) })
}

pub(crate) fn tool() -> Tool {
    Tool::new("build_index", |flow: Flow| async move { build_index(&flow, Load::Usual) })
}

#[derive(Clone, Copy)]
enum Load {
    Usual,
    TooMuch,
}

#[derive(Serialize, Deserialize)]
struct Progress {
    files: u32,
}

const ALL_FILES: u32 = 1000;

fn build_index(flow: &Flow, load: Load) -> Result<Output, Failure> {
    let Progress { files: before } = flow.carried().unwrap_or(Progress { files: 0 });
    match load {
        Load::TooMuch => InputRequired::new().carry(&Progress { files: before + 400 })?.into_output(),
        Load::Usual => done(format!("Indexed {ALL_FILES} files, {} of them here", ALL_FILES - before)).into_output(),
    }
}
