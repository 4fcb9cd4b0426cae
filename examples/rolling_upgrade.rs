//! A new version of a handler continues a call that the old version began, and asks only what is missing.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin rolling_upgrade
//! ```
//!
//! Two servers have the same keys: the old version asks for two logins, and the new version asks for another login in
//! place of one of them. A flow finds answers by their keys, so answers to the old version count in the new one.
//!
//! ```text
//! version 1 asks ["google_login", "github_login"]
//! version 2 asks ["microsoft_login"]
//! ada-on-github and ada-on-microsoft are linked
//! ```

use mrtr::prelude::*;

#[rustfmt::skip] #[data] struct Login { name: String }

async fn link_v1(flow: Flow) -> Result<String> {
    let google = flow.elicit::<Login>("google_login", "Your name at Google?");
    let github = flow.elicit::<Login>("github_login", "Your name at GitHub?");
    let (google, github) = flow.join((google, github)).await?;
    Ok(format!("{} and {} are linked", github.name, google.name))
}

async fn link_v2(flow: Flow) -> Result<String> {
    let microsoft = flow.elicit::<Login>("microsoft_login", "Your name at Microsoft?");
    let github = flow.elicit::<Login>("github_login", "Your name at GitHub?");
    let (microsoft, github) = flow.join((microsoft, github)).await?;
    Ok(format!("{} and {} are linked", github.name, microsoft.name))
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    // Here both are one process; two deployments share keys with `Sealer::from_env` or `Sealer::from_file`.
    let sealer = Sealer::this_process_only();
    let old = serve(sealer.clone(), Tool::new("link", link_v1).version("1"))?;
    let new = serve(sealer, Tool::new("link", link_v2).version("2"))?;

    let call = answer("version 1", old.call_tool_once("link", json!({})).await?)?;
    // Meanwhile the old version was replaced: the retry lands at the new one. Behind a balancer both have one URL.
    let call = answer("version 2", new.advance(call.trust_other_server(new.server())).await?)?;
    println!("{}", new.resume(call).await?.text());
    Ok(())
}

/// Serves on a free port of this machine, and gives a client of it.
fn serve(sealer: Sealer, tool: Tool) -> Result<Client> {
    let server = Server::builder("accounts", "1.0.0").sealer(sealer).tool(tool).build()?;
    let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
    let transport = HttpTransport::new(&format!("http://{}/mcp", bound.address()?))?;
    tokio::spawn(bound.run(std::future::pending()));
    Ok(Client::builder(transport).on_elicit(async |form: FormRequest| form.decline()).build())
}

/// Answers what is asked, as a person would.
fn answer(version: &str, round: RoundOutcome) -> Result<PendingCall> {
    let RoundOutcome::Asked(mut call) = round else { return Err(format!("nothing is asked: {round:?}").into()) };
    let asked: Vec<_> = call.unanswered().map(str::to_owned).collect();
    println!("{version} asks {asked:?}");
    for key in asked {
        call.accept(&key, &json!({ "name": format!("ada-on-{}", key.trim_end_matches("_login")) }))?;
    }
    Ok(call)
}
