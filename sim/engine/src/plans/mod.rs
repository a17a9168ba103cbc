//! Fault plans: what goes wrong in a run, how that is drawn from a seed, and how it is made small again.
//!
//! ```text
//!   seed ──▶ strategy: swarm, or guided by what earlier runs met ──▶ plan: faults at times, or aimed with triggers
//!     └────▶ varied: who works how long in this run                    │
//!                                                     pins: at which step each aimed one went off
//!                                                     shrink: as little of it as still breaks the promise
//! ```

pub mod fault;
pub mod guided;
pub mod pins;
pub mod plan;
pub mod shrink;
pub mod strategy;
pub mod swarm;
pub mod varied;
