//! The simulated stores for others: served in their own protocol, so that any client in any language runs against
//! pauses, wrong clocks, lost data and broken connections.

mod listener;
pub mod redis;

pub use listener::Listener;
