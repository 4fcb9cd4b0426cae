//! A client that is given a URL in place of a transport.

use mrtr_client::Client;

fn main() {
    let _ = Client::builder("http://localhost:8000/mcp");
}
