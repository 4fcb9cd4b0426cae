//! A handler of roots that ends in no `Result`.

use mrtr_client::testing::Script;
use mrtr_client::{Client, QuestionContext};
use mrtr_schema::roots::Root;

async fn roots(_: QuestionContext) -> Vec<Root> {
    Vec::new()
}

fn main() {
    let _ = Client::builder(Script::new()).on_roots(roots);
}
