//! `book_table`: every kind of field that a form may have.

use mrtr::prelude::*;
use mrtr::server::flow::Answered;

/// A field of each kind.
#[data]
struct Booking {
    /// Under which name
    #[schemars(title = "Name", length(min = 2, max = 40))]
    name: String,
    #[schemars(title = "E-mail", email)]
    mail: String,
    #[schemars(title = "Day", extend("format" = "date"))]
    day: String,
    #[schemars(title = "Guests", range(min = 1, max = 12))]
    #[serde(default = "two")]
    guests: u8,
    /// In metres
    #[schemars(title = "Distance from the kitchen", range(min = 0.5, max = 20.0))]
    distance: f64,
    #[schemars(title = "Outside")]
    outside: bool,
    #[schemars(title = "Menu")]
    menu: Menu,
    #[schemars(title = "Seating")]
    seating: Option<Seating>,
    #[schemars(title = "Extras", length(max = 2))]
    extras: Option<Vec<Extra>>,
    #[schemars(title = "Note")]
    note: Option<String>,
}

fn two() -> u8 {
    2
}

/// A select, by its values.
#[data]
enum Menu {
    Fish,
    Meat,
    Vegan,
}

/// A select with titles.
#[data]
#[serde(rename_all = "lowercase")]
enum Seating {
    /// At the window
    Window,
    /// Where it is quiet
    Corner,
}

#[data]
#[serde(rename_all = "lowercase")]
enum Extra {
    /// A high chair
    Chair,
    /// A cake with candles
    Cake,
    /// A place for a dog
    Dog,
}

pub(super) async fn book_table(flow: Flow) -> Result<String> {
    match flow.elicit::<Booking>("booking", "Please tell us about your visit").answer().await {
        Answered::Accepted(booking) => Ok(format!("Booked: {}", serde_json::to_string(&booking)?)),
        Answered::Declined => Ok("No table was booked: you declined".to_owned()),
        Answered::Cancelled => Ok("No table was booked: you left the question".to_owned()),
    }
}
