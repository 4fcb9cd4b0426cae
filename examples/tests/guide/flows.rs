//! Section "Writing flows": its blocks, and what each of them does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mrtr::prelude::*;
use mrtr::server::flow::{Answered, Race2};
use mrtr::server::testing;

use crate::effects::Effects;
use crate::session::Session;

#[data]
struct Confirmed {
    yes: bool,
}
#[data]
struct Address {
    street: String,
}

async fn order(flow: Flow) -> Result<String> {
    let shop = flow.state::<Shop>();
    let price = shop.price().await; // in every run
    let Confirmed { yes } = flow.elicit("confirm", format!("Buy it for {price} euros?")).await?; // asked once
    if !yes {
        return Ok("Nothing was bought".into());
    }
    let number = flow.step("buy", shop.buy(price)).await?; // done once
    let Address { street } = flow.elicit("address", "Where shall it go?").await?; // asked once
    Ok(format!("Order {number} goes to {street}"))
}

struct Shop(Effects);

impl Shop {
    async fn price(&self) -> u32 {
        self.0.note("price");
        30
    }

    async fn buy(&self, _price: u32) -> Result<u32> {
        self.0.note("buy");
        Ok(7)
    }
}

#[tokio::test]
async fn what_stands_outside_of_a_step_runs_in_every_round() -> Result<()> {
    let effects = Effects::default();
    let server =
        Server::builder("shop", "1.0.0").state(Shop(effects.clone())).tool(Tool::new("order", order)).build()?;
    let call = testing::Client::new(&server).call_tool("order", json!({})).await;
    call.expect_asked(&["confirm"]);
    let call = call.accept("confirm", json!({ "yes": true })).send().await;
    call.expect_asked(&["address"]);
    let call = call.accept("address", json!({ "street": "Main Street" })).send().await;
    assert_eq!(call.expect_text(), "Order 7 goes to Main Street");
    assert_eq!(effects.noted(), ["price", "price", "buy", "price"]);
    Ok(())
}

#[tokio::test]
async fn so_it_does_in_a_session() -> Result<()> {
    let effects = Effects::default();
    let server =
        Server::builder("shop", "1.0.0").state(Shop(effects.clone())).tool(Tool::new("order", order)).build()?;
    let mut session = Session::open(server, "2025-11-25").await?;
    let confirm = session.call("order").await?;
    let address = session.accept(&confirm, json!({ "yes": true })).await?;
    let done = session.accept(&address, json!({ "street": "Main Street" })).await?;
    assert_eq!(done["result"]["content"][0]["text"], "Order 7 goes to Main Street", "{done}");
    assert_eq!(effects.noted(), ["price", "price", "buy", "price"]);
    Ok(())
}

#[data]
struct Note {
    text: String,
}

async fn close_account(flow: Flow) -> Result<String> {
    let consent = flow.elicit::<Confirmed>("consent", "Close the account and delete its 12 files?").pinned();
    match consent.answer().await {
        Answered::Accepted(Confirmed { yes: true }) => {}
        Answered::Accepted(_) | Answered::Declined => return Ok("It stays".into()),
        Answered::Cancelled => return Ok("It stays for now".into()),
    }
    let note = flow.elicit::<Note>("note", "Would you tell us why?").optional().await;
    Ok(format!("Closed: {}", note.map_or("no reason given".into(), |note| note.text)))
}

#[tokio::test]
async fn an_answer_may_be_yes_no_or_none() -> Result<()> {
    let server = Server::builder("accounts", "1.0.0").tool(Tool::new("close", close_account)).build()?;
    let call = async || testing::Client::new(&server).call_tool("close", json!({})).await;
    assert_eq!(call().await.decline("consent").send().await.expect_text(), "It stays");
    assert_eq!(call().await.cancel("consent").send().await.expect_text(), "It stays for now");
    let agreed = call().await.accept("consent", json!({ "yes": true })).send().await;
    agreed.expect_asked(&["note"]);
    assert_eq!(agreed.decline("note").send().await.expect_text(), "Closed: no reason given");
    Ok(())
}

async fn connect(flow: Flow) -> Result<String> {
    let site = flow.state::<Arc<Site>>();
    let id = flow.interaction_id("connect"); // the same in every run of this flow, and not to be guessed
    let url = format!("https://example.com/connect/{id}");
    let done = async || site.was_visited(&id);
    flow.elicit_url("connect", "Please connect your calendar", url).until(done).await?;
    Ok("It is connected".into())
}

