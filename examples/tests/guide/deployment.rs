//! Section "Deployment": keys, their rotation, single use, limits and shedding.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use mrtr::SqliteSingleUse;
use mrtr::prelude::*;
use mrtr::server::extend::ShedAbove;
use mrtr::server::testing;
use mrtr::state::Lifetimes;

use crate::effects::Effects;
use crate::page;

#[data]
struct Confirmed {
    yes: bool,
}

async fn pay(flow: Flow) -> Result<String> {
    let Confirmed { yes } = flow.elicit("confirm", "Shall 100 euros be paid?").await?;
    if !yes {
        return Ok("Nothing was paid".into());
    }
    flow.step("charge", charge(flow.state::<Effects>())).await?;
    Ok("Paid".into())
}

async fn charge(effects: &Effects) -> Result<()> {
    effects.note("charge");
    Ok(())
}

/// One file for all instances on a machine.
fn once(file: &Path) -> Result<Tool> {
    let store = SqliteSingleUse::open(file, SystemTime::now().into())?;
    Ok(Tool::new("pay", pay).description("Pays 100 euros").single_use(store))
}

#[tokio::test]
async fn a_state_counts_once_on_all_instances_of_a_machine() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (effects, sealer, file) = (Effects::default(), Sealer::this_process_only(), folder.path().join("once.sqlite"));
    let instance = || -> Result<Server> {
        let server = Server::builder("shop", "1.0.0").sealer(sealer.clone()).state(effects.clone());
        Ok(server.tool(once(&file)?).build()?)
    };
    let (one, other) = (instance()?, instance()?);
    let call = testing::Client::new(&one).call_tool("pay", json!({})).await.accept("confirm", json!({ "yes": true }));
    let replay = call.clone().at(&other);
    assert_eq!(call.send().await.expect_text(), "Paid");
    assert_eq!(replay.send().await.expect_text(), "Paid", "it gets the reply");
    assert_eq!(effects.noted(), ["charge"]);
    Ok(())
}

/// A state of this tool may wait over the weekend.
fn patient() -> Tool {
    let lifetimes =
        Lifetimes { round: Duration::from_hours(72), flow: Duration::from_hours(96), ..Lifetimes::default() };
    Tool::new("pay", pay).lifetimes(lifetimes)
}

/// Puts flows down at their next yield point while more than a hundred requests are under way.
fn shedding(server: mrtr::server::Builder) -> mrtr::server::Builder {
    server.shedder(ShedAbove(100))
}

/// Behind a proxy that is known as mcp.example.com.
fn endpoint(server: Server) -> Endpoint {
    Endpoint::anonymous(server).allow_host("mcp.example.com").body_limit(256 * 1024).concurrency(512)
}

#[tokio::test]
async fn a_state_lives_as_long_as_its_tool_says() -> Result<()> {
    let clock = testing::FixedClock::default();
    let server = shedding(Server::builder("shop", "1.0.0")).clock(clock.clone()).state(Effects::default());
    let server = server.tool(patient()).build()?;
    let call =
        testing::Client::new(&server).call_tool("pay", json!({})).await.accept("confirm", json!({ "yes": true }));
    clock.advance(Duration::from_hours(71));
    assert_eq!(call.send().await.expect_text(), "Paid");
    assert_eq!(endpoint(server).server().inventory().tools, 1);
    Ok(())
}

#[test]
fn the_key_that_the_page_makes_can_be_used() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let made = page::blocks("sh").find(|block| block.contains("openssl rand")).ok_or("the page makes a key")?;
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &format!("{}\nprintf %s \"$MRTR_STATE_KEYS\" > keys", made.text)]);
    let output = shell.current_dir(folder.path()).output()?;
    assert!(output.status.success(), "{output:?}");
    let sealer = Sealer::from_file(folder.path().join("keys"))?;
    assert_eq!(sealer.audience(), "shop-eu");
    Ok(())
}

#[tokio::test]
async fn three_deployments_replace_a_key_and_refuse_no_client() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (old, new) = (format!("k1:{}=", "A".repeat(43)), format!("k2:{}=", "B".repeat(42) + "A"));
    let deployed = |keys: &[&str]| -> Result<Server> {
        let file = folder.path().join("keys");
        std::fs::write(&file, format!("shop-eu={}", keys.join(",")))?;
        let server = Server::builder("shop", "1.0.0").sealer(Sealer::from_file(file)?).state(Effects::default());
        Ok(server.tool(Tool::new("pay", pay)).build()?)
    };
    let deployments = [deployed(&[&old])?, deployed(&[&old, &new])?, deployed(&[&new, &old])?, deployed(&[&new])?];
    for (before, after) in deployments.iter().zip(&deployments[1..3]) {
        // While a deployment is rolled out, a call may begin on either side of it and go on at the other.
        for (here, there) in [(before, after), (after, before)] {
            let call = testing::Client::new(here).call_tool("pay", json!({})).await;
            let call = call.accept("confirm", json!({ "yes": true })).at(there).send().await;
            assert_eq!(call.expect_text(), "Paid");
        }
    }
    // The third waits until what the old key sealed has expired.
    let call = testing::Client::new(&deployments[1]).call_tool("pay", json!({})).await;
    let call = call.accept("confirm", json!({ "yes": true })).at(&deployments[3]).send().await;
    assert_eq!(call.expect_error().message, "The request state is not valid");
    Ok(())
}
