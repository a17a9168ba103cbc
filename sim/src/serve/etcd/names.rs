//! What the bytes of clients are in the simulated members: numbers, in the same order.
//!
//! Members compare keys (ranges), values and leases (transactions), so larger things must have larger numbers, whenever they
//! come. A new thing takes a number between its neighbours'. Where there is none left, all are spread anew over all numbers;
//! then whatever holds old numbers is rewritten ([`Move`]) before anybody reads it.

use bytes::Bytes;
use picklock_model::machine::{Node, Owner, StampGroup, Visitor};
use picklock_model::stores::etcd::{Key, Keys, LeaseId, Name, Value};
use picklock_model::time::{Due, Micros, Monotonic, Wall};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Bound::{Excluded, Unbounded};

/// Every key, value and lease that clients have named. One table for all members, for they must mean the same by a number. It
/// only grows.
#[derive(Debug, Default)]
pub struct Names {
    keys: Ordered<Bytes>,
    values: Ordered<Bytes>,
    leases: Ordered<i64>,
}

/// As whose draws names go about in the members, where visitors tell them from numbers of requests. Real clients have no such
/// numbers.
const KEYS: u8 = 255;
const VALUES: u8 = 254;
const LEASES: u8 = 253;

/// After all keys.
const END: Key = Key { prefix: 1, name: Name::Word(0) };

impl Names {
    /// The key of these bytes.
    pub fn key(&mut self, bytes: &Bytes) -> Key {
        let serial = self.keys.number(bytes, copied);
        Key { prefix: 0, name: Name::Drawn { client: KEYS, serial } }
    }

    /// The keys of a range, as the API says it: a key, all from a key on, or all from one up to another.
    pub fn keys(&mut self, key: &Bytes, range_end: &Bytes) -> Keys {
        let first = self.key(key);
        match range_end.as_ref() {
            [] => Keys::One(first),
            [0] => Keys::Between(first, END),
            _ => Keys::Between(first, self.key(range_end)),
        }
    }

    /// The value of these bytes.
    pub fn value(&mut self, bytes: &Bytes) -> Value {
        match bytes.is_empty() {
            true => Value::Empty,
            false => Value::Drawn { client: VALUES, serial: self.values.number(bytes, copied) },
        }
    }

    /// The lease of this number; 0 is none.
    pub fn lease(&mut self, id: i64) -> Option<LeaseId> {
        (id != 0).then(|| LeaseId { client: LEASES, serial: self.leases.number(&id, |id| *id) })
    }

    /// Whether anybody has named this lease.
    pub fn knows_lease(&self, id: i64) -> bool {
        self.leases.numbers.contains_key(&id)
    }

    /// The bytes of a key.
    pub fn bytes_of_key(&self, key: Key) -> Bytes {
        match key.name {
            Name::Drawn { serial, .. } => self.keys.thing(serial).unwrap_or_default(),
            Name::Word(_) | Name::Lease(_) => Bytes::new(),
        }
    }

    /// The bytes of a value.
    pub fn bytes_of_value(&self, value: Value) -> Bytes {
        match value {
            Value::Drawn { serial, .. } => self.values.thing(serial).unwrap_or_default(),
            Value::Empty | Value::Text(_) | Value::Name(_) => Bytes::new(),
        }
    }

    /// The number of a lease.
    pub fn number_of_lease(&self, lease: Option<LeaseId>) -> i64 {
        lease.and_then(|lease| self.leases.thing(lease.serial)).unwrap_or(0)
    }

    /// How many bytes all keys and values have together.
    pub fn size(&self) -> usize {
        self.keys.things.values().chain(self.values.things.values()).map(Bytes::len).sum()
    }

    /// What has to be rewritten since this was last asked, if anything.
    pub fn take_move(&mut self) -> Option<Move> {
        let [keys, values, leases] =
            [&mut self.keys.moves, &mut self.values.moves, &mut self.leases.moves].map(std::mem::take);
        let is_any = !(keys.is_empty() && values.is_empty() && leases.is_empty());
        is_any.then_some(Move { keys, values, leases })
    }
}

fn copied(bytes: &Bytes) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

/// Numbers that have become others, one spreading after the other.
#[derive(Debug)]
pub struct Move {
    keys: Vec<BTreeMap<u32, u32>>,
    values: Vec<BTreeMap<u32, u32>>,
    leases: Vec<BTreeMap<u32, u32>>,
}

impl Visitor for &Move {
    fn stamp(&mut self, _group: StampGroup, _at: &mut Wall) {}
    fn due(&mut self, _due: &mut Due) {}
    fn since(&mut self, _at: &mut Monotonic, _limit: Micros) {}
    fn expiry_seconds(&mut self, _at: &mut i64) {}

