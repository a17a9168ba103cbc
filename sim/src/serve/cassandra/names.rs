//! What the clients' words are in the simulated servers: numbers, in the same order where the servers compare them.
//!
//! A partition is a row of the simulator, and each of its cells a column there: the number of the CQL row's clustering key, in
//! the order of the table, and the number of the CQL column. What a cell holds is the number of its bytes, in their order, as
//! ties of timestamps go by them; behind that is which write it was, for what readers want to know of it (`WRITETIME`, `TTL`).
//!
//! What lightweight transactions have written is one column of the partition, as the simulator knows their kind: it stands for
//! all cells that they have come to ([`Decided`]).

use super::refusal::Refusal;
use bytes::Bytes;
use picklock_model::machine::{Owner, StampGroup, Visitor};
use picklock_model::names::Word;
use picklock_model::stores::cassandra::{ColumnName, NAME_GROUP, Prefix, Row, SHARED, ThreadId, Value};
use picklock_model::time::{Due, Micros, Monotonic, Wall};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

/// The clustering key of a row: bytes in the order of its table, and the values of its columns.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Clustering {
    pub order: Bytes,
    pub values: Vec<Bytes>,
}

/// What a cell holds, and what is known of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cell {
    /// `None`: a tombstone.
    pub bytes: Option<Bytes>,
    pub timestamp: Wall,
    /// In whole seconds of the coordinator's clock.
    pub expiry_seconds: Option<i64>,
}

impl Cell {
    /// What wins over what (`db/rows/Cells.java` `resolveRegular`).
    fn precedence(&self) -> (Wall, u8, Option<i64>, Option<&Bytes>) {
        let class = match (&self.bytes, self.expiry_seconds) {
            (None, _) => 2,
            (Some(_), Some(_)) => 1,
            (Some(_), None) => 0,
        };
        (self.timestamp, class, self.expiry_seconds, self.bytes.as_ref())
    }

    pub fn is_live_at(&self, now_seconds: i64) -> bool {
        self.bytes.is_some() && self.expiry_seconds.is_none_or(|expiry| now_seconds < expiry)
    }
}

/// A column of a row.
pub type Place = (Clustering, u16);

/// All cells that lightweight transactions have written into a partition.
pub type Decided = BTreeMap<Place, Cell>;

/// The column that says that there is a row (the primary key's liveness).
pub const MARKER: u16 = 0;

/// Puts a cell where there may be one.
pub fn merge(cells: &mut BTreeMap<Place, Cell>, place: Place, cell: Cell) {
    match cells.entry(place) {
        std::collections::btree_map::Entry::Vacant(free) => {
            free.insert(cell);
        }
        std::collections::btree_map::Entry::Occupied(mut there) => {
            if there.get().precedence() < cell.precedence() {
                there.insert(cell);
            }
        }
    }
}

/// Where a column is in the simulator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    Cell(Place, Cell),
    /// All of the partition that is not newer is deleted.
    Deleted(Wall),
    Decided(u32),
}

/// Everything that clients have named. One table for all servers, for they must mean the same by a number. It only grows.
#[derive(Debug)]
pub struct Names {
    partitions: BTreeMap<(u32, Bytes), u16>,
    clusterings: Ordered<Clustering>,
    values: Ordered<Bytes>,
    writes: Vec<(Wall, Option<i64>)>,
    decided: Vec<Arc<Decided>>,
    /// Partitions that were deleted as a whole, and those that lightweight transactions were about: what is looked for there.
    deleted: BTreeSet<Row>,
    transacted: BTreeSet<Row>,
}

impl Default for Names {
    fn default() -> Self {
        Names {
            partitions: BTreeMap::new(),
            clusterings: Ordered::new(CLUSTERINGS),
            values: Ordered::new(VALUES),
            writes: Vec::new(),
            decided: Vec::new(),
            deleted: BTreeSet::new(),
            transacted: BTreeSet::new(),
        }
    }
}

