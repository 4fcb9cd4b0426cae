//! Single use between real processes that share one SQLite file, one of which is killed.
#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the report")]

#[path = "../../mrtr-state/tests/single_use/tokens.rs"]
mod tokens;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use mrtr_sqlite::SqliteSingleUse;
use mrtr_state::Timestamp;
use mrtr_state::single_use::{InProgress, Reservation, ReserveOutcome, SingleUse, SingleUseError, StepRecord};
use tokens::NOON;

#[test]
fn of_four_processes_one_runs_and_the_others_wait_and_get_its_reply() {
    let folder = tempfile::tempdir().unwrap();
    let token = tokens::seal(NOON);
    let mut children: Vec<_> = (0..4).map(|_| Peer::start("use", folder.path(), &token)).collect();
    for child in &mut children {
        assert_eq!(child.says(), "ready");
    }
    children.iter_mut().for_each(Peer::go_on);

    let outcomes: Vec<_> = children.iter_mut().map(Peer::says).collect();
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "reserved").count(), 1, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "in progress").count(), 3, "{outcomes:?}");
    let runner = outcomes.iter().position(|outcome| outcome == "reserved").unwrap();
    // The other three wait by now, or are about to.
    children[runner].go_on();

    let replies: Vec<_> = children.iter_mut().map(Peer::says).collect();
    let expected = format!("paid by {}", children[runner].process.id());
    assert!(replies.iter().all(|reply| *reply == expected), "{replies:?}");
    assert_eq!(fs::read_to_string(effects(folder.path())).unwrap().lines().count(), 1);
}

#[test]
fn a_killed_process_leaves_what_it_recorded_and_what_is_in_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let token = tokens::seal(NOON);
    let mut child = Peer::start("begin", folder.path(), &token);
    assert_eq!(child.says(), "in the middle");
    child.process.kill().unwrap();
    child.process.wait().unwrap();

    let store = open(folder.path());
    let token_use = tokens::use_of(&token, "accept");
    let reserve = |now: Timestamp| block_on(store.reserve(&token_use, LEASE, now)).unwrap();
    assert!(matches!(reserve(NOON), ReserveOutcome::InProgress(_)), "nobody knows yet that it died");
    let ReserveOutcome::Reserved(reservation, steps) = reserve(NOON + LEASE) else { panic!("its lease is over") };
    assert_eq!(steps, [StepRecord::new("charge", Some(b"4.20".to_vec())), StepRecord::new("post", None)]);
    block_on(store.commit(&reservation, b"paid", NOON + LEASE)).unwrap();
}

#[test]
fn a_process_killed_while_it_purges_leaves_no_token_that_a_clock_set_back_revives() {
    for purges in [1, 2, 7, 20] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Peer::start("purge", folder.path(), &tokens::seal(NOON));
        let spent: Vec<_> = (0..SPENT).map(|_| child.says()).collect();
        for _ in 0..purges {
            assert_eq!(child.says(), "purged");
        }
        // It goes on meanwhile, and dies wherever it is.
        child.process.kill().unwrap();
        child.process.wait().unwrap();

        let store = open(folder.path());
        let outcomes: Vec<_> =
            spent.iter().map(|token| block_on(store.reserve(&tokens::use_of(token, "accept"), LEASE, NOON))).collect();
        let known = |outcome: &&_| matches!(outcome, Ok(ReserveOutcome::Committed(reply)) if reply == b"paid");
        let refused = |outcome: &&_| matches!(outcome, Err(SingleUseError::BeforeMemory));
        assert!(outcomes.iter().all(|outcome| known(&outcome) || refused(&outcome)), "{outcomes:?}");
        assert!(outcomes.iter().filter(refused).count() >= 2 * purges, "each reservation purges two: {outcomes:?}");
    }
}

