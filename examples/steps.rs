//! A step with retries, a time limit and an idempotency key, against a bank that fails at first.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin steps
//! ```
//!
//! The bank's first reply is lost after the charge, the second attempt finds the bank closed, and the bank recognises
//! the third by its key: three attempts, one charge. Then the handler asks a question and runs again with the answer.
//! The step does not run again: its outcome is in the state that the client carries.
//!
//! ```text
//! attempt 1: charged, and the reply is lost
//! attempt 2: the bank is closed
//! attempt 3: known by its key
//! the handler asks: Where shall the receipt go?
//! Receipt 1 goes to ada@example.com
//! 3 attempts, 1 charge
//! ```

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mrtr::prelude::*;
use mrtr::server::flow::Retry;

#[rustfmt::skip] #[data] struct Order { cents: u64 }
#[rustfmt::skip] #[data] struct Receipt { email: String }

async fn pay(flow: Flow, order: Order) -> Result<String> {
    let bank = flow.state::<Arc<Bank>>();
    // The same in every run of this flow, and in no other.
    let key = flow.idempotency_key("charge").await;
    let number = flow
        .step_with("charge", || bank.charge(&key, order.cents))
        .retry(Retry::times(4).after(Duration::from_millis(10)))
        .timeout(Duration::from_secs(5))
        .idempotent() // If this process dies meanwhile, the step is begun again: the key makes that harmless.
        .await?;
    let Receipt { email } = flow.elicit("receipt", "Where shall the receipt go?").await?;
    Ok(format!("Receipt {number} goes to {email}"))
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let bank = Arc::new(Bank::default());
    let server = Server::builder("shop", "1.0.0").state(Arc::clone(&bank)).tool(Tool::new("pay", pay)).build()?;
    let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
    let transport = HttpTransport::new(&format!("http://{}/mcp", bound.address()?))?;
    tokio::spawn(bound.run(std::future::pending()));

    let answer = async |form: FormRequest| {
        println!("the handler asks: {}", form.message());
        form.accept(&json!({ "email": "ada@example.com" }))
    };
    let client = Client::builder(transport).on_elicit(answer).build();
    println!("{}", client.call_tool("pay", json!({ "cents": 995 })).await?.text());
    let books = bank.0.lock().unwrap_or_else(PoisonError::into_inner);
    println!("{} attempts, {} charge", books.attempts, books.receipts.len());
    Ok(())
}

/// What plays the bank: it charges once a key, whatever becomes of its replies.
#[derive(Default)]
struct Bank(Mutex<Books>);

#[derive(Default)]
struct Books {
    attempts: u32,
    receipts: HashMap<String, usize>,
}

impl Bank {
    #[expect(clippy::unused_async, reason = "a real bank is asked over the network")]
    async fn charge(&self, key: &str, _cents: u64) -> Result<usize, &'static str> {
        let mut books = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        books.attempts += 1;
        if books.attempts == 2 {
            println!("attempt 2: the bank is closed");
            return Err("the bank is closed");
        }
        let (attempt, next) = (books.attempts, books.receipts.len() + 1);
        let number = *books.receipts.entry(key.to_owned()).or_insert(next);
        if attempt == 1 {
            println!("attempt 1: charged, and the reply is lost");
            return Err("the connection broke");
        }
        println!("attempt {attempt}: known by its key");
        Ok(number)
    }
}