/// How many numbers there are for clustering keys, and for values. Those of clustering keys are negative in the simulator, those
/// of values are not: a visitor sees both as times, and tells them apart by that.
const CLUSTERINGS: u64 = 1 << 60;
const VALUES: u64 = 1 << 32;
const WRITE_BITS: u32 = 30;
/// How long a deletion is kept: longer than any value lives. So of all cells with its timestamp it is the one that wins, and the later
/// one of two: as with tombstones (`db/rows/Cells.java` `resolveRegular`).
pub const TOMBSTONE_SECONDS: u32 = u32::MAX;
/// Before all clustering keys.
const PARTITION: ColumnName = ColumnName { prefix: Prefix::Time(Wall(i64::MIN)), thread: ThreadId(MARKER) };
/// A value that nothing ever has.
pub const NEVER: Value = Value::Number(u32::MAX);
/// The table of the simulator whose timestamps are compared with names: it is not used.
const TIMES: u16 = (Row::TIMES.0 as u16) << 8;
const PARTITIONS_MAX: usize = u16::MAX as usize - 256;

impl Names {
    /// The partition of this key in a table.
    ///
    /// # Errors
    /// There are too many.
    pub fn partition(&mut self, table: u32, key: &Bytes) -> Result<Row, Refusal> {
        if let Some(number) = self.partition_number(table, key) {
            return Ok(row(number));
        }
        let next = self.partitions.len();
        if next >= PARTITIONS_MAX {
            return Err(Refusal::Server(format!("not served: more than {PARTITIONS_MAX} partitions")));
        }
        let number = next as u16;
        let number = if number >= TIMES { number + 256 } else { number };
        self.partitions.insert((table, Bytes::copy_from_slice(key)), number);
        Ok(row(number))
    }

    fn partition_number(&self, table: u32, key: &Bytes) -> Option<u16> {
        self.partitions.get(&(table, key.clone())).copied()
    }

    /// The keys of all partitions of a table that were ever named.
    pub fn partitions(&self, table: u32) -> Vec<Bytes> {
        self.partitions
            .range((table, Bytes::new())..(table + 1, Bytes::new()))
            .map(|((_, key), _)| key.clone())
            .collect()
    }

    /// A column of the row with this clustering key.
    pub fn column(&mut self, clustering: &Clustering, column: u16) -> ColumnName {
        let number = self.clusterings.number(clustering);
        ColumnName {
            prefix: Prefix::Time(Wall(number as i64 - CLUSTERINGS as i64)),
            thread: ThreadId(column),
        }
    }

    /// The column that deletes what is older in its partition.
    pub fn partition_deletion(&self) -> ColumnName {
        PARTITION
    }

    /// What a write puts into a cell.
    pub fn value(&mut self, bytes: &Bytes, write: Write) -> Value {
        let number = self.values.number(bytes);
        Value::Time(Wall((number << WRITE_BITS) as i64 | i64::from(write.0)))
    }

    /// What a write puts into a cell that it deletes. To the simulator it is a value, so that reads return it: what lightweight
    /// transactions have written is to be hidden by it, too. See [`TOMBSTONE_SECONDS`].
    pub fn tombstone(&self, write: Write) -> Value {
        Value::Time(Wall(write.0.into()))
    }

    /// A write: what its cells have in common. After a thousand million of them timestamps are forgotten.
    pub fn write(&mut self, timestamp: Wall, expiry_seconds: Option<i64>) -> Write {
        let write = (timestamp, expiry_seconds);
        if self.writes.last() != Some(&write) && self.writes.len() < 1 << WRITE_BITS {
            self.writes.push(write);
        }
        Write(self.writes.len() as u32 - 1)
    }

    /// What lightweight transactions have come to.
    pub fn decide(&mut self, decided: Decided) -> u32 {
        self.decided.push(Arc::new(decided));
        self.decided.len() as u32 - 1
    }

    /// A partition is deleted as a whole.
    pub fn deletes_all(&mut self, row: Row) {
        self.deleted.insert(row);
    }

