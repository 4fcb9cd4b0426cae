//! Handlers whose output is none: of a tool, a prompt and a resource.

use mrtr_server::{Failure, Flow, Prompt, Resource, Tool};

struct Weather {
    celsius: f64,
}

async fn weather(_: Flow) -> Result<Weather, Failure> {
    Ok(Weather { celsius: 21.5 })
}

fn main() {
    Tool::new("weather", weather);
    Prompt::new("weather", weather);
    Resource::new("weather://today", "weather", weather);
}
