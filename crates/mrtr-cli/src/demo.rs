//! The demo tools: short flows, one for each way in which a server may ask.

mod book_table;
mod charge;
mod connect;
mod echo;
mod summarise;
mod update_work_item;
mod weather;

use mrtr::server::{Guard, TaskPolicy};
use mrtr::state::Sealer;
use mrtr::tasks::Tasks;
use mrtr::{Failure, Server, Tool};

pub(crate) use connect::Visits;

/// What the demo server is made of.
pub(crate) struct Parts {
    pub(crate) sealer: Sealer,
    pub(crate) tasks: Tasks,
    /// Keeps which states of `charge` were used.
    pub(crate) single_use: Guard,
    pub(crate) visits: Visits,
}

/// What they are called.
pub(crate) const TOOLS: [&str; 7] =
    ["weather", "update_work_item", "book_table", "connect", "summarise", "echo", "charge"];

/// The demo server.
pub(crate) fn server(parts: Parts) -> Result<Server, Failure> {
    let Parts { sealer, tasks, single_use, visits } = parts;
    let server = Server::builder("mrtr-demo", env!("CARGO_PKG_VERSION"))
        .sealer(sealer)
        .state(visits)
        .state(charge::Books::default())
        .tool(Tool::new("weather", weather::weather).description("The weather of a city, for users: asks who you are"))
        .tool(
            Tool::new("update_work_item", update_work_item::update_work_item)
                .description("Resolves a work item as Azure DevOps does: asks how, and of which one it is a duplicate"),
        )
        .tool(
            Tool::new("book_table", book_table::book_table)
                .description("Books a table: asks with every kind of field that a form may have"),
        )
        .tool(Tool::new("connect", connect::connect).description("Connects an account: asks you to visit a page"))
        .tool(Tool::new("summarise", summarise::summarise).description("Sums a text up: asks your model"))
        .tool(
            Tool::new("echo", echo::echo)
                .description("Echoes what you say, as a task that outlives this call and the server")
                .tasks(TaskPolicy::IfPossible),
        )
        .tool(
            Tool::new("charge", charge::charge)
                .description("Charges an amount, once, however often it is confirmed")
                .single_use(single_use),
        )
        .extension(tasks);
    Ok(server.build()?)
}
