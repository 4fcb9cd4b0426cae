//! A creation whose answer is lost with the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mrtr_postgres::PostgresOptions;
use mrtr_postgres::testing::Cluster;
use mrtr_schema::Revision;
use mrtr_tasks::{End, TaskOptions, TaskStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::site::{Site, ann, call, greeting};
use crate::{connect, within_minutes};

/// The database has committed, and is gone before it says so, for longer than the store tries again: the client is told
/// of a failure, and may call again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_creation_that_a_restart_interrupted_leaves_no_task_that_no_client_knows() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let cluster = Arc::new(cluster);
    let address = cluster.fresh_database().unwrap();
    drop(connect(&address).await);
    let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let through = address.replace(&cluster.port().to_string(), &proxy.local_addr().unwrap().port().to_string());
    let stopped = Arc::new(AtomicBool::new(false));
    let (crashing, is_stopped) = (Arc::clone(&cluster), Arc::clone(&stopped));
    tokio::spawn(async move {
        while let Ok((client, _)) = proxy.accept().await {
            let Ok(server) = TcpStream::connect(("127.0.0.1", crashing.port())).await else { continue };
            let (cluster, stopped) = (Arc::clone(&crashing), Arc::clone(&is_stopped));
            tokio::spawn(async move { Box::pin(crash_after_creation(client, server, &cluster, &stopped)).await });
        }
    });
    let options = PostgresOptions::new(&through).unwrap().connections(4).listener(&address).unwrap();
    let store = Arc::new(options.connect().await.unwrap());
    let site = Site::with(Arc::clone(&store) as Arc<dyn TaskStore>, TaskOptions::default(), [greeting()]);
    let client = site.client().calling_as(ann());
    let said = within_minutes(call(&client, Revision::V2026_07_28, serde_json::Value::Null)).await;
    assert_eq!(said["error"]["code"], -32603, "{said}");
    assert!(stopped.load(Ordering::Relaxed), "it was stopped in the middle of the creation");
    let resumed = Arc::clone(&cluster);
    tokio::task::spawn_blocking(move || resumed.resume()).await.unwrap().unwrap();
    let left = within_minutes(async {
        loop {
            match store.list(None, None, 9).await {
                Ok(left) if left.iter().all(|task| task.record.ended.is_some()) => return left,
                _ => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    })
    .await;
    let ends: Vec<_> = left.iter().map(|task| task.record.ended.map(|(end, _)| end)).collect();
    assert_eq!(ends, [Some(End::Cancelled)], "it was kept, and is ended");
    let again = site.start_as(client, Revision::V2026_07_28).await;
    again.until_asked(&["name"]).await;
    site.tasks.shut_down().await;
}

/// Hands on what each says. The first answer to a creation by Ann is lost, with the database.
async fn crash_after_creation(
    mut client: TcpStream,
    mut server: TcpStream,
    cluster: &Arc<Cluster>,
    stopped: &AtomicBool,
) {
    let (mut from_client, mut from_server) = ([0; 16 * 1024], [0; 16 * 1024]);
    let mut is_creation = false;
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => match read {
                Ok(length) if length > 0 => {
                    let named = |bytes: &[u8]| bytes.windows(OF_ANN.len()).any(|part| part == OF_ANN);
                    is_creation |= named(&from_client[..length]) && !stopped.load(Ordering::Relaxed);
                    if server.write_all(&from_client[..length]).await.is_err() {
                        return;
                    }
                }
                _ => return,
            },
            read = server.read(&mut from_server) => match read {
                Ok(length) if length > 0 => {
                    // Ready for the next, and in no transaction.
                    if is_creation && from_server[..length].ends_with(b"Z\0\0\0\x05I") {
                        stopped.store(true, Ordering::Relaxed);
                        let cluster = Arc::clone(cluster);
                        tokio::task::spawn_blocking(move || cluster.stop()).await.unwrap().unwrap();
                        return;
                    }
                    if client.write_all(&from_server[..length]).await.is_err() {
                        return;
                    }
                }
                _ => return,
            },
        }
    }
}

/// The bytes that only the owner of her tasks has.
const OF_ANN: &[u8] = b"\"https://id.example.com\",\"ann\"";
