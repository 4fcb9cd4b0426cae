//! A tool for programs: its result is a value with a schema, and arguments that do not fit never reach the handler.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin structured
//! ```
//!
//! Server and client are one program, and talk over HTTP. The client lists the tool with both of its schemas, and calls
//! it twice. The second call asks for more days than the schema allows: the model reads the reason and may try again.
//!
//! ```text
//! forecast takes city, "The name of a city", and days from 1 to 3
//! forecast returns city, days
//! Oslo on day 1: Rain, 12.5 °C
//! Oslo on day 2: Clear, 14 °C
//! for clients that read text: {"city":"Oslo","days":[{"sky":"Rain","celsius":12.5},{"sky":"Clear","celsius":14.0}]}
//! for 9 days: The arguments do not fit: …
//! ```

use mrtr::prelude::*;
use mrtr::schema::Tool as Definition;

#[data]
struct Place {
    /// The name of a city
    city: String,
    #[schemars(range(min = 1, max = 3))]
    days: u8,
}

#[rustfmt::skip] #[data] struct Forecast { city: String, days: Vec<Day> }
#[rustfmt::skip] #[data] struct Day { sky: Sky, celsius: f64 }
#[rustfmt::skip] #[data] #[derive(Debug)] enum Sky { Clear, Rain }

async fn forecast(flow: Flow, Place { city, days }: Place) -> Result<Structured<Forecast>> {
    let measured = flow.state::<Vec<f64>>().iter().take(days.into());
    let day = |&celsius| Day { sky: if celsius < 13.0 { Sky::Rain } else { Sky::Clear }, celsius };
    Ok(Structured(Forecast { city, days: measured.map(day).collect() }))
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let server = Server::builder("weather", "1.0.0")
        .state(vec![12.5, 14.0, 9.0])
        .tool(Tool::new("forecast", forecast).description("Forecasts the weather of a city"))
        .build()?;
    let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
    let url = format!("http://{}/mcp", bound.address()?);
    tokio::spawn(bound.run(std::future::pending()));

    let client = Client::builder(HttpTransport::new(&url)?).build();
    client.list_tools().await?.iter().try_for_each(show)?;
    let result = client.call_tool("forecast", json!({ "city": "Oslo", "days": 2 })).await?;
    let value = result.structured_content.as_ref().ok_or("a structured result")?;
    let Forecast { city, days } = value.as_json().to()?;
    for (number, Day { sky, celsius }) in (1..).zip(days) {
        println!("{city} on day {number}: {sky:?}, {celsius} °C");
    }
    println!("for clients that read text: {}", result.text());
    let refused = client.call_tool("forecast", json!({ "city": "Oslo", "days": 9 })).await?;
    println!("for 9 days: {}", refused.text());
    Ok(())
}

/// Shows the schemas of a tool.
fn show(Definition { name, input_schema, output_schema, .. }: &Definition) -> Result<()> {
    let takes: Value = serde_json::from_str(input_schema.as_object().as_str())?;
    let (city, days) = (&takes["properties"]["city"]["description"], &takes["properties"]["days"]);
    println!("{name} takes city, {city}, and days from {} to {}", days["minimum"], days["maximum"]);
    let returns = output_schema.as_ref().ok_or("it has a schema")?;
    let returns: Value = serde_json::from_str(returns.as_object().as_str())?;
    let members = returns["properties"].as_object().ok_or("it is an object")?;
    println!("{name} returns {}", members.keys().map(String::as_str).collect::<Vec<_>>().join(", "));
    Ok(())
}
