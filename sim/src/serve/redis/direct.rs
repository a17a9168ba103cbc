//! A client without a socket, for tests.

use super::busy::start;
use super::house::Outgoing;
use super::queue::Queue;
use super::visit::{Said, Servers, admit, ask};
use super::watched::Asked;
use crate::serve::servers::Connection;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", " ").trim_end().to_owned()
}

/// A client of a server.
pub struct Direct {
    servers: Servers,
    id: i64,
    connection: Connection,
    outbox: Arc<Queue<Outgoing>>,
}

impl Direct {
    /// A client of the first of these servers.
    pub fn new(servers: &Servers) -> Direct {
        let connection = servers.connect(0, None).expect("it runs");
        let outbox = Arc::new(Queue::default());
        let id = admit(servers, &connection, outbox.clone());
        Direct { servers: servers.clone(), id, connection, outbox }
    }

    /// Asks this, and waits for the reply: RESP2, with a blank for the end of a line. `None`: the server has ended.
    pub fn say(&self, words: &[&str]) -> Option<String> {
        let mut words: Vec<Bytes> = words.iter().map(|word| Bytes::from((*word).to_owned())).collect();
        let now = self.servers.now();
        let mut asked = Asked::new(&self.servers, &mut self.servers.state(), &self.connection, &words, now);
        let told = loop {
            match ask(&self.servers, &self.connection, self.id, words, &mut asked) {
                Said::Reply(told) => break Some(told),
                Said::Runs(job) => break start(&self.servers, 0, *job).blocking_recv().ok(),
                Said::Held(held) | Said::OnTheWay(held) => {
                    words = held;
                    std::thread::sleep(Duration::from_millis(1));
                }
                Said::Waits { .. } | Said::Replicas { .. } | Said::Stranger | Said::Ended => break None,
            }
        };
        told.map(|told| shown(&told.bytes))
    }

    /// What it was told that it did not ask for.
    pub fn pushed(&self) -> String {
        shown(
            &std::iter::from_fn(|| self.outbox.next_if(|_| true))
                .flat_map(|told| told.bytes)
                .collect::<Vec<u8>>(),
        )
    }

    /// Asks for this, word by word.
    pub fn line(&self, line: &str) -> String {
        self.say(&line.split(' ').collect::<Vec<_>>()).expect("it answers")
    }
}
