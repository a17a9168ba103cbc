//! The seeded engine: one run of a lock in virtual time, and all that such a run is made of.
//!
//! ```text
//!   run ───────▶ agenda: what is due next, by (true time, sequence)
//!    │  ▲          dice: what the seed decides, one stream for each purpose
//!    │  └──────── network: each message's fate      schedule: whose messages are the faster ones
//!    ├──▶ strike: what a fault of the plan does      trigger: when one that is aimed goes off     cast: to whom
//!    ├──▶ witness, marks: the rare situations that arose
//!    └──▶ progress: whether anybody will do anything any more        outcome: what came of it
//! ```
//!
//! What a run is given (plans, and how they are drawn) is in [`plans`](crate::plans); who runs many of them in
//! [`sweep`](crate::sweep).

pub mod agenda;
pub mod cast;
pub mod dice;
pub mod marks;
pub mod network;
pub mod outcome;
pub mod progress;
pub mod run;
pub mod schedule;
mod strike;
pub mod trigger;
mod witness;
