//! A handler of forms that ends in something else than what the person did.

use mrtr_client::testing::Script;
use mrtr_client::{Client, FormRequest};

async fn ask(_: FormRequest) -> String {
    "Ada".to_owned()
}

fn main() {
    let _ = Client::builder(Script::new()).on_elicit(ask);
}
