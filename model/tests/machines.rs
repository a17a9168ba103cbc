//! Machines, stores and the exhaustive engine. One program, and beside the locks' crate: the engine has been compiled there for each lock,
//! and the compiler takes it from there.

use picklock_locks as _;

mod access;
mod both_at_once;
mod canonical;
mod explorer;
mod liveness;
mod lock_manager;
mod objects;
mod objects_on_stores;
mod seams;
mod shared_locks;
mod zookeeper;

/// Whether spaces are to be explored that take a minute or gigabytes.
fn is_long() -> bool {
    std::env::var_os("PICKLOCK_LONG").is_some()
}
