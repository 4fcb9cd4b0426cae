//! The text that the demo server begins with: what it offers, to whom, and what to try.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use anstream::eprintln;
use mrtr::schema::Printable;
use mrtr::server::transport::Inventory;

use super::{Keys, THIS_PROCESS};
use crate::demo;
use crate::shown::{HINT, NAME, styled};

/// The hosts that are always accepted.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The server, as its introduction describes it.
pub(super) struct Introduction<'a> {
    /// An address at which this machine reaches it.
    pub(super) address: SocketAddr,
    /// The address that it listens on.
    pub(super) listen: IpAddr,
    /// The hosts of `--allow-host`.
    pub(super) hosts: &'a [String],
    pub(super) inventory: Inventory,
    pub(super) keys: &'a Keys,
    pub(super) db: Option<&'a Path>,
    /// The open tasks of other audiences, counted by audience.
    pub(super) of_others: &'a BTreeMap<String, usize>,
}

impl Introduction<'_> {
    /// Tells the person what the server offers, and what to try.
    pub(super) fn show(&self) {
        let url = format!("http://{}/mcp", self.address);
        let Inventory { name, version, tools, .. } = &self.inventory;
        eprintln!("{} {version} serves at {}", styled(NAME, name), styled(NAME, &url));
        eprintln!("  {tools} tools: {}", demo::TOOLS.join(", "));
        eprintln!("  callers: anonymous, {}", self.callers());
        let hosts = LOOPBACK.into_iter().chain(self.hosts.iter().map(String::as_str)).collect::<Vec<_>>().join(", ");
        eprintln!("  hosts: {hosts} (--allow-host NAME adds one; others get 403)");
        eprintln!("  keys:  {}", self.keys.from);
        match self.db.map(Path::display) {
            Some(path) => eprintln!("  tasks: {path} (mrtr tasks list --db {path})"),
            None => eprintln!("  tasks: in memory, gone with this process (--db FILE keeps them)"),
        }
        self.warn();
        eprintln!("Try, in another terminal:");
        for call in [
            "weather city=Oslo",
            "update_work_item workItemId=4522 --trace",
            "book_table",
            "connect",
            "charge cents=950",
            "echo",
            "summarise text=… --sample-with Brief",
        ] {
            eprintln!("  mrtr call {url} {call}");
        }
        eprintln!("Ctrl-C ends it.");
    }

    fn callers(&self) -> String {
        match self.listen {
            ip if ip.is_unspecified() => "everyone who reaches this machine".to_owned(),
            ip if !ip.is_loopback() => format!("everyone who reaches {ip}"),
            _ if self.hosts.is_empty() => "every program on this machine".to_owned(),
            _ => "every program on this machine, and everyone whom a proxy on it lets through".to_owned(),
        }
    }

    fn warn(&self) {
        if !self.listen.is_loopback() && self.keys.end_with_process() {
            eprintln!(
                "warning: others may call this server, and each restart refuses the calls that wait for an answer"
            );
            eprintln!("  {} mrtr keys new FILE, then --state-keys FILE", styled(HINT, "→"));
        }
        warn_of_tasks(self.keys, self.db, self.of_others);
    }
}

/// Says which tasks of the file this server, or a later one, does not serve.
pub(super) fn warn_of_tasks(keys: &Keys, db: Option<&Path>, of_others: &BTreeMap<String, usize>) {
    let Some(path) = db.map(Path::display) else { return };
    for (audience, tasks) in of_others {
        let (tasks, them) = match tasks {
            1 => (format!("1 open task in {path} belongs"), "it"),
            tasks => (format!("{tasks} open tasks in {path} belong"), "them"),
        };
        let is_of_no_keys = audience == THIS_PROCESS;
        let audience = Printable::line(audience);
        eprintln!("warning: {tasks} to `{audience}`, and this server does not continue {them}");
        if is_of_no_keys {
            eprintln!("  {} a server without keys does: serve the file without --state-keys first", styled(HINT, "→"));
        } else {
            eprintln!("  {} serve the file with the keys of `{audience}`: --state-keys FILE", styled(HINT, "→"));
        }
    }
    if keys.end_with_process() {
        eprintln!(
            "warning: without --state-keys, tasks in {path} are not sealed, and a server with keys does not continue them"
        );
        eprintln!("  {} mrtr keys new FILE, then --state-keys FILE", styled(HINT, "→"));
    }
}
