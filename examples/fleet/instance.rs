//! One instance: a process that serves the three tools, over the key and the database that all instances share.

use std::sync::Arc;
use std::time::Duration;

use mrtr::prelude::*;
use mrtr::server::{Guard, TaskPolicy};
use mrtr::tasks::TaskOptions;
use mrtr_postgres::PostgresStore;

struct Instance {
    name: String,
}

impl Instance {
    /// Says what it does, to the process that started it.
    fn says(&self, what: &str) -> String {
        println!("{what}");
        self.name.clone()
    }
}

#[rustfmt::skip] #[data] struct Confirmed { yes: bool }

/// Three rounds, with nothing but the key between them.
async fn survey(flow: Flow) -> Result<String> {
    let here = flow.state::<Instance>();
    let first = flow.step("first", async { Ok::<_, Failure>(here.says("surveys")) }).await?;
    let Confirmed { .. } = flow.elicit("more", "Shall I go on?").await?;
    let second = flow.step("second", async { Ok::<_, Failure>(here.says("surveys")) }).await?;
    let Confirmed { .. } = flow.elicit("even_more", "Even further?").await?;
    Ok(format!("{first} {second} {}", here.name))
}

/// A task whose second step never ends on the instance that did the first.
async fn import(flow: Flow) -> Result<String> {
    let here = flow.state::<Instance>();
    let downloaded = flow.step("download", async { Ok::<_, Failure>(here.says("downloads")) }).await?;
    let importing = async {
        let imported = here.says("imports");
        if imported == downloaded {
            std::future::pending::<()>().await;
        }
        Ok::<_, Failure>(imported)
    };
    Ok(flow.step("import", importing).idempotent().await?)
}

/// A state of it counts once, whichever instance it comes to.
async fn pay(flow: Flow) -> Result<String> {
    let Confirmed { yes } = flow.elicit("confirm", "Shall 100 euros be paid?").await?;
    if !yes {
        return Ok("Nothing was paid".into());
    }
    let here = flow.state::<Instance>();
    let by = flow.step("charge", async { Ok::<_, Failure>(here.says("charges")) }).await?;
    Ok(format!("Paid by {by}"))
}

/// Serves until its standard input is closed; then it hands over what it runs.
pub(crate) async fn serve(name: String) -> Result<()> {
    let store = Arc::new(PostgresStore::connect(&std::env::var("FLEET_DATABASE")?).await?);
    // Short, so that another instance soon goes on with the tasks of one that has died.
    let options = TaskOptions::default().lease(Duration::from_secs(2)).poll_interval(Duration::from_millis(100));
    let tasks = Tasks::with_options(store.clone(), options);
    let server = Server::builder("fleet", "1.0.0")
        .sealer(Sealer::from_env("MRTR_STATE_KEYS")?)
        .state(Instance { name })
        .tool(Tool::new("survey", survey))
        .tool(Tool::new("import", import).tasks(TaskPolicy::Required))
        .tool(Tool::new("pay", pay).single_use(Guard::new(store)))
        .extension(tasks)
        .build()?;
    let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
    println!("listening on http://{}/mcp", bound.address()?);
    // At the end no task is begun any more and what waits for a result is answered; then HTTP ends, and last, what still
    // runs is handed over.
    bound.run(standard_input_closes()).await?;
    Ok(())
}

/// It is closed by the process that started this one, or by its death.
async fn standard_input_closes() {
    let (closed, is_closed) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        drop(std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
        let _ = closed.send(());
    });
    drop(is_closed.await);
}
