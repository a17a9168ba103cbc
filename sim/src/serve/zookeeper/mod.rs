//! The simulated ZooKeeper, spoken to in its own client protocol (jute records over TCP): over real TCP (`picklock serve
//! zookeeper`), or inside somebody's turmoil test.
//!
//! ```text
//!   kazoo, Curator, any client               plan of faults
//!            │ frames of jute records               │
//!            ▼                                      ▼
//!   serve: tasks per connection ──▶ Servers: machines, clocks, what is wrong ──▶ a task per server: what is due
//!      paths and data ◀─▶ numbers (names)   │
//!      requests ─▶ operations (operation)   └─▶ picklock_model::stores::zookeeper
//! ```
//!
//! What ZooKeeper is like here stands at the head of [`picklock_model::stores::zookeeper`]. What is added on the way:
//!
//! - A pause is felt by all connections: nobody is answered, what is sent waits. A crash resets them; so does a message that a
//!   plan loses, for TCP loses nothing from the middle of a stream. A cut link delays, as it does with TCP. While a process is
//!   down, connections to it are reset.
//! - Requests of a session are run one after the other, in the order in which they came. All that a client sends is a sign of
//!   life when it arrives, though an earlier request waits.
//! - A session that goes on on another connection takes no more changes on the old one, whatever waits there for a server that
//!   was paused: that connection is closed (SESSIONMOVED).
//! - Sessions have their timeout between 4 and 40 s, as with a `tickTime` of 2 s, or what [`Servers::bound_sessions`] says.
//! - Watches that a client sets again (`setWatches`) are set by reads, in one step, or fire at once.
//! - Dates in stats are the leader's, of the moment at which a server first told of the transaction.
//! - Servers reach each other directly, half a millisecond apart, whatever network their clients come over. Plans cut those
//!   links, too; they do not slow them down. What is said over such a link while it is cut is lost, where TCP would deliver it
//!   later: a request that a follower passes on then is never answered, and neither is what its client sends behind it, until
//!   that gives the connection up.
//! - A leader is missed after the time that [`Settings::election`] says, also if its process has ended: the real one's peers see
//!   the end of the connection at once.
//!
//! What differs, beside that: `/zookeeper`, with `config` and `quota` below it, can be looked at, but not written, and nothing can be
//! created there; containers stay when they are empty; 256 sessions at a time at most; more than 255 changes in one `multi` are refused. A path that is no path
//! is `BadArguments`, also where the real server first misses its parent. Names and data are kept in memory for good.
//!
//! Left out, and answered with an error of ZooKeeper's own:
//!
//! | asked for | answer |
//! |---|---|
//! | access lists but `world:anyone` with all permissions | `InvalidACL`: they would not be kept. `addauth digest` is accepted, and changes nothing; `setACL` of an open list changes nothing, not even the list's version |
//! | znodes with a time to live | `Unimplemented`, as of the real server, where that is off by default |
//! | persistent watches (`addWatch`) | `Unimplemented` |
//! | `reconfig` | `ReconfigDisabled`, as of the real server, likewise |
//! | SASL, and types of requests that there are not | `Unimplemented`, and the end of the connection |
//!
//! Left out without a word: TLS, quotas, read-only mode, most words of four letters (there are `ruok`, `srvr`, `stat`, `mntr`,
//! `isro`; what they count is of all servers together), the admin server.
//!
//! # A store in your own turmoil test
//!
#![cfg_attr(feature = "hosted", doc = "```no_run")]
#![cfg_attr(not(feature = "hosted"), doc = "```ignore")]
//! use picklock_sim::serve::zookeeper::{Servers, serve, settings};
//! use turmoil::net::TcpListener;
//!
//! let servers = Servers::new(3, settings());
//! let mut sim = turmoil::Builder::new().build();
//! for server in 0..3 {
//!     let servers = servers.clone();
//!     sim.host(format!("zookeeper{server}"), move || {
//!         let servers = servers.clone();
//!         async move { match serve(&servers, server, TcpListener::bind("0.0.0.0:2181").await?).await? {} }
//!     });
//! }
//! // A client of your own, over turmoil's streams; `servers.strike(&fault)` strikes.
//! sim.run()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod connection;
mod conversation;
mod desk;
mod jute;
mod names;
mod operation;
mod request;
mod reserved;
mod words;

pub use super::servers::Tally;
pub use super::strike::{Felt, for_servers};
pub use connection::serve;
pub use desk::Servers;

use picklock_model::stores::zookeeper::{Election, Settings};
use picklock_model::time::Micros;

/// Servers as they are served: there is nothing but the root in the tree, followers give a leader up after two seconds of
/// silence, and all else is as it is by default.
pub fn settings() -> Settings {
    let election = Election { heartbeat: Micros::millis(500), timeout: Micros::seconds(2) };
    Settings { election: Some(election), starts_empty: true, ..Settings::default() }
}
