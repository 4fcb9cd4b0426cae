//! How a client of the tour reaches its server: over real HTTP, through a balancer that can be pointed elsewhere, with
//! every message written down.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use async_trait::async_trait;
use mrtr::client::{
    ObservedTransport, ServerMessage, ServerNotification, Transport, TransportError, TransportRequest,
    TransportResponse, WireMessage,
};
use mrtr::schema::Printable;
use mrtr::{Client, HttpTransport, client};
use serde_json::value::RawValue;
use tokio::net::TcpStream;

use super::recording::{Actor, Event, Recording};

/// A server that can be reached.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pub(crate) at: Actor,
    pub(crate) address: SocketAddr,
    pub(crate) url: String,
}

impl Instance {
    pub(crate) fn new(at: Actor, address: SocketAddr) -> Self {
        Self { at, address, url: format!("http://{address}{}", mrtr::http::PATH) }
    }

    /// Whether nothing listens there any more. A connection may then be made from the very port that it goes to, and
    /// meet itself.
    pub(crate) async fn is_gone(&self) -> bool {
        let connected = TcpStream::connect(self.address).await;
        !connected.is_ok_and(|stream| stream.local_addr().is_ok_and(|local| local != self.address))
    }
}

/// Stands between a client and the instances of a server, as a balancer does: the client knows one server.
#[derive(Clone)]
pub(crate) struct Balancer {
    client: Actor,
    name: String,
    recording: Recording,
    target: Arc<Mutex<Target>>,
}

#[derive(Clone)]
struct Target {
    at: Actor,
    transport: Arc<dyn Transport>,
}

impl Balancer {
    pub(crate) fn new(client: Actor, first: &Instance, recording: Recording) -> Result<Self> {
        let target = Arc::new(Mutex::new(target(client, first, recording.clone())?));
        Ok(Self { client, name: first.url.clone(), recording, target })
    }

    /// Begins a client that talks to this.
    pub(crate) fn client(&self) -> client::Builder {
        Client::builder(self.clone()).info("mrtr-tour", env!("CARGO_PKG_VERSION"))
    }

    /// Sends what comes next to another instance.
    pub(crate) fn point_to(&self, instance: &Instance) -> Result<()> {
        let target = target(self.client, instance, self.recording.clone())?;
        *self.target.lock().unwrap_or_else(PoisonError::into_inner) = target;
        Ok(())
    }
}

/// An instance over HTTP, with what goes over the wire written down.
fn target(client: Actor, instance: &Instance, recording: Recording) -> Result<Target> {
    let at = instance.at;
    let observed =
        ObservedTransport::new(HttpTransport::new(&instance.url)?, move |seen: WireMessage<'_>| match seen {
            WireMessage::Request(text) | WireMessage::OneWay(text) => recording.message(client, at, text),
            WireMessage::Response(text) => recording.message(at, client, text),
            WireMessage::Notification(notification) => recording.message(at, client, &text_of(notification)),
            // The tour's servers are modern, and ask in their responses; what failed is noted by the exchange.
            WireMessage::Question(_) | WireMessage::Failure(_) => {}
        });
    Ok(Target { at, transport: Arc::new(observed) })
}

/// A notification as it came: the client has taken it apart.
fn text_of(notification: &ServerNotification) -> String {
    let params: &RawValue = notification.params.as_raw();
    format!(r#"{{"jsonrpc":"2.0","method":{:?},"params":{params}}}"#, notification.method)
}

#[async_trait]
impl Transport for Balancer {
    fn server(&self) -> &str {
        &self.name
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        on_message: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        let Target { at, transport } = self.target.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let exchanged = transport.exchange(request, on_message).await;
        if let Err(error) = &exchanged {
            let why = Printable::line(&error.to_string()).to_string();
            self.recording.add(Event::Lost { from: at, to: self.client, why });
        }
        exchanged
    }
}

impl fmt::Debug for Balancer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Balancer").field("name", &self.name).finish_non_exhaustive()
    }
}
