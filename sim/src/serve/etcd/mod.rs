//! The simulated etcd, spoken to in gRPC, version 3 of its API: over real TCP (`picklock serve etcd`), or inside somebody's
//! turmoil test.
//!
//! ```text
//!   etcdctl, any client library               plan of faults
//!            │ HTTP/2, gRPC                         │
//!            ▼                                      ▼
//!   serve: a task per connection and call ──▶ Servers: machines, clocks, what is wrong ──▶ a task per member: what is due
//!      bytes ◀─▶ numbers in the same order (names)   │
//!      messages (pb) ─▶ operations                   └─▶ picklock_model::stores::etcd, unchanged
//! ```
//!
//! What etcd is like here stands at the head of [`picklock_model::stores::etcd`]. What is added on the way:
//!
//! - A pause is felt by all connections: nobody is answered, what is sent waits. A crash resets them; so does a message that a
//!   plan loses, for TCP loses nothing from the middle of a stream. A cut link delays, as it does with TCP. While a process is
//!   down, connections to it are reset.
//! - Limits, orders, bounds on revisions, `keys_only` and `count_only` are worked out here from the member's answer for the
//!   whole range, which shows one revision. `prev_kv` is a range in the same transaction. Transactions inside transactions, and
//!   puts that keep the value or the lease, are rehearsed: what they look at is read, and what follows is done if nothing of
//!   that has changed.
//! - A request that the member does not answer fails after seven seconds, with `etcdserver: request timed out`.
//! - `Lock` and `Election` run the recipes of etcd's own client in the member, with the caller's lease.
//! - Members reach each other directly, half a millisecond apart, whatever network their clients come over. Plans cut those
//!   links, too; they do not slow them down.
//!
//! Three things are otherwise. Before anything was compacted the real server takes a compaction at revision 0, and here it is
//! compacted already; and a watch from a negative revision is cancelled there once something was compacted, and begins
//! with now here. A transaction that puts a key, and deletes it with all from some key on (`range_end` `"\0"`), is
//! refused for its duplicate key. The real server's `checkIntervals` takes that end for a key, and lets it pass. It
//! also lets pass a transaction inside that puts a key if another one, later beside it, deletes that key: it checks puts inside only
//! against deletions that it has come to.
//!
//! Left out, and answered with the code `UNIMPLEMENTED`: users and roles, changes of membership, snapshots, hashes, moving the
//! leader, raising alarms, downgrades. Left out without a word: the JSON gateway, TLS, compression, events in fragments, and the
//! end of streams of those who ask for a leader when there is none (`WithRequireLeader`).
//!
//! # A store in your own turmoil test
//!
#![cfg_attr(feature = "hosted", doc = "```no_run")]
#![cfg_attr(not(feature = "hosted"), doc = "```ignore")]
//! use picklock_sim::serve::etcd::{Servers, serve};
//! use turmoil::net::TcpListener;
//!
//! let servers = Servers::new(3, Default::default());
//! let mut sim = turmoil::Builder::new().build();
//! for member in 0..3 {
//!     let servers = servers.clone();
//!     sim.host(format!("etcd{member}"), move || {
//!         let servers = servers.clone();
//!         async move { match serve(&servers, member, TcpListener::bind("0.0.0.0:2379").await?).await? {} }
//!     });
//! }
//! // A client of your own, over turmoil's streams; `servers.strike(&fault)` strikes.
//! sim.run()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod about;
mod connection;
mod desk;
mod election;
mod grpc;
mod intervals;
mod kv;
mod lease;
mod lock;
mod member;
mod names;
pub(crate) mod pb;
mod recipes;
mod refusal;
mod rehearsal;
mod txn;
mod uses;
mod watch;
mod wording;

pub use super::servers::Tally;
pub use super::strike::{Felt, for_servers};
pub use connection::serve;
pub use desk::Servers;

impl Servers {
    /// Where the members are, as they tell their clients (`--advertise-client-urls`), in their order.
    pub fn advertise(&self, urls: Vec<String>) {
        self.state().desk.urls = urls;
    }

    /// From now on it is kept what happens, in this file, too, if there is one. `date` is that of true time 0, in microseconds
    /// since 1970. Through these ports come clients of a trial.
    #[cfg(feature = "cli")]
    pub(crate) fn watch(
        &self,
        date: i64,
        file: Option<std::fs::File>,
        doors: std::collections::BTreeMap<u16, u8>,
    ) {
        // The date is that of true time 0, which begins here if it has not.
        let _begun = self.now();
        let record = &mut self.state().watch.record;
        record.begin(date, file);
        record.know_doors(doors);
    }
}
