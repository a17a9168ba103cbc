//! Where states are kept: as rows, each in the shard that its hash names, found through the table of that shard.

use super::arena::Arena;
use super::expanding::Expanded;
use hashbrown::HashTable;

pub(in crate::explore) const SHARDS: usize = 32;
/// How many states are looked up at a time.
pub(super) const BLOCK: usize = 16;

/// The parent of the first state.
pub(super) const NO_PARENT: u32 = u32::MAX;

/// A state's number: position in its shard and shard.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(in crate::explore) struct StateId(pub u32);

impl StateId {
    pub fn new(shard: usize, position: usize) -> StateId {
        match u32::try_from(position * SHARDS + shard) {
            Ok(id) => StateId(id),
            Err(_) => unreachable!("the limit of states is checked before and is below 2^32"),
        }
    }

    pub fn shard(self) -> usize {
        self.0 as usize % SHARDS
    }

    pub fn position(self) -> usize {
        self.0 as usize / SHARDS
    }
}

#[derive(Clone, Copy, Debug)]
pub(in crate::explore) struct Edge {
    pub from: StateId,
    pub to: StateId,
    /// What a fair schedule owes, by name; 0 for what it does not owe.
    pub label: u32,
    pub action: u16,
    /// Whether it is what the edge before it is, with another number drawn by the client.
    pub is_redrawn: bool,
}

#[derive(Default)]
pub(super) struct Shard {
    rows: Arena,
    pub parents: Vec<u32>,
    pub actions: Vec<u16>,
    /// What a liveness check wants to know; nothing, if nobody asks.
    pub flags: Vec<u16>,
    table: HashTable<Entry>,
    pub edges: Vec<Edge>,
    /// The states whose successors are made next, and those that were found after them.
    pub level: Level,
    pub next_level: Level,
}

/// A state, for how many worlds it stands, and what led to it.
pub(super) struct Found<'a> {
    pub row: &'a [u16],
    pub worlds: u16,
    pub parent: u32,
    pub action: u16,
    pub flags: Option<u16>,
}

/// Of states that were found one after the other: for how many worlds each of them stands.
#[derive(Default)]
pub(super) struct Level {
    pub first: usize,
    pub worlds: Vec<u16>,
}

impl Shard {
    /// How many states it has.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn row(&self, position: usize) -> &[u16] {
        self.rows.row(position)
    }

    /// How much memory its states take with their index, in bytes.
    pub fn size(&self) -> u64 {
        let Shard { rows, parents, actions, flags, table, .. } = self;
        let lists = size_of_val(parents.as_slice()) + size_of_val(actions.as_slice());
        (rows.size() + lists + size_of_val(flags.as_slice()) + table.allocation_size()) as u64
    }

    /// For how many worlds a state of this level stands.
    pub fn worlds(&self, position: usize) -> u16 {
        self.level.worlds[position - self.level.first]
    }

    /// What was found becomes the level whose successors are made.
    pub fn turn(&mut self) {
        std::mem::swap(&mut self.level, &mut self.next_level);
        self.next_level.worlds.clear();
        self.next_level.first = self.len();
    }

    /// The position of the state, and whether it is new.
    pub fn insert(&mut self, hash: u64, found: &Found) -> (usize, bool) {
        let Found { row, worlds, parent, action, flags } = *found;
        let tag = tag_of(hash);
        let is_it = |entry: &Entry| entry.tag() == tag && self.row(entry.position()) == row;
        if let Some(entry) = self.table.find(in_table(tag), is_it) {
            return (entry.position(), false);
        }
        let position = self.len();
        self.rows.push(row);
        self.parents.push(parent);
        self.actions.push(action);
        self.flags.extend(flags);
        self.next_level.worlds.push(worlds);
        self.table.insert_unique(in_table(tag), Entry::new(tag, position), |entry| in_table(entry.tag()));
        (position, true)
    }

    /// Reads what [`Self::insert`] will compare these states with, one after the other without waiting for any: most of a large
    /// shard is in no cache.
    pub fn prefetch(&self, successors: &[Successor]) {
        let mut starts = [None; BLOCK];
        for (start, successor) in starts.iter_mut().zip(successors) {
            let tag = tag_of(successor.hash);
            let found = self.table.find(in_table(tag), |entry| entry.tag() == tag);
            *start = found.map(|entry| entry.position());
        }
        for position in starts.iter_mut().flatten() {
            *position = self.rows.start(*position);
        }
        let read = starts.iter().flatten().fold(0, |read, start| read ^ self.rows.number(*start));
        std::hint::black_box(read);
    }
}

/// What the table of a shard has of a state: where it is, in as many bits as [`StateId`] has for that, and in those that are left up to
/// seven bytes a part of its hash.
#[derive(Clone, Copy)]
struct Entry([u8; 7]);

