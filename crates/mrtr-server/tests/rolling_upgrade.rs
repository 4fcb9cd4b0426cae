//! Versions of one handler that ask for different things, and conversations that land on them in turn (SV-12).
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mrtr_schema::Revision;
use mrtr_server::handler::ToolHandler;
use mrtr_server::testing::{Client, Conversation};
use mrtr_server::{Failure, Flow, FlowError, Server, StatePolicy, Tool};
use mrtr_state::{Key, KeyRing, Sealer};
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[tokio::test]
async fn github_login_is_asked_once_when_the_retry_lands_on_the_new_version() {
    for policy in [StatePolicy::Always, StatePolicy::WhenNeeded] {
        for revision in Revision::MODERN {
            let fleet = Fleet::new(policy);
            let (old, new) = (fleet.deploy(OLD), fleet.deploy(NEW));
            let call = Client::new(&old).speaking(revision).call_tool("link_accounts", json!({})).await;
            call.expect_asked(&["github_login", "google_login"]);
            let call = call.accept("github_login", name("octocat")).accept("google_login", name("octo@gmail"));
            let call = call.at(&new).send().await;
            call.expect_asked(&["microsoft_login"]);
            assert!(call.state().is_some(), "the answer that was given is carried");
            let call = call.accept("microsoft_login", name("octo@outlook")).send().await;
            assert_eq!(call.expect_text(), "github_login=octocat microsoft_login=octo@outlook");
        }
    }
}

#[tokio::test]
async fn an_answer_that_the_new_version_does_not_want_is_there_when_the_old_one_is_met_again() {
    let fleet = Fleet::new(StatePolicy::Always);
    let (old, new) = (fleet.deploy(OLD), fleet.deploy(NEW));
    let call = Client::new(&old).call_tool("link_accounts", json!({})).await;
    let call = call.accept("github_login", name("octocat")).accept("google_login", name("octo@gmail"));
    let call = call.at(&new).send().await;
    call.expect_asked(&["microsoft_login"]);
    let call = call.accept("microsoft_login", name("octo@outlook")).at(&old).send().await;
    assert_eq!(call.expect_text(), "github_login=octocat google_login=octo@gmail");
}

#[tokio::test]
async fn what_was_left_open_before_the_upgrade_is_asked_by_the_new_version() {
    let fleet = Fleet::new(StatePolicy::Always);
    let (old, new) = (fleet.deploy(OLD), fleet.deploy(NEW));
    let call = Client::new(&old).call_tool("link_accounts", json!({})).await;
    let call = call.accept("google_login", name("octo@gmail")).at(&new).send().await;
    call.expect_asked(&["github_login", "microsoft_login"]);
    let call = call.accept("github_login", name("octocat")).at(&old).send().await;
    assert_eq!(call.expect_text(), "github_login=octocat google_login=octo@gmail");
}

#[tokio::test]
async fn a_chain_of_three_questions_keeps_its_first_answer_through_two_versions() {
    for policy in [StatePolicy::Always, StatePolicy::WhenNeeded] {
        let fleet = Fleet::new(policy);
        let first = fleet.deploy(Version { asks: &["github_login", "google_login"], pace: Pace::OneByOne });
        let second = fleet.deploy(Version { asks: &["github_login", "microsoft_login"], pace: Pace::OneByOne });
        let third = fleet.deploy(Version { asks: &["github_login", "microsoft_login", "team"], pace: Pace::OneByOne });

        let call = Client::new(&first).call_tool("link_accounts", json!({})).await;
        call.expect_asked(&["github_login"]);
        let call = call.accept("github_login", name("octocat")).at(&second).send().await;
        call.expect_asked(&["microsoft_login"]);
        let call = call.accept("microsoft_login", name("octo@outlook")).at(&third).send().await;
        call.expect_asked(&["team"]);
        let call = call.accept("team", name("octo-org")).send().await;
        assert_eq!(call.expect_text(), "github_login=octocat microsoft_login=octo@outlook team=octo-org");
    }
}

