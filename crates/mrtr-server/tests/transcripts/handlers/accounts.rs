//! Two versions of one tool: both want an account on GitHub, and each another one besides.

use mrtr_schema::CallToolResult;
use mrtr_server::{Flow, FlowError, Tool};

use super::done;
use super::weather::Login;

pub(crate) fn old_tool() -> Tool {
    Tool::new("link_accounts", link_google)
}

pub(crate) fn new_tool() -> Tool {
    Tool::new("link_accounts", link_microsoft)
}

async fn link_google(flow: Flow) -> Result<CallToolResult, FlowError> {
    let github = flow.elicit::<Login>("github_login", "Please provide your GitHub username");
    let google = flow.elicit::<Login>("google_login", "Please provide your Google username");
    let (github, google) = flow.join((github, google)).await?;
    Ok(done(format!("Linked {} on GitHub with {} at Google", github.name, google.name)))
}

async fn link_microsoft(flow: Flow) -> Result<CallToolResult, FlowError> {
    let github = flow.elicit::<Login>("github_login", "Please provide your GitHub username");
    let microsoft = flow.elicit::<Login>("microsoft_login", "Please provide your Microsoft username");
    let (github, microsoft) = flow.join((github, microsoft)).await?;
    Ok(done(format!("Linked {} on GitHub with {} at Microsoft", github.name, microsoft.name)))
}
