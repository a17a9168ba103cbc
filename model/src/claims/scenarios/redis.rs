//! The rows of Redis and Redlock, and of fencing tokens.

use super::Scenario;

/// The rows, in the order of the catalogue.
pub(super) fn scenarios() -> Vec<Scenario> {
    Vec::new()
}
