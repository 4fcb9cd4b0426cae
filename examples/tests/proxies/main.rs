//! The recipes of the page Deployment for nginx and Caddy, each run as a real proxy before real instances.
//!
//! A test that a proxy is not installed for says so, and fails where `CI` is set.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic is the report")]

mod proxy;
mod shop;

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use mrtr::prelude::*;
use proxy::{CADDY, NGINX, Proxy, Recipe};
use shop::{Deployed, Dying, Shop, call};

const BOTH: [&Recipe; 2] = [&NGINX, &CADDY];

#[tokio::test]
async fn a_call_of_two_rounds_goes_through_tls_and_the_base_path() {
    let shop = Shop::start(|endpoint| endpoint);
    for recipe in BOTH {
        let Some(proxy) = Proxy::start(recipe, [shop.address(); 2], &[]) else { continue };
        let name = recipe.program;
        let transport = HttpTransport::with_client(&proxy.url("mcp.example.com"), proxy.client(None)).unwrap();
        let yes = async |form: FormRequest| form.accept(&json!({ "yes": true }));
        let client = Client::builder(transport).on_elicit(yes).build();
        assert_eq!(client.call_tool("pay", json!({})).await.unwrap().text(), "Paid", "{name}");
        let without_path = proxy.url("mcp.example.com").replace("/assistant", "");
        let status = proxy.client(None).post(without_path).send().await.unwrap().status();
        assert_eq!(status, 404, "{name}: it is under its base path alone");
    }
}

#[tokio::test]
async fn events_arrive_before_the_end_of_their_stream() {
    let shop = Shop::start(|endpoint| endpoint);
    for recipe in BOTH {
        let Some(proxy) = Proxy::start(recipe, [shop.address(); 2], &[]) else { continue };
        let name = recipe.program;
        let mut stream = proxy.post("mcp.example.com", &call("report")).send().await.unwrap();
        // The handler ends once it is told to, which is after this event.
        assert!(next(&mut stream).await.contains("halfway"), "{name}");
        shop.finish_report();
        let mut rest = String::new();
        while !rest.contains("Reported") {
            rest += &next(&mut stream).await;
        }
    }
}

/// The proxy cuts off an instance that says nothing for a second; the comments of three seconds arrive.
#[tokio::test]
async fn a_quiet_stream_is_kept_open() {
    let shop = Shop::start(|endpoint| endpoint.keep_alive(Duration::from_millis(200)));
    let one_second = [("proxy_read_timeout 11m;", "proxy_read_timeout 1s;"), ("keepalive 4s", "read_timeout 1s")];
    for (recipe, impatient) in BOTH.into_iter().zip(one_second) {
        let Some(proxy) = Proxy::start(recipe, [shop.address(); 2], &[impatient]) else { continue };
        let name = recipe.program;
        let mut stream = proxy.post("mcp.example.com", &call("report")).send().await.unwrap();
        let (begun, mut comments) = (Instant::now(), 0);
        while begun.elapsed() < Duration::from_secs(3) {
            comments += next(&mut stream).await.matches(": keep-alive\n\n").count();
        }
        assert!(comments > 2, "{name}: {comments}");
    }
}

#[tokio::test]
async fn a_request_for_another_host_is_refused() {
    let shop = Shop::start(|endpoint| endpoint);
    for recipe in BOTH {
        let Some(proxy) = Proxy::start(recipe, [shop.address(); 2], &[]) else { continue };
        let name = recipe.program;
        assert_eq!(proxy.post("mcp.example.com", &call("hello")).send().await.unwrap().status(), 200);
        let response = proxy.post("mcp.example.com", &call("hello")).header("host", "evil.example").send().await;
        let response = response.unwrap();
        if recipe.refuses_hosts {
            // Caddy has no site of this name, and answers so with nothing.
            assert_eq!(response.text().await.unwrap(), "", "{name}");
        } else {
            assert_eq!(response.status(), 403, "{name}: the endpoint refuses it");
        }
    }
    assert_eq!(shop.hellos(), BOTH.len(), "those for its own name");
}

#[tokio::test]
async fn a_call_is_not_repeated_when_its_instance_dies() {
    for recipe in BOTH {
        let dying = [Dying::start("200 OK").await, Dying::start("200 OK").await];
        let addresses = dying.each_ref().map(Dying::address);
        let Some(proxy) = Proxy::start(recipe, addresses, &[]) else { continue };
        let name = recipe.program;
        let status = proxy.post("mcp.example.com", &call("hello")).send().await.unwrap().status();
        assert_eq!(status, 502, "{name}");
        assert_eq!(dying[0].calls() + dying[1].calls(), 1, "{name}: the call arrived once");
    }
}