#[derive(Default)]
struct Site(AtomicU32);

impl Site {
    fn was_visited(&self, _id: &str) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }
}

#[tokio::test]
async fn a_visit_is_done_when_the_server_has_seen_it() -> Result<()> {
    let site = Arc::new(Site::default());
    let server =
        Server::builder("calendars", "1.0.0").state(Arc::clone(&site)).tool(Tool::new("connect", connect)).build()?;
    let call = testing::Client::new(&server).call_tool("connect", json!({})).await;
    let url = call.url("connect");
    let call = call.consent("connect").send().await;
    call.expect_asked(&["connect"]);
    assert_eq!(call.url("connect"), url, "it stays the same");
    site.0.store(1, Ordering::SeqCst);
    assert_eq!(call.consent("connect").send().await.expect_text(), "It is connected");
    Ok(())
}

#[data]
struct City {
    city: String,
}

async fn trip(flow: Flow) -> Result<String> {
    let from = flow.elicit::<City>("from", "Where do you start?");
    let to = flow.elicit::<City>("to", "Where do you go?");
    let (from, to) = flow.join((from, to)).await?;
    Ok(format!("{} to {}", from.city, to.city))
}

#[tokio::test]
async fn a_join_asks_all_of_it_in_one_round() -> Result<()> {
    let server = Server::builder("travel", "1.0.0").tool(Tool::new("trip", trip)).build()?;
    let call = testing::Client::new(&server).call_tool("trip", json!({})).await;
    call.expect_asked(&["from", "to"]);
    let call = call.accept("from", json!({ "city": "Oslo" })).accept("to", json!({ "city": "Bergen" }));
    assert_eq!(call.send().await.expect_text(), "Oslo to Bergen");
    Ok(())
}

#[data]
struct Version {
    version: String,
}

async fn release(flow: Flow) -> Result<String> {
    let works = flow.state::<Works>();
    let tested = flow.branch(async {
        let build = flow.step("build", works.build()).await?;
        flow.step("test", works.test(build)).await?;
        Ok::<_, Failure>(build)
    });
    let asked = flow.elicit::<Version>("version", "What shall it be called?");
    let (Version { version }, build) = flow.join((asked, tested)).await?;
    Ok(format!("Build {} is version {version}", build?))
}

struct Works(Effects);

impl Works {
    async fn build(&self) -> Result<u32> {
        self.0.note("build");
        Ok(7)
    }

    async fn test(&self, _build: u32) -> Result<()> {
        self.0.note("test");
        Ok(())
    }
}

#[tokio::test]
async fn a_branch_goes_on_beside_a_question() -> Result<()> {
    let effects = Effects::default();
    let server =
        Server::builder("works", "1.0.0").state(Works(effects.clone())).tool(Tool::new("release", release)).build()?;
    let call = testing::Client::new(&server).call_tool("release", json!({})).await;
    call.expect_asked(&["version"]);
    assert_eq!(effects.noted(), ["build", "test"], "both while the question is open");
    let call = call.accept("version", json!({ "version": "2.0" })).send().await;
    assert_eq!(call.expect_text(), "Build 7 is version 2.0");
    assert_eq!(effects.noted(), ["build", "test"], "and not again");
    Ok(())
}

async fn street(flow: Flow) -> Result<String> {
    let asked = flow.elicit::<Address>("address", "Where do you live?");
    let found = flow.step("look_up", look_up());
    Ok(match flow.race((asked, found)).await? {
        Race2::First(Address { street }) | Race2::Second(street) => street,
    })
}

async fn look_up() -> Result<String> {
    Ok("Main Street".into())
}

#[tokio::test]
async fn a_race_takes_the_first_to_end() -> Result<()> {
    let server = Server::builder("post", "1.0.0").tool(Tool::new("street", street)).build()?;
    let call = testing::Client::new(&server).call_tool("street", json!({})).await;
    assert_eq!(call.expect_text(), "Main Street");
    Ok(())
}

#[data]
struct Label {
    text: String,
}
#[data]
struct Pages {
    pages: u32,
}

