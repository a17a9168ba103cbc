//! The simulated Redis, spoken to in RESP2 or RESP3: over real TCP (`picklock serve redis`), or inside somebody's turmoil test.
//!
//! ```text
//!   redis-cli, any client or lock library     plan of faults
//!            │ RESP2, RESP3                         │
//!            ▼                                      ▼
//!   serve: a task per connection ──▶ Servers: machines, clocks, what is wrong ──▶ a task per server: what is due
//!      request, reply                    │
//!      commands, lua ─▶ steps            └─▶ store: keys, lives, disk, replicas
//! ```
//!
//! What is stored, and how it is lost, is `store`'s: a machine of its own, with the behaviour of
//! [`picklock_model::stores::redis`] where that has one. What is added on the way:
//!
//! - A pause is felt by all connections: nobody is answered, what is sent waits. It is run after the pause, also if who sent
//!   it has hung up: a lock may be taken for nobody. A crash resets connections; so does a request or reply that a plan
//!   loses, for TCP loses nothing from the middle of a stream. A cut link delays, as it does with TCP: what was sent arrives
//!   when it is whole again. While a process is down, connections to it are reset.
//! - Messages are on their way together: the latency of a link is that of all of them, not the sum.
//! - Each command, transaction and script is one step. Lua is Lua (`lua` says what its scripts have and have not). Of a
//!   script that takes too long only its own server is busy (`busy`); but one that stays within a single function of Lua's own,
//!   as `string.find` may with a hostile pattern, holds all of them up, where it would hold up one real server.
//! - `WAIT` asks the replicas themselves how far they are, so that it returns a message's way earlier than the real one.
//! - Servers reach each other directly, half a millisecond apart, whatever network their clients come over. Plans cut
//!   those links, too; they do not slow them down.
//! - A command of the real server that is not here is refused in the real server's words for an unknown one, and named once
//!   in [`Servers::take_notices`].
//!
//! - Replicated servers answer `SENTINEL`, each as a Sentinel on its machine would.
//!
//! Left out: streams, geo, HyperLogLog, access lists, cluster, modules, `CLIENT PAUSE`, `CLIENT TRACKING`, `MONITOR`, of bitmaps
//! all but `SETBIT`, `GETBIT` and `BITCOUNT`, and some more that `commands/table.rs` names.
//! Published messages stay on their server. Replicas tell of no events of keys, and nobody of misses (`m`).
//! `INCRBYFLOAT` and `HINCRBYFLOAT` count with 64 bits where the real server has 80: later digits differ, and so does what overflows.
//! Functions are not on disk and not on replicas. `CONFIG SET` is remembered and has no effect, but for
//! `busy-reply-threshold`, `min-replicas-to-write`, `notify-keyspace-events`, `client-output-buffer-limit` of subscribers, and a
//! `maxmemory` below what an empty server takes, with its `maxmemory-policy`. Who is told more than 32 MB that it does not read
//! has its next command run when it has read some of that; the real server goes on, and keeps what it says. A subscriber that
//! falls behind for long is closed when the next message comes for it, not in between. Addresses of clients in `CLIENT LIST` are made up.
//!
//! # A store in your own turmoil test
//!
#![cfg_attr(feature = "hosted", doc = "```")]
#![cfg_attr(not(feature = "hosted"), doc = "```ignore")]
//! use picklock_model::time::Micros;
//! use picklock_sim::plans::plan::{Fault, Target};
//! use picklock_sim::serve::redis::{Servers, serve};
//! use redis::{RedisConnectionInfo, aio::MultiplexedConnection};
//! use std::sync::LazyLock;
//! use turmoil::net::{TcpListener, TcpStream};
//!
//! static INFO: LazyLock<RedisConnectionInfo> = LazyLock::new(Default::default);
//! let servers = Servers::new(1, Default::default());
//! let mut sim = turmoil::Builder::new().build();
//! let hosted = servers.clone();
//! sim.host("redis", move || {
//!     let servers = hosted.clone();
//!     async move { match serve(&servers, 0, TcpListener::bind("0.0.0.0:6379").await?).await? {} }
//! });
//! sim.client("application", async move {
//!     let stream = TcpStream::connect("redis:6379").await?;
//!     let (mut connection, io) = MultiplexedConnection::new(&INFO, stream).await?;
//!     let io = tokio::spawn(io);
//!     let taken: Option<String> =
//!         redis::cmd("SET").arg(&["lock", "mine", "NX", "PX", "1000"]).query_async(&mut connection).await?;
//!     assert_eq!(taken.as_deref(), Some("OK"));
//!     // The server's clock jumps ahead, and the key is gone before its time.
//!     servers.strike(&Fault::ClockStep { node: Target::Server(0), by: Micros::seconds(2) });
//!     let holder: Option<String> = redis::cmd("GET").arg("lock").query_async(&mut connection).await?;
//!     assert_eq!(holder, None);
//!     io.abort();
//!     Ok(())
//! });
//! sim.run()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod busy;
mod commands;
mod connection;
#[cfg(test)]
mod direct;
mod events;
mod glob;
mod house;
mod limits;
mod lua;
mod numbers;
mod queue;
mod reply;
mod request;
mod stats;
mod store;
mod turn;
mod visit;
mod watched;
pub mod wire;

pub use super::servers::Tally;
pub use super::strike::{Felt, for_servers};
pub use connection::serve;
#[cfg(test)]
pub(crate) use store::Instance;
pub use store::Settings;
pub use visit::Servers;
