//! The probes of a platform: they come by IP address and without credentials, and are told nothing but this.

use std::io::ErrorKind;
use std::time::Duration;

use mrtr_http::{Authenticator, Challenge, Endpoint, Identity, RequestHead, Serve};

use crate::support::Site;
use crate::support::message::Post;
use crate::support::wire::Response;
use crate::tools;

#[derive(Debug)]
struct Nobody;

#[async_trait::async_trait]
impl Authenticator for Nobody {
    async fn authenticate(&self, _: &RequestHead<'_>) -> Result<Identity, Challenge> {
        Err(Challenge::bearer())
    }
}

async fn ask(site: &Site, method: &str, path: &str) -> Response {
    let mut wire = site.connect().await;
    let head = format!("{method} {path} HTTP/1.1\r\nHost: 10.1.2.3:8080\r\nOrigin: https://evil.example\r\n");
    wire.send(format!("{head}Connection: close\r\n\r\n")).await;
    if method == "HEAD" { wire.head().await } else { wire.response().await }
}

#[tokio::test]
async fn probes_are_answered_before_any_other_check_and_without_a_permit() {
    // Not one request may run here.
    let endpoint = Endpoint::new(tools::server(), Nobody).concurrency(0);
    let site = Site::start(Serve::new(endpoint).probes());
    for (path, text) in [("/healthz", "alive\n"), ("/readyz", "ready\n")] {
        let response = ask(&site, "GET", path).await;
        assert_eq!((response.status, &*response.body), (200, text.as_bytes()));
        assert_eq!(response.header("cache-control"), Some("no-store"));
        assert_eq!(ask(&site, "HEAD", path).await.status, 200);
        let refused = ask(&site, "POST", path).await;
        assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD")));
        assert_eq!(ask(&site, "GET", &format!("{path}/")).await.status, 404, "these paths alone");
    }
    assert_eq!(site.answer(&Post::plain("{}")).await.status, 401, "what is not a probe is checked");
}

#[tokio::test]
async fn without_the_setting_there_are_none() {
    let site = Site::of(tools::server());
    for path in ["/healthz", "/readyz"] {
        assert_eq!(ask(&site, "GET", path).await.status, 404);
    }
}

#[test]
fn settings_that_cannot_work_together_are_refused_with_a_remedy() {
    let serve = || Serve::new(Endpoint::anonymous(tools::server())).probes();
    let taken = serve().endpoint("/readyz", Endpoint::anonymous(tools::server()));
    let too_long = serve().shutdown_notice(Duration::from_secs(30));
    let cases = [
        (taken, ["an endpoint is at /readyz", "`Serve::probes`", "move the endpoint"]),
        (too_long, ["`shutdown_notice` of 30s", "`shutdown_timeout` of 30s", "make the timeout longer"]),
    ];
    for (serve, words) in cases {
        let error = serve.bind("127.0.0.1:0").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        for words in words {
            assert!(error.to_string().contains(words), "{error}, without {words:?}");
        }
    }
}
