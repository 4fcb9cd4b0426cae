//! Page Servers, section "A page beside the endpoint": pages at an address of their own, and the end of both.

use std::io;
use std::time::Duration;

use axum::Router;
use mrtr::prelude::*;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Serves pages at an address of their own, until the endpoint has ended.
async fn with_pages(
    endpoint: impl Future<Output = io::Result<()>>,
    pages: Router,
    listener: TcpListener,
) -> Result<()> {
    let (end, ended) = oneshot::channel::<()>();
    let pages = axum::serve(listener, pages).with_graceful_shutdown(async { drop(ended.await) });
    let pages = tokio::spawn(pages.into_future());
    let served = endpoint.await; // until it has ended in order
    drop(end); // now the pages end too, and a request that is under way gets five seconds
    timeout(Duration::from_secs(5), pages).await???;
    Ok(served?)
}

#[tokio::test]
async fn pages_are_served_until_the_endpoint_has_ended() -> Result<()> {
    let server = Server::builder("calendars", "1.0.0").build()?;
    let bound = Serve::new(Endpoint::anonymous(server)).probes().bind("127.0.0.1:0")?;
    let endpoint = format!("http://{}", bound.address()?);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let page = format!("http://{}/connect", listener.local_addr()?);
    let pages = Router::new().route("/connect", axum::routing::get(async || "Please sign in"));

    let (end, ended) = oneshot::channel::<()>();
    let address = page.clone();
    let serving = async {
        bound.run(async { drop(ended.await) }).await?;
        let after = reqwest::get(address).await.map_err(io::Error::other)?;
        assert_eq!(after.status(), 200, "the pages outlive the endpoint");
        Ok(())
    };
    let serving = with_pages(serving, pages, listener);
    let visits = async {
        let ready = reqwest::get(format!("{endpoint}/readyz")).await?;
        assert_eq!(ready.status(), 200);
        assert_eq!(reqwest::get(&page).await?.text().await?, "Please sign in");
        drop(end);
        Ok::<_, Failure>(())
    };
    let (ending, visited) = tokio::join!(serving, visits);
    ending?;
    visited?;
    assert!(reqwest::get(&page).await.is_err_and(|error| error.is_connect()), "the pages have ended as well");
    Ok(())
}
