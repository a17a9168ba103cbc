//! Which seeds the seeded tests run: the usual ones, or those that the environment asks for.

use std::ops::Range;

/// As [`picklock_sim::testing::seeds`].
pub fn seeds(usual: u64) -> Range<u64> {
    match picklock_sim::testing::seeds(usual) {
        Ok(seeds) => seeds,
        Err(complaint) => panic!("{complaint}"),
    }
}
