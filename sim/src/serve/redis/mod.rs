//! The simulated Redis, spoken to in RESP2: over real TCP (`picklock serve redis`), or inside somebody's turmoil test.
//!
//! ```text
//!   redis-cli, any Redlock library            plan of faults
//!            │ RESP2                                │
//!            ▼                                      ▼
//!   serve: a task per connection ──▶ Servers: machines, clocks, what is wrong ──▶ a task per server: what is due
//!      bytes ◀─▶ numbers (names)         │
//!      commands ─▶ steps                 └─▶ picklock_model::stores::redis, unchanged
//! ```
//!
//! What Redis is like here stands at the head of [`picklock_model::stores::redis`]. What is added on the way:
//!
//! - A pause is felt by all connections: nobody is answered, what is sent waits. A crash resets them; so does a request or
//!   reply that a plan loses, for TCP loses nothing from the middle of a stream. A cut link delays, as it does with TCP:
//!   what was sent arrives when it is whole again. While a process is down, connections to it are reset.
//! - Commands that the machine does not know are put together of those that it does, in one step. Lua is not run: the
//!   scripts of locks are known by their text.
//! - `WAIT` asks the replicas themselves how far they are, so that it returns a message's way earlier than the real one.
//! - Servers reach each other directly, half a millisecond apart, whatever network their clients come over. Plans cut
//!   those links, too; they do not slow them down.
//! - RESP3, commands without RESP (as typed into telnet), transactions, blocking commands, publish and subscribe, other types than strings: Redis's own error.
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

mod commands;
mod connection;
mod names;
mod scripts;
mod visit;
pub mod wire;

pub use super::servers::Tally;
pub use super::strike::{Felt, for_servers};
pub use connection::serve;
pub use visit::Servers;