#[tokio::test]
async fn a_step_of_the_old_version_is_not_repeated_by_the_new_one() {
    let fleet = Fleet::new(StatePolicy::Always);
    let created = Arc::new(AtomicU32::new(0));
    let version = |asks: &'static str| {
        let created = Arc::clone(&created);
        fleet.serve(Tool::new("link_accounts", move |flow: Flow| create_then_ask(flow, Arc::clone(&created), asks)))
    };
    let call = Client::new(&version("google_login")).call_tool("link_accounts", json!({})).await;
    call.expect_asked(&["google_login"]);
    let call = call.accept("google_login", name("octo@gmail")).at(&version("microsoft_login")).send().await;
    call.expect_asked(&["microsoft_login"]);
    let call = call.accept("microsoft_login", name("octo@outlook")).send().await;
    assert_eq!(call.expect_text(), "account 1 for octo@outlook");
    assert_eq!(created.load(Ordering::Relaxed), 1);
}

async fn create_then_ask(flow: Flow, created: Arc<AtomicU32>, asks: &'static str) -> Result<String, FlowError> {
    let create = async { Ok::<_, Failure>(created.fetch_add(1, Ordering::Relaxed) + 1) };
    let account = flow.step("create_account", create).await?;
    let Login { name } = flow.elicit(asks, question(asks)).await?;
    Ok(format!("account {account} for {name}"))
}

#[tokio::test]
async fn another_deployment_does_not_take_the_conversation_over() {
    let call = Client::new(&Fleet::new(StatePolicy::Always).deploy(OLD)).call_tool("link_accounts", json!({})).await;
    let sealer = Sealer::new(KeyRing::new(Key::new("fleet", [3; 32]).unwrap()), "another-fleet").unwrap();
    let stranger = Fleet { sealer, policy: StatePolicy::Always }.deploy(OLD);
    let call = call.accept("github_login", name("octocat")).at(&stranger).send().await;
    assert_eq!(call.expect_error().code.as_i64(), -32602);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_mixed_fleet_never_loses_an_answer_nor_asks_for_it_again(
        versions in prop::collection::vec(any_version(), 3),
        rounds in prop::collection::vec((0..3_usize, any::<[bool; 5]>()), 0..20),
        last in prop::array::uniform6(0..3_usize),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(MixedFleet::new(versions).converse(&rounds, last))?;
    }
}

/// Three versions in service at once, and what the client has answered so far.
struct MixedFleet {
    versions: Vec<Version>,
    servers: Vec<Server>,
    given: BTreeMap<&'static str, String>,
}

impl MixedFleet {
    fn new(versions: Vec<Version>) -> Self {
        let fleet = Fleet::new(StatePolicy::Always);
        let servers = versions.iter().map(|version| fleet.deploy(*version)).collect();
        Self { versions, servers, given: BTreeMap::new() }
    }

    /// Each round lands on the version that is chosen, and brings some of the answers; then the client answers
    /// everything.
    async fn converse(mut self, rounds: &[(usize, [bool; 5])], last: [usize; 6]) -> Result<(), TestCaseError> {
        // Each of these rounds brings an answer, and there are five.
        let everything = last.map(|landing| (landing, [true; 5]));
        let mut call: Option<Conversation> = None;
        for (round, (landing, answers)) in rounds.iter().chain(&everything).enumerate() {
            let server = self.servers[*landing].clone();
            let replied = match call {
                None => Client::new(&server).call_tool("link_accounts", json!({})).await,
                Some(call) => self.answer(call, *answers, round).at(&server).send().await,
            };
            if self.is_over(&replied, self.versions[*landing])? {
                return Ok(());
            }
            call = Some(replied);
        }
        Err(TestCaseError::fail("the conversation does not end"))
    }

    /// Answers those of the open questions that are chosen, each answer with a text of its own.
    fn answer(&mut self, mut call: Conversation, chosen: [bool; 5], round: usize) -> Conversation {
        let asked = call.asked();
        let chosen = QUESTIONS.into_iter().zip(chosen).filter_map(|(key, chosen)| chosen.then_some(key));
        for key in chosen.filter(|key| asked.iter().any(|asked| asked == key)) {
            let text = format!("{key}-of-round-{round}");
            call = call.accept(key, name(&text));
            self.given.insert(key, text);
        }
        call
    }

