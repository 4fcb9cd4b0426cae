//! Tasks in SQLite: the store beside raw rusqlite, and a server with many tasks that wait.

pub(crate) mod child;
mod lives;
pub(crate) mod neighbour;
mod raw;
pub(crate) mod side;
pub(crate) mod store;
pub(crate) mod waiting;

use anyhow::Result;

use crate::Scale;
use crate::report::Group;

pub(crate) fn measure(scale: Scale) -> Result<Group> {
    let mut figures = lives::figures(scale)?;
    figures.extend(neighbour::figures(scale)?);
    figures.extend(waiting::figures(scale)?);
    Ok(Group {
        title: "Tasks",
        about: "What the store of tasks in an SQLite file gets done, as a share of raw rusqlite: a loop that executes \
                the statements of each verb on the same tables with the same settings (WAL, synchronous=FULL), and \
                neither reads what it found, nor decides anything, nor tells a caller. Where 64 callers at once use \
                the store, the loop puts 64 into a transaction; where one does, one. With three processes, three such \
                loops share a file. A ratio is of time on a core, which does not depend on what else the machine does; it \
                leaves out the wait for the disk, and the store commits somewhat more often than the loop, since it \
                takes what has arrived and does not wait for more. Rates by the clock are for orientation. Then a \
                caller beside three processes that write to the same file without a pause, of single use or of tasks: \
                how long one call in a hundred waits for its turn, as a share of what it may. Then a server with tasks \
                that wait for answers: the memory that it has more than over an empty store, and what it takes to read one task and to claim one that is due.",
        figures,
    })
}
