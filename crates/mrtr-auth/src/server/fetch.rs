//! Documents of an issuer, fetched over the network: bounded in size and time, without redirects.

use std::time::Duration;

use reqwest::{Client, Response, Url, redirect};

/// Makes the client that fetches keys, and asks introspection endpoints.
pub(super) fn client() -> Client {
    let client =
        Client::builder().redirect(redirect::Policy::none()).timeout(LONGEST_WAIT).connect_timeout(LONGEST_WAIT);
    client.build().unwrap_or_default()
}

/// Reads a URL that tokens depend on: it must be https, but on this machine.
pub(super) fn secure(url: &str) -> Result<Url, String> {
    let parsed = Url::parse(url).map_err(|error| format!("{url:?} is no URL: {error}"))?;
    let host = parsed.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let is_here = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    match parsed.scheme() {
        "https" => Ok(parsed),
        "http" if is_here => Ok(parsed),
        _ => Err(format!("{url:?} must be https: whoever is on the way could give keys of its own")),
    }
}

/// Fetches a document.
pub(super) async fn get(client: &Client, url: &str) -> Result<Vec<u8>, String> {
    let request = client.get(secure(url)?).header("accept", "application/json");
    let response = request.send().await.map_err(|error| format!("{url} does not answer: {}", causes(&error)))?;
    body(response).await.map_err(|reason| format!("{url}: {reason}"))
}

/// Reads the body of an answer that must be a success.
pub(super) async fn body(mut response: Response) -> Result<Vec<u8>, String> {
    if !response.status().is_success() {
        return Err(format!("the answer has status {}", response.status().as_u16()));
    }
    let mut read = Vec::new();
    while let Some(part) = response.chunk().await.map_err(|error| causes(&error))? {
        if read.len() + part.len() > LONGEST {
            return Err("the answer is too long".to_owned());
        }
        read.extend_from_slice(&part);
    }
    Ok(read)
}

/// The text of an error and of its causes: reqwest's own says little.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

/// The longest document: key sets with certificates in them are long.
const LONGEST: usize = 256 << 10;
const LONGEST_WAIT: Duration = Duration::from_secs(5);
