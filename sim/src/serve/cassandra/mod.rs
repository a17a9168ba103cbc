//! The simulated Cassandra, spoken to in CQL over its native protocol, version 4 (or 3): over real TCP (`picklock serve
//! cassandra`), or inside somebody's turmoil test.
//!
//! ```text
//!   cassandra-driver, gocql, any driver       plan of faults
//!            │ frames                               │
//!            ▼                                      ▼
//!   serve: a task per request ──▶ Servers: machines, clocks, what is wrong ──▶ a task per server: what is due
//!      statements (cql) ─▶ changes, plans of reads   │
//!      cells ◀─▶ numbers (names)                     └─▶ node: picklock_model::stores::cassandra, unchanged
//! ```
//!
//! What Cassandra is like here stands at the head of [`picklock_model::stores::cassandra`]: coordinators, replicas, timestamps,
//! tombstones, rounds of Paxos. What is added on the way:
//!
//! - A pause is felt by all connections: nobody is answered, what is sent waits. A crash resets them; so does a message that a
//!   plan loses, for TCP loses nothing from the middle of a stream. A cut link delays, as it does with TCP. While a process is
//!   down, connections to it are reset.
//! - Every request has its own consistency level, and time-outs are those of 4.1: 5 s for reads, 2 s for writes and
//!   for each round of a lightweight transaction, which gives up when it has met others for 1 s.
//! - Servers tell each other once a second that they are alive. Who was not heard of for 18 s is down for that server: what
//!   needs more replicas is refused at once (`Unavailable`). After 50 ms without an answer a read asks one replica more.
//! - The cells of a partition that lightweight transactions have written are one column of the simulator. A transaction reads
//!   the partition, and writes that column by a round of Paxos if the condition holds; if somebody came in between, it looks
//!   again. One whose condition does not hold ends with a round that writes nothing. In a race of several it waits up to a tenth
//!   of a second before it tries again, as the real one does.
//! - Deleting a row is deleting each of its cells; deleting a partition with several rows hides what is not newer. A deletion is a
//!   cell of the simulator that says so, not its tombstone: it wins as that does, and it is kept for good (`gc_grace_seconds` and
//!   `tombstone_failure_threshold` change nothing).
//! - Servers reach each other directly, half a millisecond apart, whatever network their clients come over. Plans cut those
//!   links, too; they do not slow them down.
//!
//! What differs, beside that: every server is a replica of everything, whatever the keyspace asks for (there is a warning if that
//! is another number). All servers know of a change of the schema at once. Lightweight transactions have the timestamp of their
//! first ballot. Prepared statements are known to all servers, and outlive their processes. `TRUNCATE` takes effect at once, with
//! or without all servers. Answers come whole, without pages. A partition of more than 255 cells is read in several steps.
//! `SELECT` without a partition key shows partitions in the order of their keys. All that was ever named or written is kept in
//! memory; there can be 65,279 partitions.
//!
//! Of clients that contend for one row of several servers about as many time out as beside real ones, as long as they are few: of 3 clients
//! with 20 lightweight transactions each 4 of 60 (on three nodes of 4.1.7 on the same machine 1), of 10 clients 8 of 200 (18). Of 50
//! clients far more do, 940 of 1,000 (344), and why is not known: half of the transactions of 10 take 8.7 ms here and 9.1 there.
//!
//! Left out, and refused with a sentence that begins with `not served`: `ALTER`, indexes, views, functions, types and triggers
//! of clients; collections, counters, static columns, tuples, `varint`, `decimal`, `duration`, `inet`; dates as text; conditions
//! in batches of several statements; deletions of ranges of rows; `IN` in changes; `token()`, `DISTINCT`, `GROUP BY`, `JSON`,
//! `PER PARTITION LIMIT`; compression. Left out without a word: passwords, TLS, tracing, events but those of the schema, most
//! tables of the system, paging, hints unless the settings have them.
//!
//! # A store in your own turmoil test
//!
#![cfg_attr(feature = "hosted", doc = "```no_run")]
#![cfg_attr(not(feature = "hosted"), doc = "```ignore")]
//! use picklock_sim::serve::cassandra::{Servers, serve};
//! use turmoil::net::TcpListener;
//!
//! let servers = Servers::new(3, Default::default());
//! let mut sim = turmoil::Builder::new().build();
//! for server in 0..3 {
//!     let servers = servers.clone();
//!     sim.host(format!("cassandra{server}"), move || {
//!         let servers = servers.clone();
//!         async move { match serve(&servers, server, TcpListener::bind("0.0.0.0:9042").await?).await? {} }
//!     });
//! }
//! // A client of your own, over turmoil's streams; `servers.strike(&fault)` strikes.
//! sim.run()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod change;
mod connection;
mod coordinator;
mod cql;
mod desk;
mod frame;
mod kinds;
mod names;
mod node;
mod refusal;
mod schema;
mod select;
mod session;
mod system;
mod values;

pub use super::servers::Tally;
pub use super::strike::{Felt, for_servers};
pub use connection::serve;
pub use desk::Servers;