    /// A lightweight transaction is about it.
    pub fn transacts(&mut self, row: Row) {
        self.transacted.insert(row);
    }

    /// Whether all of a partition has to be read to know any row of it.
    pub fn is_read_whole(&self, row: Row) -> bool {
        self.deleted.contains(&row) || self.transacted.contains(&row)
    }

    pub fn decided(&self, number: Option<u32>) -> Arc<Decided> {
        number.and_then(|number| self.decided.get(number as usize).cloned()).unwrap_or_default()
    }

    /// What a cell of the simulator is.
    pub fn found(&self, name: ColumnName, value: Value) -> Option<Found> {
        match value {
            Value::Number(number) if name == SHARED => Some(Found::Decided(number)),
            Value::Time(Wall(value)) => {
                let bytes = match value as u64 >> WRITE_BITS {
                    0 => None,
                    number => Some(self.values.thing(number)?),
                };
                let write = value as usize & ((1 << WRITE_BITS) - 1);
                let (timestamp, expiry_seconds) = *self.writes.get(write)?;
                if name == PARTITION {
                    return Some(Found::Deleted(timestamp));
                }
                let Prefix::Time(Wall(number)) = name.prefix else { return None };
                let clustering = self.clusterings.thing((number + CLUSTERINGS as i64) as u64)?;
                let cell = Cell { bytes, timestamp, expiry_seconds };
                Some(Found::Cell((clustering, name.thread.0), cell))
            }
            Value::Number(_) | Value::Thread(_) => None,
        }
    }

    /// What has to be rewritten since this was last asked, if anything.
    pub fn take_move(&mut self) -> Option<Move> {
        let clusterings = std::mem::take(&mut self.clusterings.moves);
        let values = std::mem::take(&mut self.values.moves);
        (!clusterings.is_empty() || !values.is_empty()).then_some(Move { clusterings, values })
    }
}

fn row(number: u16) -> Row {
    let [table, key] = number.to_be_bytes();
    Row { table: Word(table), key }
}

/// See [`Names::write`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Write(u32);

/// Numbers that have become others, one spreading after the other.
#[derive(Debug)]
pub struct Move {
    clusterings: Vec<BTreeMap<u64, u64>>,
    values: Vec<BTreeMap<u64, u64>>,
}

impl Visitor for &Move {
    fn stamp(&mut self, group: StampGroup, at: &mut Wall) {
        if group != NAME_GROUP || at.0 == i64::MIN {
            return;
        }
        let moved = |moves: &[BTreeMap<u64, u64>], number: u64| {
            moves.iter().fold(number, |number, moved| moved.get(&number).copied().unwrap_or(number))
        };
        at.0 = match at.0 < 0 {
            true => moved(&self.clusterings, (at.0 + CLUSTERINGS as i64) as u64) as i64 - CLUSTERINGS as i64,
            false => {
                let write = at.0 & ((1 << WRITE_BITS) - 1);
                (moved(&self.values, at.0 as u64 >> WRITE_BITS) << WRITE_BITS) as i64 | write
            }
        };
    }

    fn due(&mut self, _due: &mut Due) {}
    fn since(&mut self, _at: &mut Monotonic, _limit: Micros) {}
    fn expiry_seconds(&mut self, _at: &mut i64) {}
    fn serial(&mut self, _owner: Owner, _serial: &mut u32) {}
}

/// Things, numbered in their order, from 1 up to a bound.
#[derive(Debug)]
struct Ordered<T> {
    bound: u64,
    numbers: BTreeMap<T, u64>,
    things: BTreeMap<u64, T>,
    moves: Vec<BTreeMap<u64, u64>>,
}

impl<T: Ord + Clone + Debug> Ordered<T> {
    fn new(bound: u64) -> Ordered<T> {
        Ordered { bound, numbers: BTreeMap::new(), things: BTreeMap::new(), moves: Vec::new() }
    }

