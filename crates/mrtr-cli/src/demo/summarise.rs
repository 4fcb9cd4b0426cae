//! `summarise`: the client's model is asked.

use mrtr::prelude::*;
use mrtr::schema::sampling::{CreateMessageParams, SamplingContent, SamplingMessage};

#[data]
pub(super) struct Source {
    /// What to sum up
    text: String,
}

pub(super) async fn summarise(flow: Flow, Source { text }: Source) -> Result<String> {
    let question = SamplingMessage::user(format!("Sum this up in one sentence:\n{text}"));
    let answer = flow.sample("summary", CreateMessageParams::new([question], 200_u64)).await?;
    let said = answer.content.iter().filter_map(|content| match content {
        SamplingContent::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    Ok(format!("{} (says {})", said.collect::<Vec<_>>().join(" "), answer.model))
}
