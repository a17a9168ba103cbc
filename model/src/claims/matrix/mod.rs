//! What the matrix is expected to show, and why: the verdicts that are not "holds".
//!
//! A promise that is known to break but is not seen to break in a thousand random runs is expected to be kept here: the
//! matrix says what such runs show, the catalogue (`super::scenarios`) what is true.

mod cassandra;
mod cassandra_lwt;
mod cassandra_services;
mod cassandra_shadow;
mod feedback;
mod redis;
mod zookeeper;

use super::Expected;
use picklock_properties::Promise;

/// One expected verdict of the matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    /// Name of the lock.
    pub lock: &'static str,
    /// Name of the fault.
    pub fault: &'static str,
    /// The promise.
    pub promise: Promise,
    /// What is expected.
    pub expected: Expected,
    /// Why.
    pub reason: &'static str,
}

const fn broken(lock: &'static str, fault: &'static str, promise: Promise, reason: &'static str) -> Cell {
    Cell { lock, fault, promise, expected: Expected::Violated, reason }
}

/// The verdicts that differ from "holds", by family of locks.
pub const MATRIX: [&[Cell]; 7] = [
    cassandra::CELLS,
    cassandra_shadow::CELLS,
    cassandra_services::CELLS,
    cassandra_lwt::CELLS,
    redis::CELLS,
    zookeeper::CELLS,
    feedback::CELLS,
];

/// The entry for a lock under a fault, if there is one.
pub fn known_cell(lock: &str, fault: &str, promise: Promise) -> Option<&'static Cell> {
    let is_it = |cell: &&Cell| cell.lock == lock && cell.fault == fault && cell.promise == promise;
    MATRIX.into_iter().flatten().find(is_it)
}

/// What is expected of a lock under a fault: the entry in [`MATRIX`], or that the promise is kept.
pub fn expected_cell(lock: &str, fault: &str, promise: Promise) -> Expected {
    known_cell(lock, fault, promise).map_or(Expected::Holds, |cell| cell.expected)
}