    fn number(&mut self, thing: &T) -> u64 {
        if let Some(number) = self.numbers.get(thing) {
            return *number;
        }
        let number = self.free(thing).unwrap_or_else(|| {
            self.spread();
            match self.free(thing) {
                Some(number) => number,
                None => unreachable!("so many names do not fit into the memory"),
            }
        });
        self.things.insert(number, thing.clone());
        self.numbers.insert(thing.clone(), number);
        number
    }

    /// A number between the neighbours', if there is one: near the last one behind it, for who counts up will go on.
    fn free(&self, thing: &T) -> Option<u64> {
        let before =
            self.numbers.range((Unbounded, Excluded(thing))).next_back().map_or(0, |(_, number)| *number);
        let after = self.numbers.range((Excluded(thing), Unbounded)).next().map(|(_, number)| *number);
        let step = match after {
            Some(after) => (after - before) / 2,
            None => ((self.bound - before) / 2).min(self.bound >> 20),
        };
        (step > 0).then_some(before + step)
    }

    /// All numbers as far from each other as can be, and as much room behind them.
    fn spread(&mut self) {
        let gap = (self.bound / 2 / (self.numbers.len() as u64 + 1)).max(1);
        let mut moved = BTreeMap::new();
        self.things.clear();
        for (place, (thing, number)) in (1..).zip(&mut self.numbers) {
            let to = gap * place;
            moved.insert(std::mem::replace(number, to), to);
            self.things.insert(to, thing.clone());
        }
        self.moves.push(moved);
    }

    fn thing(&self, number: u64) -> Option<T> {
        self.things.get(&number).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Clustering {
        Clustering { order: Bytes::copy_from_slice(text.as_bytes()), values: Vec::new() }
    }

    #[test]
    fn numbers_are_in_the_order_of_the_names_and_who_holds_old_ones_is_told_the_new_ones() {
        let mut names = Names::default();
        let mut held: Vec<(String, ColumnName, Value)> = Vec::new();
        let write = names.write(Wall(7), None);
        // Always just before the one before: the worst order there is, and no room after sixty.
        let mut moves = 0;
        for n in (0..500).rev() {
            let word = format!("{n:04}");
            let column = names.column(&key(&word), 1);
            let value = names.value(&Bytes::from(word.clone()), write);
            held.push((word, column, value));
            if let Some(moved) = names.take_move() {
                moves += 1;
                // The newest two were numbered before or after: they are asked for again, as those who serve do.
                held.pop();
                for (_, column, value) in &mut held {
                    column.visit(&mut &moved);
                    value.visit(&mut &moved);
                }
                let word = format!("{n:04}");
                held.push((
                    word.clone(),
                    names.column(&key(&word), 1),
                    names.value(&Bytes::from(word), write),
                ));
            }
        }
        assert!(moves > 5, "{moves} times");
        assert!(held.is_sorted_by(|one, two| one.1 > two.1 && one.2 > two.2));
        for (word, column, value) in held {
            let cell =
                Cell { bytes: Some(Bytes::from(word.clone())), timestamp: Wall(7), expiry_seconds: None };
            assert_eq!(names.found(column, value), Some(Found::Cell((key(&word), 1), cell)));
        }
    }

    #[test]
    fn partitions_are_told_apart_and_none_is_in_the_table_of_times() {
        let mut names = Names::default();
        let mut seen = std::collections::BTreeSet::new();
        for n in 0..2_000_u32 {
            let row = names.partition(n % 3, &Bytes::from(n.to_string())).expect("room");
            assert_ne!(row.table, Row::TIMES);
            assert!(seen.insert(row));
        }
        assert_eq!(names.partitions(1).len(), 667);
    }

    #[test]
    fn the_deletion_of_a_partition_is_its_first_column_and_what_is_decided_its_last() {
        let mut names = Names::default();
        let column = names.column(&key(""), MARKER);
        assert!(names.partition_deletion() < column && column < SHARED);
    }
}
