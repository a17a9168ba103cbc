//! The Redis locks.