    /// Checks a reply: it asks for the answers that the version lacks, or gives back every answer that it wanted.
    fn is_over(&self, call: &Conversation, version: Version) -> Result<bool, TestCaseError> {
        let lacking: Vec<_> = version.asks.iter().copied().filter(|key| !self.given.contains_key(key)).collect();
        if lacking.is_empty() {
            let wanted = version.asks.iter().map(|key| format!("{key}={}", self.given[key]));
            prop_assert_eq!(call.expect_text(), wanted.collect::<Vec<_>>().join(" "));
            return Ok(true);
        }
        match version.pace {
            Pace::AllAtOnce => prop_assert_eq!(call.asked(), lacking),
            Pace::OneByOne => prop_assert_eq!(call.asked(), &lacking[..1]),
        }
        Ok(false)
    }
}

/// Any of the five questions but not none, in any order.
fn any_version() -> impl Strategy<Value = Version> {
    let asks = (Just(QUESTIONS.to_vec()).prop_shuffle(), 1..=QUESTIONS.len());
    let pace = prop_oneof![Just(Pace::AllAtOnce), Just(Pace::OneByOne)];
    (asks, pace).prop_map(|((mut asks, count), pace)| {
        asks.truncate(count);
        Version { asks: asks.leak(), pace }
    })
}

const QUESTIONS: [&str; 5] = ["github_login", "google_login", "microsoft_login", "team", "region"];

/// Servers that share their key, and so their conversations.
struct Fleet {
    sealer: Sealer,
    policy: StatePolicy,
}

impl Fleet {
    fn new(policy: StatePolicy) -> Self {
        let keys = KeyRing::new(Key::new("fleet", [3; 32]).unwrap());
        Self { sealer: Sealer::new(keys, "fleet").unwrap(), policy }
    }

    fn deploy(&self, version: Version) -> Server {
        self.serve(Tool::new("link_accounts", version))
    }

    fn serve(&self, tool: Tool) -> Server {
        let tool = tool.state_policy(self.policy);
        Server::builder("accounts", "1.0.0").sealer(self.sealer.clone()).tool(tool).build().unwrap()
    }
}

const OLD: Version = Version { asks: &["github_login", "google_login"], pace: Pace::AllAtOnce };
const NEW: Version = Version { asks: &["github_login", "microsoft_login"], pace: Pace::AllAtOnce };

/// A version of the handler: it wants these answers, and tells them.
#[derive(Debug, Clone, Copy)]
struct Version {
    asks: &'static [&'static str],
    pace: Pace,
}

#[derive(Debug, Clone, Copy)]
enum Pace {
    AllAtOnce,
    OneByOne,
}

#[derive(Deserialize, JsonSchema)]
struct NoArguments {}

#[derive(Deserialize, JsonSchema)]
struct Login {
    name: String,
}

impl ToolHandler for Version {
    type Arguments = NoArguments;
    type Output = String;

    async fn call(&self, flow: Flow, _: NoArguments) -> Result<String, Failure> {
        let mut told = Vec::new();
        match self.pace {
            Pace::OneByOne => {
                for place in 0..self.asks.len() {
                    told.extend(self.ask(&flow, place).await?);
                }
            }
            Pace::AllAtOnce => {
                let ask = |place| self.ask(&flow, place);
                let all = tokio::try_join!(biased; ask(0), ask(1), ask(2), ask(3), ask(4))?;
                told.extend(<[_; 5]>::from(all).into_iter().flatten());
            }
        }
        Ok(told.join(" "))
    }
}

impl Version {
    async fn ask(&self, flow: &Flow, place: usize) -> Result<Option<String>, FlowError> {
        let Some(key) = self.asks.get(place) else { return Ok(None) };
        let Login { name } = flow.elicit(key, question(key)).await?;
        Ok(Some(format!("{key}={name}")))
    }
}

fn question(key: &str) -> String {
    format!("What is your {key}?")
}

fn name(name: &str) -> serde_json::Value {
    json!({ "name": name })
}
