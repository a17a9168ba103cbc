//! What is known of the cells of the matrix, and why: which break, which are believed to be kept, which are verified.
//!
//! It says what is true, not what some number of seeds shows: a cell that is known to break breaks, though a thousand runs may
//! not meet it, and a cell of which nothing is said here may turn out either way. Only where a promise is said to be kept, and a
//! run breaks it, is the run a surprise.

mod cassandra;
mod cassandra_lwt;
mod cassandra_services;
mod cassandra_shadow;
mod chubby;
mod dlm;
mod etcd;
mod feedback;
mod objects;
mod redis;
mod zookeeper;

use super::Assumption;
use picklock_properties::Promise;

/// One cell of which something is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    /// Name of the lock, or of the object.
    pub lock: &'static str,
    /// Name of the fault.
    pub fault: &'static str,
    /// The promise.
    pub promise: Promise,
    /// What is known.
    pub known: Known,
    /// Why.
    pub reason: &'static str,
}

/// What is known of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// The fault breaks the promise.
    Broken,
    /// It is believed not to.
    Kept,
    /// It does not, in the whole space of this theorem without these assumptions: a smaller world than the matrix runs.
    Verified {
        /// The theorem's name.
        theorem: &'static str,
        /// What was dropped.
        dropped: &'static [Assumption],
    },
}

impl Cell {
    /// The rows of the catalogue that the reason names, as it names them: `R3, R10`.
    pub fn rows(&self) -> Option<&'static str> {
        let rest = self.reason.split_once("(row ").or_else(|| self.reason.split_once("(rows "))?.1;
        rest.split_once(')').map(|(rows, _)| rows)
    }
}

const fn broken(lock: &'static str, fault: &'static str, promise: Promise, reason: &'static str) -> Cell {
    Cell { lock, fault, promise, known: Known::Broken, reason }
}

const fn kept(lock: &'static str, fault: &'static str, promise: Promise, reason: &'static str) -> Cell {
    Cell { lock, fault, promise, known: Known::Kept, reason }
}

const fn verified(
    lock: &'static str,
    fault: &'static str,
    promise: Promise,
    theorem: &'static str,
    dropped: &'static [Assumption],
    reason: &'static str,
) -> Cell {
    Cell { lock, fault, promise, known: Known::Verified { theorem, dropped }, reason }
}

/// Every cell of which something is known, by family of locks; and of objects.
pub const MATRIX: [&[Cell]; 11] = [
    cassandra::CELLS,
    cassandra_shadow::CELLS,
    cassandra_services::CELLS,
    cassandra_lwt::CELLS,
    redis::CELLS,
    zookeeper::CELLS,
    feedback::CELLS,
    objects::CELLS,
    dlm::CELLS,
    chubby::CELLS,
    etcd::CELLS,
];

/// What is known of a lock under a fault, if anything.
pub fn known_cell(lock: &str, fault: &str, promise: Promise) -> Option<&'static Cell> {
    let is_it = |cell: &&Cell| cell.lock == lock && cell.fault == fault && cell.promise == promise;
    MATRIX.into_iter().flatten().find(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::{Expected, claims, scenarios};

    fn cells() -> impl Iterator<Item = &'static Cell> {
        MATRIX.into_iter().flatten()
    }

    #[test]
    fn of_a_cell_only_one_thing_is_known() {
        for cell in cells() {
            let (lock, fault, promise) = (cell.lock, cell.fault, cell.promise);
            assert_eq!(
                known_cell(lock, fault, promise),
                Some(cell),
                "{lock} {fault} {promise} is there twice"
            );
        }
    }

    #[test]
    fn every_row_that_a_cell_names_is_in_the_catalogue() {
        let rows = scenarios();
        for name in cells().filter_map(Cell::rows).flat_map(|rows| rows.split(", ")) {
            assert!(rows.iter().any(|row| row.id == name), "there is no row {name}");
        }
    }

    #[test]
    fn what_is_said_to_be_verified_is_kept_in_the_space_of_a_claim() {
        for cell in cells() {
            let Known::Verified { theorem, dropped } = cell.known else { continue };
            let is_it = |claim: &crate::claims::Claim| {
                claim.theorem == theorem && claim.dropped == dropped && claim.space.lock == cell.lock
            };
            let found: Vec<Expected> =
                claims().iter().filter(|claim| is_it(claim)).map(|claim| claim.expected).collect();
            assert!(
                // Where no assumption is put to the test, the promise is still kept in every run.
                !found.is_empty() && found.iter().all(|expected| *expected != Expected::Violated),
                "{theorem} without {dropped:?} about {}: {found:?}",
                cell.lock
            );
        }
    }
}
