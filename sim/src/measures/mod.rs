//! What locks cost, in numbers: throughput and waiting under contention, and whom a release wakes.

pub mod bench;
pub mod herd;
