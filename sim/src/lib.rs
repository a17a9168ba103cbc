//! sim
mod agenda;
pub mod dice;
pub mod fault;
pub mod network;
pub mod outcome;
pub mod plan;
mod progress;
pub mod registry;
pub mod report;
pub mod run;
mod strike;
pub mod swarm;
pub mod sweep;
pub mod token;
#[cfg(test)]
mod toy;
mod trigger;
