//! Seeded simulation of distributed locks in virtual time, and the `picklock` command.
//!
//! # Which entry point do I want?
//!
//! | I want | start at | feature |
//! |---|---|---|
//! | a `#[test]` that a lock keeps a promise in many random runs | [`testing::assert_keeps`] | |
//! | a `#[test]` that it keeps it on every schedule of a small world | [`testing::assert_verified`] | |
#![cfg_attr(feature = "strategies", doc = "| runs for proptest | [`strategies::runs`] | `strategies` |")]
#![cfg_attr(not(feature = "strategies"), doc = "| runs for proptest | `strategies::runs` | `strategies` |")]
//! | many seeds of a lock whose type I know, and a report | [`sweep::sweep`] | |
//! | a lock by its name: to sweep, check, replay or shrink it | [`registry::locks`], [`registry::AnyLock`] | |
//! | a lock or a store of my own | [`own`], [`registry::Registered`] | |
//! | the whole command over locks of my own | [`cli::main`] | `cli` (default) |
//! | a Redis, an etcd or a ZooKeeper that fails, for any client | [`serve`] | `serve` (default) |
#![cfg_attr(feature = "hosted", doc = "| a lock to hold in async code | [`hosted::Locker`] | `hosted` |")]
#![cfg_attr(not(feature = "hosted"), doc = "| a lock to hold in async code | `hosted::Locker` | `hosted` |")]
//!
//! A row without a feature needs none (`default-features = false`). The [`prelude`] has all that a test of a lock needs.
//!
//! # How it fits together
//!
//! ```text
//!   seed ──▶ plans: what goes wrong ──▶ seeded: an event heap over picklock_model's cluster ──▶ outcome: what broke
//!                                        │                                                     │
//!                                        └─▶ report: text, JSON, pictures, hash     sweep: many seeds, all cores
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

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "hosted")]
pub mod hosted;
pub mod measures;
pub mod own;
pub mod prelude;
pub mod registry;
#[cfg(feature = "serve")]
pub mod serve;
#[cfg(feature = "strategies")]
pub mod strategies;
pub mod testing;
#[cfg(all(test, any(feature = "hosted", feature = "strategies")))]
#[path = "../engine/src/toy.rs"]
mod toy;

pub use picklock_engine::{files, plans, seeded, sweep, token};

/// How a run is shown: as text, as JSON, as a hash; with the feature `report` as a picture, and with the causes of what broke.
pub mod report {
    pub use picklock_engine::report::*;
    #[cfg(feature = "report")]
    pub use picklock_report::*;
}
