//! Lock algorithms and the stores they live on, as deterministic machines, and the engine that tries every schedule.
//!
//! ```text
//!   locks/*  one algorithm per file ──┐                                  ┌── stores/*  one store per folder
//!                                     ├── machine: the seam, no I/O ──┤
//!   workload: who uses the lock ──────┘                                  └── time: clocks that err
//!   objects/*  what is built on compare-and-set, with its clients
//!   managed/*  processes that use a lock manager: locks that are converted while they are held
//!                          system: what all engines run: a lock in use, or an object
//!                          cluster: nodes, clocks, monitors; one step of one node
//!            world: what can happen next ──▶ canonical: when two worlds are one ──▶ explore: all of them
//!   claims: theorems, scenarios, the expected matrix, as data          trace: what happened, for who watches
//! ```
//!
//! # Example
//!
//! Theorem 1 of the Cassandra queue lock for two threads, and the same with one assumption dropped:
//!
//! ```
//! use picklock_model::claims::{Assumption, cassandra};
//! use picklock_model::explore::{Limits, Verdict, search};
//! use picklock_model::workload::Calls;
//! use picklock_properties::Promise;
//!
//! let mut space = cassandra::queue_lock(2, 1, Calls::Lock, &[Promise::Theorem1]);
//! assert_eq!(search(&space, &Limits::states(10_000)).verdict, Verdict::Verified);
//!
//! cassandra::drop_from_queue_lock(&mut space, Assumption::UniqueIds);
//! let Verdict::Violated { path, .. } = search(&space, &Limits::states(10_000)).verdict else {
//!     panic!("two threads with one id share a record");
//! };
//! assert_eq!(path.len(), 18);
//! ```

mod canonical;
pub mod claims;
pub mod cluster;
pub mod explore;
mod few;
pub mod locks;
pub mod machine;
pub mod managed;
pub mod names;
pub mod objects;
pub mod panics;
pub mod stores;
pub mod system;
pub mod time;
pub mod trace;
pub mod workload;
pub mod world;
