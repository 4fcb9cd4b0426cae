//! Single use between real processes that share one SQLite file, one of which is killed.
#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the report")]

#[path = "single_use/tokens.rs"]
mod tokens;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use mrtr_state::single_use::{Claim, GuardError, Holder, Running, SingleUse, StepRecord};
use mrtr_state::{SqliteSingleUse, Timestamp};
use tokens::NOON;

#[test]
fn of_four_processes_one_runs_and_the_others_wait_and_get_its_reply() {
    let folder = tempfile::tempdir().unwrap();
    let token = tokens::seal(NOON);
    let mut children: Vec<_> = (0..4).map(|_| Peer::start("redeem", folder.path(), &token)).collect();
    for child in &mut children {
        assert_eq!(child.says(), "ready");
    }
    children.iter_mut().for_each(Peer::go_on);

    let claims: Vec<_> = children.iter_mut().map(Peer::says).collect();
    assert_eq!(claims.iter().filter(|claim| *claim == "taken").count(), 1, "{claims:?}");
    assert_eq!(claims.iter().filter(|claim| *claim == "running").count(), 3, "{claims:?}");
    let runner = claims.iter().position(|claim| claim == "taken").unwrap();
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
    let redemption = tokens::redeem(&token, "accept");
    let claim = |now: Timestamp| block_on(store.claim(&redemption, LEASE, now)).unwrap();
    assert!(matches!(claim(NOON), Claim::Running(_)), "nobody knows yet that it died");
    let Claim::Taken(holder, steps) = claim(NOON + LEASE) else { panic!("its lease is over") };
    assert_eq!(steps, [StepRecord::new("charge", Some(b"4.20".to_vec())), StepRecord::new("post", None)]);
    block_on(store.commit(&holder, b"paid", NOON + LEASE)).unwrap();
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
        let claims: Vec<_> =
            spent.iter().map(|token| block_on(store.claim(&tokens::redeem(token, "accept"), LEASE, NOON))).collect();
        let known = |claim: &&_| matches!(claim, Ok(Claim::Committed(reply)) if reply == b"paid");
        let refused = |claim: &&_| matches!(claim, Err(GuardError::BeforeMemory));
        assert!(claims.iter().all(|claim| known(&claim) || refused(&claim)), "{claims:?}");
        assert!(claims.iter().filter(refused).count() >= 2 * purges, "each claim purges two: {claims:?}");
    }
}

/// Not a test of its own: the others start this program again with a part for it to play.
#[test]
fn a_part_is_played_by_a_child_process() {
    let Ok(part) = std::env::var(PART) else { return };
    let folder = PathBuf::from(std::env::var(FOLDER).unwrap());
    let redemption = tokens::redeem(&std::env::var(TOKEN).unwrap(), "accept");
    let store = open(&folder);
    let claim = async || store.claim(&redemption, LEASE, NOON).await.unwrap();
    block_on(async {
        match &*part {
            "redeem" => {
                say("ready");
                wait_for_parent();
                let reply = match claim().await {
                    Claim::Taken(holder, _) => run(&store, &holder, &folder).await,
                    Claim::Running(running) => wait(&store, &running, claim).await,
                    other => panic!("{other:?}"),
                };
                say(&reply);
            }
            "begin" => {
                let Claim::Taken(holder, _) = claim().await else { panic!("it is new") };
                store.mark_started(&holder, "charge", NOON).await.unwrap();
                store.record(&holder, "charge", b"4.20", NOON).await.unwrap();
                store.mark_started(&holder, "post", NOON).await.unwrap();
                say("in the middle");
                wait_for_parent();
            }
            "purge" => {
                for _ in 0..SPENT {
                    let token = tokens::seal_for(Duration::from_mins(10), NOON);
                    let claim = store.claim(&tokens::redeem(&token, "accept"), LEASE, NOON).await.unwrap();
                    let Claim::Taken(holder, _) = claim else { panic!("it is new") };
                    store.commit(&holder, b"paid", NOON).await.unwrap();
                    say(&token);
                }
                let later = NOON + Duration::from_mins(30);
                // By then all is purged, should the parent be gone.
                for _ in 0..SPENT {
                    let Ok(Claim::Taken(holder, _)) = store.claim(&redemption, LEASE, later).await else {
                        panic!("it lives")
                    };
                    store.release(&holder, later).await.unwrap();
                    say("purged");
                }
                wait_for_parent();
            }
            other => panic!("no such part: {other}"),
        }
    });
}

async fn run(store: &SqliteSingleUse, holder: &Holder, folder: &Path) -> String {
    store.mark_started(holder, "charge", NOON).await.unwrap();
    let mut effects = File::options().append(true).create(true).open(effects(folder)).unwrap();
    writeln!(effects, "charged by {}", std::process::id()).unwrap();
    store.record(holder, "charge", b"4.20", NOON).await.unwrap();
    say("taken");
    wait_for_parent();
    let reply = format!("paid by {}", std::process::id());
    store.commit(holder, reply.as_bytes(), NOON).await.unwrap();
    reply
}

async fn wait(store: &SqliteSingleUse, running: &Running, claim: impl AsyncFn() -> Claim) -> String {
    say("running");
    store.ended(running).await.unwrap();
    match claim().await {
        Claim::Committed(reply) => String::from_utf8(reply).unwrap(),
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

/// A test that fails leaves nobody behind.
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
/// How many tokens are spent and then purged.
const SPENT: usize = 60;
const PART: &str = "MRTR_TEST_PART";
const FOLDER: &str = "MRTR_TEST_FOLDER";
const TOKEN: &str = "MRTR_TEST_TOKEN";
const MARK: &str = "child: ";
