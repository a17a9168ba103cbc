//! The locks there are, by name, with everything that the command does with a lock, and with a lock of one's own.

mod known_runs;

pub use known_runs::{KnownRun, all_known_of, faults_within, known_of, known_run, known_runs};
pub use picklock_engine::registry::*;
pub use picklock_locks::*;
