//! The lock on the store with feedback.

use super::Cell;

/// The verdicts that differ from "holds".
pub(super) const CELLS: &[Cell] = &[];
