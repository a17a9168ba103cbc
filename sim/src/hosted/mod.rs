//! The hosted engine: the machines of `picklock_model`, unchanged, each owned by one tokio task with sockets and timers.
//!
//! ```text
//!           calls ──▶ ┌──────── Driver ────────┐ ◀── deadlines, by the node's own clocks (NodeClock)
//!  inbox: who says what │ one Machine, one task │
//!        ┌───────────▶ └────────────────────────┘ ──▶ Record: what happened, for the monitors
//!        │                        │ Post: what the machine wants sent
//!   Connections: a task per connection; dials, accepts, pings, dials again
//!        └── Transport: turmoil's sockets (hosted::turmoil), or real ones (Tcp)
//! ```
//!
//! The order of things and the time they take are the runtime's and the network's, not ours. What a lost connection
//! means is the machine's affair: to whom nothing is answered, the outcome is unknown, and its own deadline comes.
//!
//! The same machines run on the seeded engine ([`crate::seeded::run`]) some hundred times faster. Here is what that one cannot
//! show: connections that break and are made again, one stream per connection in which nothing overtakes anything, an
//! operating system that goes on talking for a process that hangs, timers that fire late.

pub mod connections;
pub mod driver;
pub mod etcd_client;
pub mod lease;
pub mod locker;
pub mod node;
pub mod redis_client;
pub mod simulated;
pub mod store;
mod thread;
pub mod transport;
pub mod turmoil;
mod wire;

#[cfg(test)]
mod tests;

pub use connections::{Connections, Patience};
pub use driver::{
    Driver, Inbox, Letter, NodeClock, Post, Record, Recorded, SinceStart, Slot, TrueTime, Turn,
};
pub use etcd_client::EtcdConnections;
pub use locker::{Client, Guard, LockError, Locker, ReleaseOutcome};
pub use node::{ClientNode, Machine, Reading, ResourceNode, ServerNode};
pub use redis_client::{Names, RedisConnections};
pub use simulated::Simulated;
pub use store::host_store;
pub use transport::{Tcp, Transport};

/// What [`lease`] is built of.
mod sync {
    pub use std::sync::Mutex;
    pub use std::sync::atomic::{AtomicU64, Ordering};
}
