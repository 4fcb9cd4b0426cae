//! `charge`: an effect that happens once. Each state of the call counts once, and the step has a key of its own.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use mrtr::prelude::*;

#[data]
pub(super) struct Amount {
    /// In cents
    #[schemars(range(min = 1))]
    cents: u64,
}

#[data]
struct Consent {
    #[schemars(title = "Go ahead")]
    agreed: bool,
}

/// What plays the bank: one receipt for each key.
#[derive(Default)]
pub(super) struct Books(Mutex<HashMap<String, usize>>);

pub(super) async fn charge(flow: Flow, Amount { cents }: Amount) -> Result<String> {
    let amount = format!("{}.{:02} €", cents / 100, cents % 100);
    let Consent { agreed } = flow.elicit("consent", format!("Shall {amount} be charged?")).pinned().await?;
    if !agreed {
        return Ok("Nothing was charged.".to_owned());
    }
    let key = flow.idempotency_key("charge").await;
    let books = flow.state::<Books>();
    let receipt = flow.step("charge", async { Ok::<_, Failure>(books.receipt(key)) }).await?;
    Ok(format!("Charged {amount}: receipt {receipt}."))
}

impl Books {
    fn receipt(&self, key: String) -> usize {
        let mut receipts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = receipts.len() + 1;
        *receipts.entry(key).or_insert(next)
    }
}
