//! The numbers that parts have for all threads.
//!
//! A state is kept as a row of such numbers: two states are equal if their rows are. Which number a part has depends on which thread came
//! first, so nothing may depend on it: states are put in order by the hashes of their parts' bytes.

use super::known::{hash_of, part_of};
use hashbrown::HashTable;
use std::sync::{PoisonError, RwLock};

/// All parts that are known, by kind: each node, what is shared, messages, and what belongs to no part.
pub(in crate::explore) struct Numbers {
    kinds: Vec<RwLock<Kind>>,
}

#[derive(Default)]
struct Kind {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    table: HashTable<u32>,
}

impl Numbers {
    /// Of worlds of so many nodes.
    pub fn new(nodes: usize) -> Numbers {
        Numbers { kinds: (0..nodes + 3).map(|_| RwLock::default()).collect() }
    }

    /// The number of the part with these bytes.
    pub fn number_of(&self, kind: usize, bytes: &[u8]) -> u32 {
        let hash = hash_of(bytes);
        let known = self.kinds[kind].read().unwrap_or_else(PoisonError::into_inner).find(hash, bytes);
        known.unwrap_or_else(|| {
            let mut of_kind = self.kinds[kind].write().unwrap_or_else(PoisonError::into_inner);
            // Another thread may have come first.
            of_kind.find(hash, bytes).unwrap_or_else(|| of_kind.add(hash, bytes))
        })
    }

    /// Appends the bytes of a part, and says how many they are.
    pub fn append(&self, kind: usize, number: u32, bytes: &mut Vec<u8>) -> usize {
        let of_kind = self.kinds[kind].read().unwrap_or_else(PoisonError::into_inner);
        let part = part_of(&of_kind.bytes, &of_kind.ends, number);
        bytes.extend_from_slice(part);
        part.len()
    }

    /// How much memory all that takes, in bytes.
    pub fn size(&self) -> u64 {
        let size = |kind: &RwLock<Kind>| {
            let Kind { bytes, ends, table } = &*kind.read().unwrap_or_else(PoisonError::into_inner);
            (bytes.len() + size_of_val(ends.as_slice()) + table.allocation_size()) as u64
        };
        self.kinds.iter().map(size).sum()
    }
}

impl Kind {
    fn find(&self, hash: u64, bytes: &[u8]) -> Option<u32> {
        self.table.find(hash, |number| part_of(&self.bytes, &self.ends, *number) == bytes).copied()
    }

    fn add(&mut self, hash: u64, bytes: &[u8]) -> u32 {
        let number = self.ends.len() as u32;
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
        let (known, ends) = (&self.bytes, &self.ends);
        self.table.insert_unique(hash, number, |number| hash_of(part_of(known, ends, *number)));
        number
    }
}

/// The hash of a row, from the hashes of its parts in their order.
#[derive(Default)]
pub(in crate::explore) struct RowHash(u64);

impl RowHash {
    /// One part more.
    pub fn add(&mut self, part: u64) {
        self.0 = (self.0.rotate_left(25) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// All parts together; shards and tables go by any of its bits.
    pub fn end(self) -> u64 {
        let spread = (self.0 ^ self.0 >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        spread ^ spread >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_the_numbers_of_their_bytes_whoever_asks() {
        let numbers = Numbers::new(2);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for part in 0..1_000_u32 {
                        numbers.number_of(1, &part.to_le_bytes());
                    }
                });
            }
        });
        let mut seen: Vec<u32> =
            (0..1_000_u32).map(|part| numbers.number_of(1, &part.to_le_bytes())).collect();
        for (part, number) in (0..1_000_u32).zip(&seen) {
            let mut bytes = Vec::new();
            assert_eq!(numbers.append(1, *number, &mut bytes), 4);
            assert_eq!(bytes, part.to_le_bytes());
        }
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..1_000));
        // Another kind has numbers of its own.
        assert_eq!(numbers.number_of(0, &[7]), 0);
    }

    #[test]
    fn the_hash_of_a_row_depends_on_the_order_of_its_parts() {
        let of = |parts: &[u64]| {
            let mut hash = RowHash::default();
            parts.iter().for_each(|part| hash.add(*part));
            hash.end()
        };
        assert_ne!(of(&[1, 2, 3]), of(&[3, 2, 1]));
        assert_ne!(of(&[1, 2]), of(&[1, 2, 0]));
        assert_eq!(of(&[1, 2, 3]), of(&[1, 2, 3]));
    }
}
