//! The seeded engine: one run of any system in virtual time, decided by a seed and a fault plan; and what is done with runs.
//!
//! ```text
//!   seed ──▶ plans: what goes wrong ──▶ seeded: an event heap over picklock_model's cluster ──▶ outcome: what broke
//!                                        │                                                     │
//!                                        └─▶ report: text, JSON, pictures, hash     sweep: many seeds, all cores
//!   token: everything a run depends on ◀──── registry: what can be done with a lock whose type nobody needs to know
//! ```
//!
//! Nothing here knows a lock or a store. The same setup, plan and seed give the same run, byte for byte, in debug and release, on one
//! thread or many.

pub mod files;
pub mod plans;
pub mod registry;
pub mod report;
pub mod seeded;
pub mod sweep;
pub mod token;
#[cfg(test)]
mod toy;

// The toy lock of the renderers is compiled in their crate, too.
#[cfg(test)]
extern crate self as picklock_engine;
