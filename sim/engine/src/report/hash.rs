//! One number for a whole run: equal runs have equal hashes, in every build and on every machine.

use picklock_model::system::System;
use picklock_model::trace::{Observer, Step};
use postcard::ser_flavors::Flavor;
use serde::Serialize;
use std::fmt::{Display, Formatter};

/// FNV-1a, 64 bits, over the postcard bytes of time, happening and events of every step.
///
/// Not a safe hash and not meant as one: it tells runs apart that differ by accident. What is hashed is what happened, not
/// how it is shown, so that a better renderer changes no hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceHash(u64);

impl TraceHash {
    /// The hash as a number; `Display` prints the same as 16 hexadecimal digits.
    pub fn value(self) -> u64 {
        self.0
    }

    /// Takes in what was seen next.
    pub fn add<T: Serialize>(&mut self, seen: &T) {
        *self = postcard::serialize_with_flavor(seen, *self)
            .unwrap_or_else(|error| unreachable!("plain data serialises, and a hash is never full: {error}"));
    }
}

impl Default for TraceHash {
    /// The hash of a run in which nothing happened yet.
    fn default() -> Self {
        TraceHash(0xcbf2_9ce4_8422_2325)
    }
}

impl Display for TraceHash {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl<Y: System> Observer<Y> for TraceHash {
    fn observe(&mut self, step: &Step<Y>) {
        self.add(&(step.at, step.happening, &step.effects.events));
    }
}

/// The bytes go straight into the hash: a step allocates nothing.
impl Flavor for TraceHash {
    type Output = TraceHash;

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<TraceHash> {
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::toy;

    fn hash_of(run: impl FnOnce(&mut TraceHash)) -> TraceHash {
        let mut hash = TraceHash::default();
        run(&mut hash);
        hash
    }

    #[test]
    fn the_hash_is_fnv_1a_as_published() {
        let mut hash = TraceHash::default();
        hash.try_extend(b"foobar").unwrap();
        assert_eq!(hash.to_string(), "85944171f73967e8");
    }

    #[test]
    fn the_same_run_has_the_same_hash_and_another_run_another() {
        assert_eq!(hash_of(toy::overlap), hash_of(toy::overlap));
        assert_ne!(hash_of(toy::overlap), hash_of(toy::patience));
    }

    #[test]
    fn a_hash_prints_as_sixteen_digits() {
        assert_eq!(TraceHash(0x1f).to_string(), "000000000000001f");
    }
}