/// Not a test of its own: the others start this program again with a part for it to play.
#[test]
fn a_part_is_played_by_a_child_process() {
    let Ok(part) = std::env::var(PART) else { return };
    let folder = PathBuf::from(std::env::var(FOLDER).unwrap());
    let token_use = tokens::use_of(&std::env::var(TOKEN).unwrap(), "accept");
    let store = open(&folder);
    let reserve = async || store.reserve(&token_use, LEASE, NOON).await.unwrap();
    block_on(async {
        match &*part {
            "use" => {
                say("ready");
                wait_for_parent();
                let reply = match reserve().await {
                    ReserveOutcome::Reserved(reservation, _) => run(&store, &reservation, &folder).await,
                    ReserveOutcome::InProgress(in_progress) => wait(&store, &in_progress, reserve).await,
                    other => panic!("{other:?}"),
                };
                say(&reply);
            }
            "begin" => {
                let ReserveOutcome::Reserved(reservation, _) = reserve().await else { panic!("it is new") };
                store.mark_started(&reservation, "charge", NOON).await.unwrap();
                store.record(&reservation, "charge", b"4.20", NOON).await.unwrap();
                store.mark_started(&reservation, "post", NOON).await.unwrap();
                say("in the middle");
                wait_for_parent();
            }
            "purge" => {
                for _ in 0..SPENT {
                    let token = tokens::seal_for(Duration::from_mins(10), NOON);
                    let outcome = store.reserve(&tokens::use_of(&token, "accept"), LEASE, NOON).await.unwrap();
                    let ReserveOutcome::Reserved(reservation, _) = outcome else { panic!("it is new") };
                    store.commit(&reservation, b"paid", NOON).await.unwrap();
                    say(&token);
                }
                let later = NOON + Duration::from_mins(30);
                // By then all is purged, should the parent be gone.
                for _ in 0..SPENT {
                    let Ok(ReserveOutcome::Reserved(reservation, _)) = store.reserve(&token_use, LEASE, later).await
                    else {
                        panic!("it lives")
                    };
                    store.release(&reservation, later).await.unwrap();
                    say("purged");
                }
                wait_for_parent();
            }
            other => panic!("no such part: {other}"),
        }
    });
}

async fn run(store: &SqliteSingleUse, reservation: &Reservation, folder: &Path) -> String {
    store.mark_started(reservation, "charge", NOON).await.unwrap();
    let mut effects = File::options().append(true).create(true).open(effects(folder)).unwrap();
    writeln!(effects, "charged by {}", std::process::id()).unwrap();
    store.record(reservation, "charge", b"4.20", NOON).await.unwrap();
    say("reserved");
    wait_for_parent();
    let reply = format!("paid by {}", std::process::id());
    store.commit(reservation, reply.as_bytes(), NOON).await.unwrap();
    reply
}

async fn wait(store: &SqliteSingleUse, in_progress: &InProgress, reserve: impl AsyncFn() -> ReserveOutcome) -> String {
    say("in progress");
    store.ended(in_progress).await.unwrap();
    match reserve().await {
        ReserveOutcome::Committed(reply) => String::from_utf8(reply).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// A child process that talks in lines.
struct Peer {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    input: ChildStdin,
}

impl Peer {
    fn start(part: &str, folder: &Path, token: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_part_is_played_by_a_child_process", "--nocapture"])
            .envs([(PART, part), (TOKEN, token)])
            .env(FOLDER, folder)
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

/// Ends also if the parent is gone.
fn wait_for_parent() {
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

fn open(folder: &Path) -> SqliteSingleUse {
    SqliteSingleUse::open(folder.join("single-use.sqlite"), NOON).unwrap()
}

fn effects(folder: &Path) -> PathBuf {
    folder.join("effects.txt")
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

const LEASE: Duration = Duration::from_secs(30);
/// The number of tokens that are spent and then purged.
const SPENT: usize = 60;
const PART: &str = "MRTR_TEST_PART";
const FOLDER: &str = "MRTR_TEST_FOLDER";
const TOKEN: &str = "MRTR_TEST_TOKEN";
const MARK: &str = "child: ";
