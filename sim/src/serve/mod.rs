//! The simulated stores for others: served in their own protocol, so that any client in any language runs against
//! pauses, wrong clocks, lost data and broken connections.

mod condition;
pub mod etcd;
mod listener;
pub mod redis;
mod servers;
mod strike;

pub use listener::Listener;
pub use servers::{Served, Servers, Tally};
pub use strike::{Felt, for_servers};
