//! A state is opened once a request, whichever way the request takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mrtr_flow::Clock;
use mrtr_schema::LoggingLevel;
use mrtr_server::testing::{Client, FixedClock};
use mrtr_server::{Failure, Flow, Server, Tool};
use mrtr_state::codec::{Codec, NONCE_LENGTH, SealingKey, Subkey, XChaCha};
use mrtr_state::{Key, KeyRing, MemorySingleUse, Sealer};
use serde_json::json;

use crate::support::{client, name, three_names};

/// The default codec, which counts what it is asked to open.
#[derive(Debug, Clone, Default)]
struct Counting(Arc<AtomicUsize>);

impl Counting {
    /// The number of states opened since the last time this was called.
    fn opened(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}

impl Codec for Counting {
    fn letter(&self) -> char {
        'c'
    }

    fn with_key(&self, key: &Subkey) -> Box<dyn SealingKey> {
        Box::new(CountingKey(self.clone(), XChaCha::default().with_key(key)))
    }
}

struct CountingKey(Counting, Box<dyn SealingKey>);

impl SealingKey for CountingKey {
    fn seal(&self, nonce: &[u8; NONCE_LENGTH], header: &[u8], message: &mut Vec<u8>) {
        self.1.seal(nonce, header, message);
    }

    fn open<'a>(&self, nonce: &[u8; NONCE_LENGTH], header: &[u8], sealed: &'a mut [u8]) -> Option<&'a [u8]> {
        self.0.0.fetch_add(1, Ordering::Relaxed);
        self.1.open(nonce, header, sealed)
    }
}

/// Says something, so that a client that listens is answered with a stream, and asks three times.
async fn ask_aloud(flow: Flow) -> Result<String, Failure> {
    flow.log(LoggingLevel::Info, "looking").await;
    three_names(&flow).await
}

fn server(counting: &Counting) -> Server {
    let clock = FixedClock::default();
    let store = MemorySingleUse::new(clock.now());
    clock.advance(Duration::from_secs(1));
    let sealer = Sealer::new(KeyRing::new(Key::new("tests", [9; 32]).unwrap()), "tests").unwrap();
    Server::builder("counted", "1.0.0")
        .clock(clock)
        .sealer(sealer.codec(counting.clone()))
        .tool(Tool::new("plain", ask_aloud))
        .tool(Tool::new("once", ask_aloud).single_use(store))
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_state_is_opened_once_whether_plain_streamed_single_use_or_both() {
    let counting = Counting::default();
    let server = server(&counting);
    let hearing = |client: Client| client.hearing_logs(LoggingLevel::Debug);
    for tool in ["plain", "once"] {
        for is_streamed in [false, true] {
            let client = if is_streamed { hearing(client(&server)) } else { client(&server) };
            let mut asked = client.call_tool(tool, json!({})).await;
            assert_eq!(counting.opened(), 0, "{tool} {is_streamed}: there is nothing to open in a first round");
            for (key, answer) in [("first", "Ada"), ("second", "Byron"), ("third", "King")] {
                asked = asked.accept(key, name(answer)).send().await;
                assert_eq!(asked.notifications().len(), usize::from(is_streamed), "{tool} {key}");
                assert_eq!(counting.opened(), 1, "{tool} {is_streamed} {key}");
            }
            assert_eq!(asked.expect_text(), "Ada, Byron, King");
        }
    }
}

#[tokio::test]
async fn a_state_of_a_single_use_tool_is_opened_once_when_it_is_sent_again() {
    let counting = Counting::default();
    let server = server(&counting);
    let answered = client(&server).call_tool("once", json!({})).await.accept("first", name("Ada"));
    for _ in 0..2 {
        answered.clone().send().await;
        assert_eq!(counting.opened(), 1);
    }
}
