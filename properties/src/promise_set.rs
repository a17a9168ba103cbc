//! A set of promises, as small as a set can be: it is part of every state.

use crate::Promise;
use serde::{Deserialize, Serialize};

/// A set of promises; bit *n* stands for `Promise::ALL[n]`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct PromiseSet(u32);

impl PromiseSet {
    /// The set without members.
    pub const EMPTY: PromiseSet = PromiseSet(0);

    /// Every promise there is.
    pub const ALL: PromiseSet = PromiseSet((1 << Promise::ALL.len()) - 1);

    /// What a run watches unless it is told otherwise: what everybody expects of a lock.
    pub fn usual() -> PromiseSet {
        use Promise::*;
        [MutualExclusion, FencedResource, DeadlockFreedom, StarvationFreedom, LeaseLoss].into_iter().collect()
    }

    /// The promises of a lock that a finite history can break: those that have a [`Monitor`](crate::Monitor) among the
    /// [`Monitors`](crate::Monitors).
    pub fn safety() -> PromiseSet {
        let is_safety = |promise: &Promise| !promise.is_liveness() && !promise.is_of_objects();
        Promise::ALL.into_iter().filter(is_safety).collect()
    }

    /// The promises of shared objects: those that [`ObjectMonitors`](crate::ObjectMonitors) judge. A finite history can break each.
    pub fn objects() -> PromiseSet {
        Promise::ALL.into_iter().filter(|promise| promise.is_of_objects()).collect()
    }

    /// The promises that only an infinite history can break: those judged on cycles.
    pub fn liveness() -> PromiseSet {
        Promise::ALL.into_iter().filter(|promise| promise.is_liveness()).collect()
    }

    /// Adds a promise; adding it twice changes nothing.
    pub fn insert(&mut self, promise: Promise) {
        self.0 |= bit(promise);
    }

    /// Whether `promise` is a member.
    pub fn contains(self, promise: Promise) -> bool {
        self.0 & bit(promise) != 0
    }

    /// The members of either set.
    #[must_use]
    pub fn union(self, other: PromiseSet) -> PromiseSet {
        PromiseSet(self.0 | other.0)
    }

    /// The members of both sets.
    #[must_use]
    pub fn intersection(self, other: PromiseSet) -> PromiseSet {
        PromiseSet(self.0 & other.0)
    }

    /// Whether there is no member.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many members there are.
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// The members, in the order of every table.
    pub fn iter(self) -> impl Iterator<Item = Promise> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let next = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            Promise::ALL.get(next).copied()
        })
    }
}

fn bit(promise: Promise) -> u32 {
    1 << promise as u32
}

impl FromIterator<Promise> for PromiseSet {
    fn from_iter<I: IntoIterator<Item = Promise>>(promises: I) -> PromiseSet {
        let mut set = PromiseSet::EMPTY;
        promises.into_iter().for_each(|promise| set.insert(promise));
        set
    }
}

impl std::fmt::Debug for PromiseSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl From<PromiseSet> for u32 {
    fn from(set: PromiseSet) -> u32 {
        set.0
    }
}

impl TryFrom<u32> for PromiseSet {
    type Error = StrayPromises;

    fn try_from(bits: u32) -> Result<PromiseSet, StrayPromises> {
        match bits & !PromiseSet::ALL.0 {
            0 => Ok(PromiseSet(bits)),
            stray => Err(StrayPromises(stray)),
        }
    }
}

/// Bits that stand for no promise: a damaged set, or one written by a later version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StrayPromises(u32);

impl std::fmt::Display for StrayPromises {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no promise belongs to the bits {:#x} of a set of promises", self.0)
    }
}

impl std::error::Error for StrayPromises {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_the_members_put_into_it_in_the_order_of_the_table() {
        let set: PromiseSet = [Promise::Lemma1, Promise::Fifo, Promise::Fifo].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [Promise::Fifo, Promise::Lemma1]);
        assert_eq!(set.len(), 2);
        assert!(!set.contains(Promise::Theorem3) && !set.is_empty() && PromiseSet::EMPTY.is_empty());
        assert_eq!(PromiseSet::ALL, Promise::ALL.into_iter().collect());
    }

    #[test]
    fn every_promise_is_either_safety_or_liveness_of_a_lock_or_one_of_objects() {
        let parts = [PromiseSet::safety(), PromiseSet::liveness(), PromiseSet::objects()];
        assert_eq!(parts.iter().map(|part| part.len()).sum::<u32>(), Promise::ALL.len() as u32);
        assert_eq!(parts.into_iter().fold(PromiseSet::EMPTY, PromiseSet::union), PromiseSet::ALL);
        let liveness: Vec<Promise> = PromiseSet::liveness().iter().collect();
        assert_eq!(liveness, [Promise::DeadlockFreedom, Promise::StarvationFreedom, Promise::ReleaseEnds]);
    }

    #[test]
    fn the_promises_of_locks_have_the_bits_that_they_had_before_there_were_objects() {
        // And one that came after the objects.
        assert_eq!(u32::from(PromiseSet::safety()), 0b1_0000_0000_1111_1111_1111_0011);
        assert_eq!(u32::from(PromiseSet::liveness()), 0b1_0000_0000_0000_1100);
        assert_eq!(u32::from(PromiseSet::usual()), 0b10_1111);
    }

    #[test]
    fn a_set_comes_back_from_its_bytes_and_stray_bits_are_refused() {
        for set in [PromiseSet::EMPTY, PromiseSet::safety(), PromiseSet::ALL] {
            let bytes = postcard::to_stdvec(&set).unwrap();
            assert_eq!(postcard::from_bytes(&bytes), Ok(set));
        }
        let bytes = postcard::to_stdvec(&(1u32 << Promise::ALL.len())).unwrap();
        assert!(postcard::from_bytes::<PromiseSet>(&bytes).is_err());
        assert_eq!(PromiseSet::try_from(0x8000_0001), Err(StrayPromises(0x8000_0000)));
    }
}
