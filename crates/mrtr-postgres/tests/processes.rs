//! Single use between real processes that share a database: of two hundred redemptions of one token, one runs.
#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the report")]

#[path = "../../mrtr-state/tests/single_use/tokens.rs"]
#[allow(dead_code, reason = "other tests of single use need more of it")]
mod tokens;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use mrtr_postgres::PostgresStore;
use mrtr_postgres::testing::Cluster;
use mrtr_state::Timestamp;
use mrtr_state::single_use::{ReserveOutcome, SingleUse};

#[test]
fn of_two_hundred_redemptions_in_three_processes_one_runs_and_all_get_its_reply() {
    let Some(cluster) = Cluster::shared() else { return };
    let (address, folder) = (cluster.fresh_database().unwrap(), tempfile::tempdir().unwrap());
    let effects = folder.path().join("effects.txt");
    // A store refuses tokens from before it began to remember: the first that connects begins.
    block_on(PostgresStore::connect(&address)).unwrap();
    let token = tokens::seal(now());
    let mut peers: Vec<_> = (0..3).map(|_| Peer::start(&address, &effects.display().to_string(), &token)).collect();
    for peer in &mut peers {
        assert_eq!(peer.says(), "ready");
    }
    peers.iter_mut().for_each(Peer::go_on);
    let mut replies = Vec::new();
    for peer in &mut peers {
        replies.extend((0..EACH).map(|_| peer.says()));
    }
    assert_eq!(replies.len(), 201);
    assert!(replies.iter().all(|reply| *reply == replies[0] && reply.starts_with("paid by")), "{replies:?}");
    assert_eq!(fs::read_to_string(effects).unwrap().lines().count(), 1, "one ran");
}

/// Not a test of its own: the other starts this program again with a part for it to play.
#[test]
fn a_part_is_played_by_a_child_process() {
    let Ok(address) = std::env::var(ADDRESS) else { return };
    let (effects, token) = (std::env::var(EFFECTS).unwrap(), std::env::var(TOKEN).unwrap());
    block_on(async {
        let store = Arc::new(PostgresStore::connect(&address).await.unwrap());
        say("ready");
        std::io::stdin().read_line(&mut String::new()).unwrap();
        let redemptions: Vec<_> = (0..EACH)
            .map(|_| {
                let (store, effects, token) = (Arc::clone(&store), effects.clone(), token.clone());
                tokio::spawn(async move { redeem(&store, &effects, &token).await })
            })
            .collect();
        for redemption in redemptions {
            say(&redemption.await.unwrap());
        }
    });
}

async fn redeem(store: &PostgresStore, effects: &str, token: &str) -> String {
    let token_use = tokens::use_of_at(token, "accept", now());
    loop {
        match store.reserve(&token_use, LEASE, now()).await.unwrap() {
            ReserveOutcome::Reserved(reservation, steps) => {
                assert!(steps.is_empty(), "no earlier round died");
                store.mark_started(&reservation, "charge", now()).await.unwrap();
                let mut effects = File::options().append(true).create(true).open(effects).unwrap();
                writeln!(effects, "charged by {}", std::process::id()).unwrap();
                store.record(&reservation, "charge", b"4.20", now()).await.unwrap();
                let reply = format!("paid by {}", std::process::id());
                store.commit(&reservation, reply.as_bytes(), now()).await.unwrap();
                return reply;
            }
            ReserveOutcome::InProgress(in_progress) => store.ended(&in_progress).await.unwrap(),
            ReserveOutcome::Committed(reply) => return String::from_utf8(reply).unwrap(),
            ReserveOutcome::OtherAnswers => panic!("the answers are the same"),
        }
    }
}

/// A child process that talks in lines.
struct Peer {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    input: ChildStdin,
}

impl Peer {
    fn start(address: &str, effects: &str, token: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_part_is_played_by_a_child_process", "--nocapture"])
            .envs([(ADDRESS, address), (EFFECTS, effects), (TOKEN, token)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (lines, input) = (process.stdout.take().unwrap(), process.stdin.take().unwrap());
        Self { process, lines: BufReader::new(lines).lines(), input }
    }

    /// The next line that is meant for us; the test harness prints some of its own.
    fn says(&mut self) -> String {
        let mut ours = self.lines.by_ref().filter_map(|line| Some(line.unwrap().split_once(MARK)?.1.to_owned()));
        ours.next().expect("the child goes on to its next line")
    }

    fn go_on(&mut self) {
        writeln!(self.input, "go on").unwrap();
    }
}

/// A test that fails leaves no child behind.
impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn say(line: &str) {
    println!("{MARK}{line}");
}

fn now() -> Timestamp {
    std::time::SystemTime::now().into()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().unwrap().block_on(future)
}

const EACH: usize = 67;
const LEASE: Duration = Duration::from_secs(30);
const ADDRESS: &str = "MRTR_TEST_ADDRESS";
const EFFECTS: &str = "MRTR_TEST_EFFECTS";
const TOKEN: &str = "MRTR_TEST_TOKEN";
const MARK: &str = "child: ";
