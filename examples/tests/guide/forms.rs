//! Section "Forms": the form of a type, what its answers are checked for, and asking again.

use std::collections::BTreeSet;

use mrtr::prelude::*;
use mrtr::schema::Form;
use mrtr::serde_json;
use mrtr::server::testing;

use crate::page;

#[data]
struct Booking {
    /// As it stands in your passport
    name: String,
    #[schemars(email, title = "E-mail")]
    mail: String,
    #[schemars(extend("format" = "date"))]
    day: String,
    #[schemars(range(min = 1, max = 9))]
    #[serde(default = "one")]
    seats: u8,
    class: Class,
    #[schemars(length(max = 2))]
    extras: BTreeSet<Extra>,
    #[schemars(length(max = 200))]
    wishes: Option<String>,
    #[serde(default)]
    newsletter: bool,
}

#[data]
enum Class {
    #[schemars(title = "Second class")]
    Second,
    #[schemars(title = "First class, with breakfast")]
    First,
}

#[data]
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Extra {
    Bicycle,
    #[serde(rename = "Quiet coach")]
    Quiet,
}

fn one() -> u8 {
    1
}

async fn book(flow: Flow) -> Result<String> {
    let booking = flow.elicit::<Booking>("booking", "What shall be booked?");
    let booking = booking.validate(|booking: &Booking| match (&booking.class, booking.seats) {
        (Class::First, 5..) => Err("First class has four seats left"),
        _ => Ok(()),
    });
    let Booking { name, seats, extras, .. } = booking.await?;
    Ok(format!("{seats} seats and {} extras for {name}", extras.len()))
}

#[test]
fn its_form_is_the_one_that_the_page_shows() -> Result<()> {
    let form: Value = serde_json::from_str(Form::of::<Booking>()?.as_str())?;
    let shown = page::blocks("json").find(|block| block.contains("passport")).ok_or("the page shows it")?;
    assert_eq!(form, serde_json::from_str::<Value>(shown.text)?);
    Ok(())
}

#[tokio::test]
async fn an_answer_that_will_not_do_is_asked_for_again() -> Result<()> {
    let server = Server::builder("railway", "1.0.0").tool(Tool::new("book", book)).build()?;
    let call = testing::Client::new(&server).call_tool("book", json!({})).await;
    call.expect_asked(&["booking"]);
    let mut answer = json!({ "name": "Ada", "mail": "ada@example.com", "day": "2026-12-24", "seats": 12,
        "class": "First", "extras": ["Bicycle"], "unknown": true });

    // Twelve are more than the form takes.
    let call = call.accept("booking", &answer).send().await;
    call.expect_asked(&["booking"]);

    // Five are not, and more than there are.
    answer["seats"] = json!(5);
    let call = call.accept("booking", &answer).send().await;
    call.expect_asked(&["booking"]);
    assert!(call.response().to_string().contains("First class has four seats left"), "{}", call.response());

    // Left out, it is one; what the form does not have is not looked at.
    answer.as_object_mut().ok_or("it is an object")?.remove("seats");
    let call = call.accept("booking", &answer).send().await;
    assert_eq!(call.expect_text(), "1 seats and 1 extras for Ada");
    Ok(())
}

#[data]
struct Nested {
    inner: Booking,
}

async fn ask_in_depth(flow: Flow) -> Result<String> {
    Ok(flow.elicit::<Nested>("nested", "What?").await?.inner.name)
}

#[tokio::test]
async fn a_type_that_is_no_form_is_found_when_it_is_asked_for() -> Result<()> {
    let server = Server::builder("railway", "1.0.0").tool(Tool::new("ask", ask_in_depth)).build()?;
    let call = testing::Client::new(&server).call_tool("ask", json!({})).await;
    let cause = call.cause().ok_or("it fails")?;
    assert!(cause.contains("`inner`") && cause.contains("forms are flat"), "{cause}");
    Ok(())
}
