//! Structured output of a type that has no schema.

use mrtr_server::{Failure, Flow, Structured, Tool};

#[derive(serde::Serialize)]
struct Weather {
    celsius: f64,
}

async fn weather(_: Flow) -> Result<Structured<Weather>, Failure> {
    Ok(Structured(Weather { celsius: 21.5 }))
}

fn main() {
    Tool::new("weather", weather);
}
