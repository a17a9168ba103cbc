//! The rows of a shard's states, one behind the other, and where each of them is.
//!
//! Rows are short, so that a byte says how long one is, and where it begins follows from where that of an earlier one does: of every eighth
//! that is written down. Beside them the lengths take no cache line of their own.

use std::collections::BTreeMap;

/// How many rows are found from one whose beginning is written down.
const BLOCK: usize = 8;
/// In place of a length: it is longer than a byte can say.
const LONG: u8 = u8::MAX;

/// Where so many rows begin that follow each other, and how long each of them is.
#[derive(Clone, Copy)]
struct Block {
    start: u32,
    lengths: [u8; BLOCK],
}

/// Rows of numbers, found by their positions.
#[derive(Default)]
pub(super) struct Arena {
    numbers: Vec<u16>,
    blocks: Vec<Block>,
    len: usize,
    /// By position: how long those rows are of which a byte cannot say it.
    long: BTreeMap<usize, u32>,
}

impl Arena {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Appends a row.
    pub fn push(&mut self, row: &[u16]) {
        let (place, at) = (self.len / BLOCK, self.len % BLOCK);
        if at == 0 {
            self.blocks.push(Block { start: self.numbers.len() as u32, lengths: [0; BLOCK] });
        }
        let length = u8::try_from(row.len()).unwrap_or(LONG);
        if length == LONG {
            self.long.insert(self.len, row.len() as u32);
        }
        self.blocks[place].lengths[at] = length;
        self.numbers.extend_from_slice(row);
        self.len += 1;
    }

    /// The row at a position.
    pub fn row(&self, position: usize) -> &[u16] {
        let start = self.start(position);
        let length = usize::from(self.blocks[position / BLOCK].lengths[position % BLOCK]);
        let length = if length == usize::from(LONG) { self.long[&position] as usize } else { length };
        &self.numbers[start..start + length]
    }

    /// Where among all numbers the row at a position begins.
    pub fn start(&self, position: usize) -> usize {
        let Block { start, lengths } = &self.blocks[position / BLOCK];
        let before = lengths[..position % BLOCK].iter().map(|length| usize::from(*length)).sum::<usize>();
        let first = position - position % BLOCK;
        let more = |(_, length): (&usize, &u32)| *length as usize - usize::from(LONG);
        let longer = if self.long.is_empty() { 0 } else { self.long.range(first..position).map(more).sum() };
        *start as usize + before + longer
    }

    /// The number at a place among all of them.
    pub fn number(&self, place: usize) -> u16 {
        self.numbers[place]
    }

    /// How much memory all that takes, in bytes; rows that are long count without their lengths.
    pub fn size(&self) -> usize {
        size_of_val(self.numbers.as_slice()) + size_of_val(self.blocks.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_come_back_whatever_their_lengths(
            lengths in proptest::collection::vec(prop_oneof![4 => 0..40_usize, 1 => 250..260_usize, 1 => 500..600_usize], 0..60),
        ) {
            let rows: Vec<Vec<u16>> =
                (0_u16..).zip(&lengths).map(|(first, length)| (first..).take(*length).collect()).collect();
            let mut arena = Arena::default();
            for row in &rows {
                arena.push(row);
            }
            prop_assert_eq!(arena.len(), rows.len());
            for (position, row) in rows.iter().enumerate() {
                prop_assert_eq!(arena.row(position), row.as_slice());
            }
        }
    }
}
