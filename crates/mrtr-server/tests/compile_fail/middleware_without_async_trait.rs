//! Middleware whose `impl` is without `#[async_trait]`.

use mrtr_server::ProtocolError;
use mrtr_server::extend::{Middleware, RequestInfo};

#[derive(Debug)]
struct Audit;

impl Middleware for Audit {
    async fn before(&self, _: &RequestInfo<'_>) -> Result<(), ProtocolError> {
        Ok(())
    }
}

fn main() {}
