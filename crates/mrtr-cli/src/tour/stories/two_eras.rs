//! One handler, and clients of 2025 and 2026.

use anyhow::Result;
use mrtr::prelude::{FormRequest, json};

use crate::tour::legacy_client::LegacyClient;
use crate::tour::stage::Stage;
use crate::tour::stories::{Story, weather};

pub(super) const STORY: Story = Story {
    name: "two-eras",
    title: "The same handler for a client of 2025",
    premise: "The tool of the first story, at one address, called by a client that opens a session and is asked with a \
              request, and by one that retries.",
    cast: &["2025", "2026", "weather"],
    shown: "The handler was written once and knows nothing of eras. For a client of 2025 the question goes out on the \
            stream of its call, and the session is all that the server keeps.",
    play: |stage| Box::pin(play(stage)),
};

async fn play(stage: &Stage) -> Result<()> {
    let weather = stage.serve("weather", weather::server(stage, "weather"))?;
    let place = json!({ "location": "New York" });

    let legacy = LegacyClient::open("2025", &weather, stage.recording().clone()).await?;
    let old = legacy.call_tool("get_weather", &place, |_| weather::login()).await?;
    legacy.close().await?;

    let client = stage.client("2026", &weather)?;
    let client = client.on_elicit(async |form: FormRequest| form.accept(&weather::login())).build();
    let new = client.call_tool("get_weather", place).await?;

    let count = |who| stage.recording().sent_by(who).iter().filter(|sent| sent.says.starts_with("tools/call")).count();
    stage.claim("the client of 2025 called once, and was asked by a request", count("2025"), 1);
    stage.claim("the client of 2026 called twice, and was asked by a reply", count("2026"), 2);
    stage.claim("both got the same result", old, new.text());
    stage.claim("the weather was looked up once for each", stage.recording().effects().len(), 2);
    Ok(())
}