    fn serial(&mut self, owner: Owner, serial: &mut u32) {
        let moves = match owner {
            Owner::Node(Node::Client(KEYS)) => &self.keys,
            Owner::Node(Node::Client(VALUES)) => &self.values,
            Owner::Node(Node::Client(LEASES)) => &self.leases,
            Owner::Me | Owner::Sender | Owner::Receiver | Owner::Node(_) => return,
        };
        for moved in moves {
            *serial = moved.get(serial).copied().unwrap_or(*serial);
        }
    }
}

/// Things, numbered in their order.
#[derive(Debug)]
struct Ordered<T> {
    numbers: BTreeMap<T, u32>,
    things: BTreeMap<u32, T>,
    /// The number given last: who goes on right after it is counting up, and will go on.
    newest: u32,
    moves: Vec<BTreeMap<u32, u32>>,
}

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Ordered { numbers: BTreeMap::new(), things: BTreeMap::new(), newest: 0, moves: Vec::new() }
    }
}

impl<T: Ord + Clone + Debug> Ordered<T> {
    /// The thing's number. `own` makes a copy of its own: what arrived may be a slice of a larger buffer.
    fn number(&mut self, thing: &T, own: impl FnOnce(&T) -> T) -> u32 {
        if let Some(number) = self.numbers.get(thing) {
            return *number;
        }
        let number = self.free_before_and_after(thing).unwrap_or_else(|| {
            self.spread();
            match self.free_before_and_after(thing) {
                Some(number) => number,
                None => unreachable!("two thousand million names do not fit into the memory"),
            }
        });
        let thing = own(thing);
        self.things.insert(number, thing.clone());
        self.numbers.insert(thing, number);
        self.newest = number;
        number
    }

    /// A number between the neighbours', if there is one.
    fn free_before_and_after(&self, thing: &T) -> Option<u32> {
        let before =
            self.numbers.range((Unbounded, Excluded(thing))).next_back().map_or(0, |(_, number)| *number);
        let after =
            self.numbers.range((Excluded(thing), Unbounded)).next().map_or(u32::MAX, |(_, number)| *number);
        let gap = after - before;
        let step = match before == self.newest && gap > 32 {
            true => gap / 16,
            false => gap / 2,
        };
        (step > 0).then_some(before + step)
    }

    /// All numbers as far from each other as can be.
    fn spread(&mut self) {
        let gap = u32::MAX / (self.numbers.len() as u32 + 1);
        let mut moved = BTreeMap::new();
        self.things.clear();
        for (place, (thing, number)) in (1..).zip(&mut self.numbers) {
            let to = gap * place;
            moved.insert(std::mem::replace(number, to), to);
            self.things.insert(to, thing.clone());
        }
        self.newest = 0;
        self.moves.push(moved);
    }

    fn thing(&self, number: u32) -> Option<T> {
        self.things.get(&number).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_order(names: &mut Names, mut words: Vec<String>) -> usize {
        words.sort();
        let keys: Vec<Key> = words.iter().map(|word| names.key(&Bytes::from(word.clone()))).collect();
        assert!(keys.is_sorted_by(|one, two| one < two));
        for (key, word) in keys.iter().zip(&words) {
            assert_eq!(names.bytes_of_key(*key), word.as_bytes());
        }
        names.take_move().map_or(0, |moved| moved.keys.len())
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn numbers_are_in_the_order_of_the_bytes_whatever_order_they_come_in() {
        for stride in [1, 7, 3_989, 9_999] {
            let mut names = Names::default();
            let words: Vec<String> =
                (0..10_000_u64).map(|n| format!("/a/{:05}", n * stride % 10_000)).collect();
            names.key(&Bytes::from("/b"));
            for word in &words {
                names.key(&Bytes::from(word.clone()));
            }
            let spread = in_order(&mut names, words);
            assert!((1..2_000).contains(&spread), "spread {spread} times for a stride of {stride}");
        }
    }

    #[test]
    fn who_holds_old_numbers_is_told_the_new_ones() {
        let mut names = Names::default();
        let mut held: Vec<(String, Key)> = Vec::new();
        for n in 0..3_000_u32 {
            let word = format!("{:04}", n * 1_237 % 3_000);
            let key = names.key(&Bytes::from(word.clone()));
            if let Some(moved) = names.take_move() {
                held.iter_mut().for_each(|(_, key)| key.visit(&mut &moved));
            }
            held.push((word, key));
        }
        for (word, key) in held {
            assert_eq!(names.key(&Bytes::from(word)), key);
        }
    }

    #[test]
    fn values_and_leases_come_back_as_they_were() {
        let mut names = Names::default();
        for bytes in ["", "7", "a b\r\n", "\0"] {
            let value = names.value(&Bytes::from(bytes));
            assert_eq!(names.bytes_of_value(value), bytes);
        }
        assert!(names.value(&Bytes::new()) < names.value(&Bytes::from("\0")));
        for id in [1, 7, i64::MAX, 2] {
            let lease = names.lease(id);
            assert_eq!(names.number_of_lease(lease), id);
        }
        assert_eq!(names.lease(0), None);
        assert!(names.lease(1) < names.lease(2) && names.lease(2) < names.lease(7));
    }
}
