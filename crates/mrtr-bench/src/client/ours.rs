//! The client that is measured: ours, as its documentation shows it.

use std::net::SocketAddr;

use anyhow::{Result, bail};
use mrtr_client::Client;
use mrtr_http::HttpTransport;
use mrtr_schema::ContentBlock;

use super::{ANSWER, ARGUMENTS, Caller, Work};
use crate::server::exchange::PATH;

pub(super) struct Ours(Client);

impl Ours {
    pub(super) fn new(server: SocketAddr) -> Result<Self> {
        let transport = HttpTransport::new(&format!("http://{server}{PATH}"))?;
        let client = Client::builder(transport).info("bench", "1.0.0");
        Ok(Self(client.on_elicit(|form| async move { form.accept(&ANSWER) }).build()))
    }
}

impl Caller for Ours {
    async fn call(&self, work: Work) -> Result<String> {
        let result = self.0.call_tool(work.tool(), ARGUMENTS).await?;
        match result.content.into_iter().next() {
            Some(ContentBlock::Text(text)) => Ok(text.text),
            other => bail!("the tool said {other:?}"),
        }
    }
}
