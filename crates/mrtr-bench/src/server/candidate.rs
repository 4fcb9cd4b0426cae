//! Who is measured: each serves the same tools, in a process of its own.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Result;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use clap::ValueEnum;
use mrtr_http::{Endpoint, Serve};
use serde::Serialize;
use tokio::net::TcpListener;

use super::exchange::{Exchange, PATH};
use crate::tracker;

/// Who is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Candidate {
    /// A handler that returns bytes that it has: the floor.
    Bare,
    /// Ours, in an axum router.
    Axum,
    /// Ours, on hyper alone.
    Hyper,
}

impl Candidate {
    pub(crate) const ALL: [Self; 3] = [Self::Bare, Self::Axum, Self::Hyper];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare axum",
            Self::Axum => "mrtr on axum",
            Self::Hyper => "mrtr on hyper",
        }
    }

    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::Axum | Self::Hyper)
    }

    /// Serves until the process ends.
    pub(crate) async fn serve(self, port: u16) -> Result<()> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        match self {
            Self::Bare => Ok(axum::serve(TcpListener::bind(address).await?, bare().await?).await?),
            Self::Axum => {
                let router = mrtr_http::router(tracker::server()?);
                Ok(axum::serve(TcpListener::bind(address).await?, router).await?)
            }
            Self::Hyper => {
                let bound = Serve::new(Endpoint::anonymous(tracker::server()?)).bind(address)?;
                Ok(bound.run(std::future::pending()).await?)
            }
        }
    }
}

/// Returns what our server answers, whatever it is sent: one path an exchange.
async fn bare() -> Result<axum::Router> {
    let mut router = axum::Router::new();
    for exchange in Exchange::ALL {
        let reply = Bytes::from(tracker::reply_to(exchange).await?);
        let handler = move |_: Bytes| async move { ([(CONTENT_TYPE, "application/json")], reply) };
        router = router.route(&format!("{PATH}/{}", exchange.tag()), post(handler));
    }
    Ok(router)
}
