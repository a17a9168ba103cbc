//! The simulated stores for others: served in their own protocol, so that any client in any language runs against
//! pauses, wrong clocks, lost data and broken connections.

pub mod cassandra;
mod condition;
pub mod etcd;
mod listener;
mod process;
pub mod redis;
mod servers;
mod strike;
#[cfg(feature = "cli")]
mod trial;
#[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "only the command looks"))]
pub(crate) mod watch;
pub mod zookeeper;

#[cfg(feature = "cli")]
pub(crate) use listener::Doors;
pub use listener::Listener;
pub use servers::{Served, Servers, Tally};
pub use strike::{DRIFT_PPM_MIN, Felt, for_servers, over_tcp};
#[cfg(feature = "cli")]
pub(crate) use trial::{for_trial, is_aimed};
