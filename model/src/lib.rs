//! Lock algorithms and the stores they live on, as deterministic machines.
mod canonical;
pub mod claims;
pub mod cluster;
pub mod explore;
pub mod locks;
pub mod machine;
pub mod stores;
pub mod time;
pub mod trace;
pub mod workload;
pub mod world;
