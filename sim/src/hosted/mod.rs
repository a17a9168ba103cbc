//! The hosted engine.

pub mod lease;

/// What [`lease`] is built of.
mod sync {
    pub use std::sync::Mutex;
    pub use std::sync::atomic::{AtomicU64, Ordering};
}
