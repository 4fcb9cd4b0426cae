//! `weather`: a form in the middle of a call.

use mrtr::prelude::*;

#[data]
pub(super) struct Place {
    /// Where
    city: String,
}

#[data]
struct Login {
    /// As you are known here
    #[schemars(title = "User name", length(min = 2, max = 40))]
    user: String,
}

pub(super) async fn weather(flow: Flow, Place { city }: Place) -> Result<String> {
    let Login { user } = flow.elicit("login", "The weather is for users. Who are you?").await?;
    Ok(format!("{city}: 12 °C and light rain. Take an umbrella, {user}."))
}