async fn label(flow: Flow, Pages { pages }: Pages) -> Result<String> {
    let mut labels = Vec::new();
    for page in 1..=pages {
        let page = flow.scope(page); // its names are `1/label`, `2/label`, …
        let Label { text } = page.elicit("label", "What is on this page?").await?;
        labels.push(text);
    }
    Ok(labels.join(", "))
}

#[tokio::test]
async fn a_scope_keeps_the_turns_of_a_loop_apart() -> Result<()> {
    let server = Server::builder("album", "1.0.0").tool(Tool::new("label", label)).build()?;
    let call = testing::Client::new(&server).call_tool("label", json!({ "pages": 2 })).await;
    call.expect_asked(&["1/label"]);
    let call = call.accept("1/label", json!({ "text": "sea" })).send().await;
    call.expect_asked(&["2/label"]);
    assert_eq!(call.accept("2/label", json!({ "text": "hills" })).send().await.expect_text(), "sea, hills");
    Ok(())
}

#[data]
struct Mail {
    mail: String,
}

async fn pay_v1(flow: Flow) -> Result<String> {
    flow.step("charge", flow.state::<Bank>().charge()).await?;
    let Mail { mail } = flow.elicit("mail", "Where shall the receipt go?").await?;
    Ok(format!("The receipt goes to {mail}"))
}

async fn pay_v2(flow: Flow) -> Result<String> {
    flow.step("charge", flow.state::<Bank>().charge()).await?; // has kept its name: not done again
    let Mail { mail } = flow.elicit("mail", "Your e-mail address?").await?; // reworded: its answer counts
    let Address { street } = flow.elicit("address", "And where do you live?").await?; // new: asked
    Ok(format!("The receipt goes to {mail} and to {street}"))
}

async fn pay_v3(flow: Flow) -> Result<String> {
    flow.step("charge_card", flow.state::<Bank>().charge()).await?; // renamed: DONE AGAIN
    let Mail { mail } = flow.elicit("mail", "Where shall the receipt go?").await?;
    Ok(format!("The receipt goes to {mail}"))
}

struct Bank(Effects);

impl Bank {
    async fn charge(&self) -> Result<()> {
        self.0.note("charge");
        Ok(())
    }
}

#[tokio::test]
async fn entries_are_known_by_their_names() -> Result<()> {
    let (effects, sealer) = (Effects::default(), Sealer::this_process_only());
    let version = |tool: Tool| {
        let server = Server::builder("shop", "1.0.0").sealer(sealer.clone()).state(Bank(effects.clone()));
        server.tool(tool).build()
    };
    let old = version(Tool::new("pay", pay_v1))?;
    let call = testing::Client::new(&old).call_tool("pay", json!({})).await;
    let call = call.accept("mail", json!({ "mail": "ada@example.com" }));

    let at_v2 = call.clone().at(&version(Tool::new("pay", pay_v2))?).send().await;
    at_v2.expect_asked(&["address"]);
    let done = at_v2.accept("address", json!({ "street": "Main Street" })).send().await;
    assert_eq!(done.expect_text(), "The receipt goes to ada@example.com and to Main Street");
    assert_eq!(effects.noted(), ["charge"]);

    let at_v3 = call.at(&version(Tool::new("pay", pay_v3))?).send().await;
    assert_eq!(at_v3.expect_text(), "The receipt goes to ada@example.com");
    assert_eq!(effects.noted(), ["charge", "charge"], "the page warns of it");
    Ok(())
}

#[data]
struct Guess {
    number: u32,
}

async fn lottery(flow: Flow) -> Result<String> {
    // Chance and time in a step: every run sees the same.
    let drawn = flow.step("draw", async { Ok::<_, Failure>(flow.state::<Wheel>().turn()) }).await?;
    let Guess { number } = flow.elicit("guess", "Which number was drawn?").await?;
    Ok(if number == drawn { "You win" } else { "You lose" }.into())
}

/// Shows another number at each turn, from 1.
#[derive(Default)]
struct Wheel(AtomicU32);

impl Wheel {
    fn turn(&self) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }
}

#[tokio::test]
async fn chance_in_a_step_falls_once() -> Result<()> {
    let server =
        Server::builder("fair", "1.0.0").state(Wheel::default()).tool(Tool::new("lottery", lottery)).build()?;
    let call = testing::Client::new(&server).call_tool("lottery", json!({})).await;
    assert_eq!(call.accept("guess", json!({ "number": 1 })).send().await.expect_text(), "You win");
    Ok(())
}