/// How many bits say where a state is.
const POSITION_BITS: u32 = u32::BITS - SHARDS.ilog2();
/// How many are part of its hash.
const TAG_BITS: u32 = 7 * u8::BITS - POSITION_BITS;

impl Entry {
    fn new(tag: u32, position: usize) -> Entry {
        let [bytes @ .., _] = (u64::from(tag) << POSITION_BITS | position as u64).to_le_bytes();
        Entry(bytes)
    }

    fn bits(self) -> u64 {
        let [one, two, three, four, five, six, seven] = self.0;
        u64::from_le_bytes([one, two, three, four, five, six, seven, 0])
    }

    fn tag(self) -> u32 {
        (self.bits() >> POSITION_BITS) as u32
    }

    fn position(self) -> usize {
        (self.bits() & ((1 << POSITION_BITS) - 1)) as usize
    }
}

/// The part of a state's hash that the table of its shard keeps. All states of a shard have its lowest bits in common.
pub(super) fn tag_of(hash: u64) -> u32 {
    (hash >> (u64::BITS - TAG_BITS)) as u32
}

/// The hash for the table of a shard, which numbers its buckets by the lowest bits and tells states in a bucket apart by the
/// highest. It depends on the tag only, so that a table that grows need not look at the states.
pub(super) fn in_table(tag: u32) -> u64 {
    let spread = u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    spread ^ spread >> 32
}

pub(super) fn shard_of(hash: u64) -> usize {
    hash as usize % SHARDS
}

/// A successor on its way into its shard, and where in [`Expanded`] its row is.
pub(super) struct Successor {
    pub hash: u64,
    pub start: u32,
    pub length: u16,
    pub worlds: u16,
    pub action: u16,
    pub parent: u32,
    pub label: u32,
    pub flags: Option<u16>,
    pub is_redrawn: bool,
}

/// A state, behind the numbers of the chunk and of the successor in it as which it was found first.
pub(super) type Place = ((u32, u32), StateId);

/// Sorts the successors of one chunk into one shard and appends the new ones to `found`; says how many worlds those are.
pub(super) fn take_in(
    shard: &mut Shard,
    number: usize,
    chunk: &Expanded,
    chunk_number: u32,
    keep_edges: bool,
    found: &mut Vec<Place>,
) -> u64 {
    let mut worlds_new = 0;
    for (at, successor) in chunk.successors[number].iter().enumerate() {
        if at.is_multiple_of(BLOCK) {
            let others = &chunk.successors[number][at..];
            shard.prefetch(&others[..others.len().min(BLOCK)]);
        }
        let Successor { hash, start, length, worlds, parent, action, flags, .. } = *successor;
        let row = &chunk.rows[start as usize..][..usize::from(length)];
        let (position, is_new) = shard.insert(hash, &Found { row, worlds, parent, action, flags });
        if is_new {
            worlds_new += u64::from(worlds);
            // Rows are put down in the order in which they are found.
            found.push(((chunk_number, start), StateId::new(number, position)));
        }
        if keep_edges {
            shard.edges.push(Edge {
                from: StateId(successor.parent),
                to: StateId::new(number, position),
                label: successor.label,
                action: successor.action,
                is_redrawn: successor.is_redrawn,
            });
        }
    }
    worlds_new
}

#[cfg(test)]
mod tests {
    use super::super::super::steps::RowHash;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn an_entry_has_the_tag_and_the_position_that_it_was_made_of() {
        let most = (1 << POSITION_BITS) - 1;
        for hash in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            for position in [0, 1, 4711, most] {
                let entry = Entry::new(tag_of(hash), position);
                assert_eq!((entry.tag(), entry.position()), (tag_of(hash), position));
            }
        }
        assert_eq!(StateId::new(SHARDS - 1, most), StateId(u32::MAX), "no state is further down");
        assert_eq!(size_of::<Entry>(), 7);
    }

    #[test]
    fn the_states_of_a_shard_are_spread_over_all_buckets_of_its_table_and_told_apart_in_them() {
        let hashes = (0..100_000_u64).map(|number| {
            let mut hash = RowHash::default();
            hash.add(number);
            hash.end()
        });
        let of_shard = hashes.filter(|hash| shard_of(*hash) == 3).map(tag_of).map(in_table);
        let of_shard: Vec<u64> = of_shard.collect();
        let lowest: BTreeSet<u64> = of_shard.iter().map(|hash| hash % 64).collect();
        let highest: BTreeSet<u64> = of_shard.iter().map(|hash| hash >> 57).collect();
        assert_eq!((lowest.len(), highest.len()), (64, 128));
    }
}
