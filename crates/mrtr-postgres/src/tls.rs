//! Connections, and how they are secured: not at all, or by rustls where the address asks for it.

use std::fmt;
use std::sync::Arc;

use deadpool_postgres::{Manager, ManagerConfig, RecyclingMethod};
use futures_util::StreamExt;
use futures_util::stream::poll_fn;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Client, Config, Error, NoTls, Socket};

#[derive(Clone)]
pub(crate) enum Tls {
    None,
    #[cfg(feature = "tls")]
    Rustls(tokio_postgres_rustls::MakeRustlsConnect),
}

/// A connection outside the pool, and the task that drives it, which ends when the connection does.
pub(crate) struct Listening {
    pub(crate) client: Client,
    pub(crate) driver: JoinHandle<()>,
}

impl Tls {
    pub(crate) fn manager(&self, config: Config) -> Manager {
        // Whether it is closed is known without asking; a statement that finds out later is sorted by its failure.
        let settings = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        match self {
            Self::None => Manager::from_config(config, NoTls, settings),
            #[cfg(feature = "tls")]
            Self::Rustls(connector) => Manager::from_config(config, connector.clone(), settings),
        }
    }

    /// Opens a connection that notes each notification.
    pub(crate) async fn listen(&self, config: &Config, heard: Arc<Notify>) -> Result<Listening, Error> {
        match self {
            Self::None => listen(config, NoTls, heard).await,
            #[cfg(feature = "tls")]
            Self::Rustls(connector) => listen(config, connector.clone(), heard).await,
        }
    }
}

async fn listen<T>(config: &Config, tls: T, heard: Arc<Notify>) -> Result<Listening, Error>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, mut connection) = config.connect(tls).await?;
    let driver = tokio::spawn(async move {
        let mut messages = poll_fn(move |context| connection.poll_message(context));
        while let Some(Ok(message)) = messages.next().await {
            if matches!(message, AsyncMessage::Notification(_)) {
                heard.notify_one();
            }
        }
    });
    Ok(Listening { client, driver })
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            #[cfg(feature = "tls")]
            Self::Rustls(_) => "Rustls",
        })
    }
}
