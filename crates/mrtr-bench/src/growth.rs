//! What grows with what: rounds, journals, tools, and flows that nobody comes back to.

mod journal;
mod paused;
mod rounds;
mod times;
mod tools;

use anyhow::Result;

use crate::Scale;
use crate::report::Group;

pub(crate) fn measure(scale: Scale) -> Result<Group> {
    let mut figures = rounds::figures(scale)?;
    figures.extend(journal::figures(scale)?);
    figures.extend(tools::figures(scale)?);
    figures.extend(paused::figures(scale)?);
    Ok(Group {
        title: "Growth",
        about: "What one round takes in memory, without HTTP, as a multiple of the smallest of its kind; and the \
                resident memory of a server with flows that wait, as a multiple of the same server without.",
        figures,
    })
}
