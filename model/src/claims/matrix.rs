//! What the matrix is expected to show, and why.

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

/// The verdicts that differ from "holds".
pub const MATRIX: &[Cell] = &[];

/// What is expected of a lock under a fault: the entry in [`MATRIX`], or that the promise is kept.
pub fn expected_cell(lock: &str, fault: &str, promise: Promise) -> Expected {
    MATRIX
        .iter()
        .find(|cell| cell.lock == lock && cell.fault == fault && cell.promise == promise)
        .map_or(Expected::Holds, |cell| cell.expected)
}
