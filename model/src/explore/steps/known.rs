//! Parts of worlds, by number.

use super::numbers::Numbers;
use crate::canonical::Holds;
use crate::explore::packed::unpack;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::hash::BuildHasher;

/// Parts of one kind, of one node.
pub(super) struct Known<T> {
    pub(super) bytes: Vec<u8>,
    pub(super) ends: Vec<usize>,
    pub(super) values: Vec<T>,
    pub(super) holds: Vec<Option<Holds>>,
    /// Their hashes, by their bytes.
    pub(super) hashes: Vec<u64>,
    /// The numbers that they have for all threads; [`UNKNOWN`] until they are asked for.
    for_all: Vec<u32>,
    /// By these numbers, the numbers here.
    here: Vec<u32>,
    pub(super) table: HashTable<u32>,
}

/// In place of a number.
pub(super) const UNKNOWN: u32 = u32::MAX;

impl<T> Default for Known<T> {
    fn default() -> Self {
        Known {
            bytes: Vec::new(),
            ends: Vec::new(),
            values: Vec::new(),
            holds: Vec::new(),
            hashes: Vec::new(),
            for_all: Vec::new(),
            here: Vec::new(),
            table: HashTable::new(),
        }
    }
}

impl<T: Serialize + DeserializeOwned> Known<T> {
    pub(super) fn bytes_of(&self, number: u32) -> &[u8] {
        part_of(&self.bytes, &self.ends, number)
    }

    /// Whether the part of this number has these bytes.
    pub(super) fn is(&self, number: u32, bytes: &[u8]) -> bool {
        (number as usize) < self.ends.len() && self.bytes_of(number) == bytes
    }

    pub(super) fn value(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    pub(super) fn holds(&self, number: u32) -> Option<&Holds> {
        self.holds[number as usize].as_ref()
    }

    /// The number that the part has for all threads.
    pub(super) fn for_all(&mut self, number: u32, kind: usize, numbers: &Numbers) -> u32 {
        let known = self.for_all[number as usize];
        if known != UNKNOWN {
            return known;
        }
        let for_all = numbers.number_of(kind, self.bytes_of(number));
        self.meet(number, for_all);
        for_all
    }

    /// The number here of the part that has this one for all threads, if it was met before.
    pub(super) fn here(&self, for_all: u32) -> Option<u32> {
        self.here.get(for_all as usize).copied().filter(|number| *number != UNKNOWN)
    }

    /// It is one and the same part that has this number here and that one for all threads.
    pub(super) fn meet(&mut self, number: u32, for_all: u32) {
        self.for_all[number as usize] = for_all;
        if self.here.len() <= for_all as usize {
            self.here.resize(for_all as usize + 1, UNKNOWN);
        }
        self.here[for_all as usize] = number;
    }

    /// The number of the part with these bytes. `holds` says what it holds, if it is new.
    pub(super) fn number_of(&mut self, bytes: &[u8], holds: impl FnOnce(&mut T) -> Option<Holds>) -> u32 {
        let hash = hash_of(bytes);
        let found = self.table.find(hash, |number| self.bytes_of(*number) == bytes);
        if let Some(number) = found {
            return *number;
        }
        let number = self.values.len() as u32;
        let mut value = unpack(bytes);
        self.holds.push(holds(&mut value));
        self.values.push(value);
        self.hashes.push(hash);
        self.for_all.push(UNKNOWN);
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
        let (known, ends) = (&self.bytes, &self.ends);
        self.table.insert_unique(hash, number, |number| hash_of(part_of(known, ends, *number)));
        number
    }
}

pub(super) fn part_of<'a>(bytes: &'a [u8], ends: &[usize], number: u32) -> &'a [u8] {
    let number = number as usize;
    let start = if number == 0 { 0 } else { ends[number - 1] };
    &bytes[start..ends[number]]
}

pub(super) fn hash_of(bytes: &[u8]) -> u64 {
    FixedState::with_seed(0x7061_7274).hash_one(bytes)
}

pub(super) fn values<'a, 'n, T: Serialize + DeserializeOwned>(
    known: &'a [Known<T>],
    numbers: &'n [u32],
) -> impl Iterator<Item = &'a T> + use<'a, 'n, T> {
    known.iter().zip(numbers).map(|(known, number)| known.value(*number))
}
