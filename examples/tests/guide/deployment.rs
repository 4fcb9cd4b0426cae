//! Page Deployment: keys, their rotation, proxies, single use, limits and shedding, and what to refuse after a restore.

use std::path::Path;
use std::process::Command;
use std::thread::available_parallelism;
use std::time::{Duration, SystemTime};

use mrtr::SqliteSingleUse;
use mrtr::http::ForwardedHeader;
use mrtr::http::http::Request;
use mrtr::prelude::*;
use mrtr::schema::{ClientCapabilities, Revision};
use mrtr::serde_json;
use mrtr::server::extend::ShedAbove;
use mrtr::server::testing;
use mrtr::state::{KeyRing, Lifetimes};
use tokio::time::timeout;

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

/// Interrupts flows at their next yield point while more than a hundred requests are under way.
fn shedding(server: mrtr::server::Builder) -> mrtr::server::Builder {
    server.shedder(ShedAbove(100))
}

/// Behind a proxy that is known as mcp.example.com.
fn endpoint(server: Server) -> Endpoint {
    Endpoint::anonymous(server).allow_host("mcp.example.com").body_limit(256 * 1024).concurrency(512)
}

/// Behind load balancers in 10.0.0.0/8 that write `Forwarded` (RFC 7239).
fn behind_balancers(server: Server) -> Endpoint {
    let endpoint = Endpoint::anonymous(server).allow_host("mcp.example.com");
    endpoint.trusted_proxy([10, 0, 0, 0], 8).forwarded_header(ForwardedHeader::Forwarded)
}

/// Returns the status with which the endpoint answers an empty request for this host.
async fn status(endpoint: &Endpoint, host: &str) -> Result<u16> {
    let request = Request::post(format!("http://{host}/mcp")).body(String::new())?;
    Ok(endpoint.respond(request).await.status().as_u16())
}

#[tokio::test]
async fn only_the_host_that_is_named_is_served() -> Result<()> {
    let endpoint = behind_balancers(shop()?);
    assert_eq!(status(&endpoint, "evil.example").await?, 403);
    assert_ne!(status(&endpoint, "mcp.example.com").await?, 403);
    Ok(())
}

/// Serves the published revision at `/mcp`, and a draft, for clients that fill in forms, at `/sep-2322`.
fn with_a_draft(server: Server) -> Result<Serve> {
    let forms: ClientCapabilities = serde_json::from_value(json!({ "elicitation": { "form": {} } }))?;
    let draft = Endpoint::anonymous(server.clone()).revision(Revision::Sep2322).capabilities(forms);
    Ok(Serve::new(Endpoint::anonymous(server)).endpoint("/sep-2322", draft))
}

/// Serves on a small machine: less of everything that callers could use up, on all of its cores.
fn on_a_small_machine(server: Server) -> Result<Serve> {
    let endpoint = Endpoint::anonymous(server)
        .concurrency(256) // requests that run at a time
        .subscriptions(256)
        .body_limit(256 * 1024)
        .body_budget(32 << 20) // bytes of all bodies at a time
        .reply_budget(32 << 20) // bytes of replies that wait to be read
        .body_timeout(Duration::from_secs(5))
        .json_depth(32)
        .keep_alive(Duration::from_secs(10)); // comments on quiet streams
    let serve = Serve::new(endpoint)
        .connections(1024)
        .header_timeout(Duration::from_secs(5)) // for a head, and between requests
        .write_timeout(Duration::from_secs(10)); // for a client to read
    Ok(serve.runtimes(available_parallelism()?)) // a thread, a runtime and a socket each
}

/// Ends what the application has mounted, after its own HTTP server. Returns false if that takes too long.
async fn end_endpoint(endpoint: &Endpoint) -> bool {
    let server = endpoint.server();
    let ended = timeout(Duration::from_secs(20), server.shut_down()).await.is_ok();
    if !ended {
        eprintln!("{} rounds of single-use tools are dropped", server.detached());
    }
    ended
}

#[tokio::test]
async fn an_endpoint_ends_without_serve() -> Result<()> {
    let endpoint = Endpoint::anonymous(shop()?);
    assert!(end_endpoint(&endpoint).await);
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn both_revisions_and_a_small_machine_serve_the_same_tool() -> Result<()> {
    let served = [
        (with_a_draft(shop()?)?, "/mcp", Revision::default()),
        (with_a_draft(shop()?)?, "/sep-2322", Revision::Sep2322),
        (on_a_small_machine(shop()?)?, "/mcp", Revision::default()),
    ];
    for (serve, path, revision) in served {
        let bound = serve.bind("127.0.0.1:0")?;
        let transport = HttpTransport::new(&format!("http://{}{path}", bound.address()?))?;
        let yes = async |form: FormRequest| form.accept(&json!({ "yes": true }));
        let client = Client::builder(transport).revision(revision).on_elicit(yes).build();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving = tokio::spawn(bound.run(async { drop(stopped.await) }));
        assert_eq!(client.call_tool("pay", json!({})).await?.text(), "Paid", "{path}");
        drop(stop);
        serving.await??;
    }
    Ok(())
}

fn shop() -> Result<Server> {
    Ok(Server::builder("shop", "1.0.0").state(Effects::default()).tool(Tool::new("pay", pay)).build()?)
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

/// Takes the keys, and refuses each state that was issued before the restore.
fn after_a_restore(keys: &str, restored: SystemTime) -> Result<Sealer> {
    let (deployment, keys) = keys.split_once('=').ok_or("the keys begin with the deployment")?;
    let keys: KeyRing = keys.parse()?;
    Ok(Sealer::new(keys.reject_issued_before(restored.into()), deployment)?)
}

#[tokio::test]
async fn a_state_from_before_a_restore_is_refused() -> Result<()> {
    let keys = format!("shop-eu=k1:{}=", "A".repeat(43));
    let noon = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 365 * 57 + 12);
    let clock = testing::FixedClock::new(noon.into());
    let server = |restored| -> Result<Server> {
        let server = Server::builder("shop", "1.0.0").clock(clock.clone()).state(Effects::default());
        Ok(server.sealer(after_a_restore(&keys, restored)?).tool(Tool::new("pay", pay)).build()?)
    };
    let call = testing::Client::new(&server(SystemTime::UNIX_EPOCH)?).call_tool("pay", json!({})).await;
    let call = call.accept("confirm", json!({ "yes": true }));
    clock.advance(Duration::from_mins(2));
    let (opens, refuses) = (server(noon)?, server(noon + Duration::from_mins(1))?);
    assert_eq!(call.clone().at(&opens).send().await.expect_text(), "Paid");
    assert_eq!(call.at(&refuses).send().await.expect_error().message, "The request state is not valid");
    Ok(())
}
