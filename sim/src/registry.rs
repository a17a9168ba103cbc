//! The locks there are, by name, with everything that the command does with a lock, and with a lock of one's own.

pub use picklock_engine::registry::*;
pub use picklock_locks::*;
