//! Machines, stores and the exhaustive engine. One program, so that the engine is compiled once for each lock that these tests take.

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
