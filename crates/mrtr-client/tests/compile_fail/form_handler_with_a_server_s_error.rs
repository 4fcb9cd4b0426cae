//! A handler of forms whose error is for the handlers of servers.

use mrtr_client::testing::Script;
use mrtr_client::{Client, FormRequest};
use mrtr_schema::elicitation::ElicitResult;

/// As `mrtr::Failure`: it is no `std::error::Error`.
struct Failure;

async fn ask(form: FormRequest) -> Result<ElicitResult, Failure> {
    form.decline().map_err(|_| Failure)
}

fn main() {
    let _ = Client::builder(Script::new()).on_elicit(ask);
}
