//! Seeded simulation of distributed locks in virtual time, and the `picklock` command.
//!
//! ```text
//!   seed ──▶ swarm: a fault plan ──▶ run: an event heap over picklock_model's cluster ──▶ outcome: what broke
//!                                     │                                                     │
//!                                     └─▶ observers: text trace, JSON, hash      sweep: many seeds, all cores
//!   token: everything a run depends on ◀──── registry: the locks, by name ────▶ cli (in the binary)
//! ```
//!
//! Time costs nothing here: a lease of minutes is a number in a heap. The same setup, plan and seed give the same run,
//! byte for byte, in debug and release, on one thread or many.
//!
//! # Example
//!
//! Does a pause break the queue lock as it is written?
//!
//! ```
//! use picklock_properties::Promise;
//! use picklock_sim::registry::{SweepHow, locks};
//! use std::sync::atomic::AtomicBool;
//!
//! let lock = locks().into_iter().find(|lock| lock.name() == "cassandra-queue").expect("it is registered");
//! let stop = AtomicBool::new(false);
//! let how = SweepHow { sought: Some(Promise::MutualExclusion), ..SweepHow::new(&|_| {}, &stop) };
//! let report = lock.sweep(&lock.setup(None), "pause".parse()?, 0..1_000, &how)?;
//! assert!(report.first_seed(Promise::MutualExclusion).is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agenda;
pub mod bench;
mod cast;
#[cfg(feature = "cli")]
pub mod cli;
pub mod dice;
pub mod fault;
pub mod guided;
pub mod herd;
#[cfg(feature = "hosted")]
pub mod hosted;
pub mod marks;
pub mod network;
pub mod outcome;
pub mod own;
pub mod pins;
pub mod plan;
mod progress;
pub mod registry;
pub mod report;
pub mod run;
pub mod schedule;
#[cfg(feature = "serve")]
pub mod serve;
pub mod shrink;
#[cfg(feature = "strategies")]
pub mod strategies;
pub mod strategy;
mod strike;
pub mod swarm;
pub mod sweep;
pub mod token;
#[cfg(test)]
mod toy;
mod trigger;
pub mod varied;
mod witness;