/// nginx learns it by the connection that is refused, so that nothing of the call was sent.
#[tokio::test]
async fn calls_go_past_an_instance_that_is_gone() {
    let shop = Shop::start(|endpoint| endpoint);
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let Some(proxy) = Proxy::start(&NGINX, [gone, shop.address()], &[]) else { return };
    for _ in 0..8 {
        assert_eq!(proxy.post("mcp.example.com", &call("hello")).send().await.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn calls_go_past_an_instance_that_is_not_ready() {
    let shop = Shop::start(|endpoint| endpoint);
    let ending = Dying::start("503 Service Unavailable").await;
    let Some(proxy) = Proxy::start(&CADDY, [ending.address(), shop.address()], &[]) else { return };
    // When Caddy asks again, it knows what it heard at first.
    ending.until_probed(2).await;
    for _ in 0..8 {
        assert_eq!(proxy.post("mcp.example.com", &call("hello")).send().await.unwrap().status(), 200);
    }
    assert_eq!(ending.calls(), 0);
}

/// One instance after the other gets SIGTERM and is started again, while three clients call through each proxy. A call
/// fails only if it is on its way in the moment in which its instance closes the connection: nobody knows then if it
/// arrived, so it is not repeated. A client has one call at a time, and so at most one such call for each instance.
#[tokio::test]
async fn calls_are_answered_while_the_instances_are_replaced_one_by_one() {
    // A fraction of the times of the recipes; the notice is longer than any, and so is the wait between two instances.
    let shorter: [&[_]; 2] = [
        &[("keepalive_timeout 4s", "keepalive_timeout 400ms")],
        &[("health_interval 2s", "health_interval 200ms"), ("keepalive 4s", "keepalive 400ms")],
    ];
    let mut instances = [(); 2].map(|()| Deployed::start(Duration::from_secs(1)));
    let addresses = instances.each_ref().map(Deployed::address);
    let proxies = BOTH.into_iter().zip(shorter);
    let proxies: Vec<_> = proxies.filter_map(|(recipe, shorter)| Proxy::start(recipe, addresses, shorter)).collect();
    let replacing = tokio::task::spawn_blocking(move || {
        for instance in &mut instances {
            instance.replace();
            // As the page says, until Caddy has found the new instance ready.
            std::thread::sleep(Duration::from_secs(1));
        }
        instances
    });
    let calls = proxies.iter().flat_map(|proxy| [proxy; 3]).map(async |proxy| {
        let client = proxy.client(None);
        let (mut failed, mut last) = (Vec::new(), 20);
        while last > 0 {
            last -= usize::from(replacing.is_finished());
            let response = proxy.post_by(&client, "mcp.example.com", &call("export")).send().await.unwrap();
            let (status, reply) = (response.status(), response.text().await.unwrap());
            if !reply.contains("12 orders are exported") {
                assert_eq!(status, 502, "{reply}");
                failed.push(reply);
            }
        }
        assert!(failed.len() <= addresses.len(), "{failed:?}");
    });
    join_all(calls).await;
    drop(replacing.await.unwrap());
}

/// An endpoint that runs four requests gives one caller three. The proxy says which requests are of one caller.
#[tokio::test]
async fn callers_behind_the_proxy_have_shares_of_their_own() {
    for recipe in BOTH {
        let shop = Shop::start(|endpoint| endpoint.concurrency(4).trusted_proxy(Ipv4Addr::LOCALHOST, 32));
        let Some(proxy) = Proxy::start(recipe, [shop.address(); 2], &[]) else { continue };
        let name = recipe.program;
        let [ann, bob] = [2, 3].map(|last| proxy.client(Some(IpAddr::from([127, 0, 0, last]))));
        let of = |client: &reqwest::Client, tool| proxy.post_by(client, "mcp.example.com", &call(tool)).send();
        let mut running = Vec::new();
        for _ in 0..3 {
            let mut stream = of(&ann, "report").await.unwrap();
            assert!(next(&mut stream).await.contains("halfway"), "{name}");
            running.push(stream);
        }
        // A client may write the header itself: the proxy writes another.
        let fourth = proxy.post_by(&ann, "mcp.example.com", &call("hello")).header("x-forwarded-for", "192.0.2.7");
        assert_eq!(fourth.send().await.unwrap().status(), 503, "{name}");
        assert_eq!(of(&bob, "hello").await.unwrap().status(), 200, "{name}");
    }
}

#[tokio::test]
async fn the_proxy_takes_heads_and_bodies_that_the_endpoint_takes() {
    let shop = Shop::start(|endpoint| endpoint);
    for recipe in BOTH {
        let Some(proxy) = Proxy::start(recipe, [shop.address(); 2], &[]) else { continue };
        let name = recipe.program;
        let mut large = call("hello");
        large["params"]["arguments"]["text"] = json!("x".repeat(3 << 20));
        let long = "x".repeat(15 << 10);
        let request = proxy.post("mcp.example.com", &large).header("x-trace", &long).header("x-tenant", &long);
        assert_eq!(request.send().await.unwrap().status(), 200, "{name}");
        large["params"]["arguments"]["text"] = json!("x".repeat(5 << 20));
        let status = proxy.post("mcp.example.com", &large).send().await.unwrap().status().as_u16();
        // Caddy says 502 if the instance has closed the connection before the refusal is read.
        assert!(status == 413 || (status == 502 && name == "caddy"), "{name}: {status}");
    }
}

/// The next piece of a stream.
async fn next(stream: &mut reqwest::Response) -> String {
    let piece = stream.chunk().await.expect("the stream is whole, and a piece comes in time");
    String::from_utf8(piece.expect("the stream goes on").to_vec()).unwrap()
}
