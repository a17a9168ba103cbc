//! Keys with their entries: each in a slot of its own, and found by a hash of the key.

use super::keyspace::{Entry, Place};
use super::text::Text;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::hash::{BuildHasher, Hash, Hasher};

/// The number of a key's slot: it is the key's for as long as the key is there, and then another key's.
pub type Slot = u32;

/// A key of a database, where it lies.
pub type Named<'a> = (u8, &'a [u8]);

/// So many slots lie beside each other. They never move: no table is copied when it grows, and none takes room twice.
const CHUNK: usize = 256;

/// Keys with their entries.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(Place, Entry)>", into = "Vec<(Place, Entry)>")]
pub struct Table {
    /// All but the last are full.
    chunks: Vec<Vec<Option<Kept>>>,
    free: Vec<Slot>,
    index: HashTable<Slot>,
}

/// A key with its entry: who has found the one has the other in the cache.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Kept {
    database: u8,
    key: Text,
    entry: Entry,
}

// Where keys are is nobody's business: nothing that is compared, stored or shown depends on it.
fn hash((database, key): Named) -> u64 {
    let mut hasher = FixedState::with_seed(0).build_hasher();
    hasher.write_u8(database);
    hasher.write(key);
    hasher.finish()
}

fn named((database, key): &Place) -> Named<'_> {
    (*database, key)
}

impl Kept {
    fn named(&self) -> Named<'_> {
        (self.database, &self.key)
    }

    fn place(&self) -> Place {
        (self.database, self.key.share())
    }
}

/// What is in a slot, if anything is.
fn at(chunks: &[Vec<Option<Kept>>], slot: Slot) -> Option<&Kept> {
    chunks.get(slot as usize / CHUNK)?.get(slot as usize % CHUNK)?.as_ref()
}

impl Table {
    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// How many slots there are, with keys and without.
    pub fn slots(&self) -> usize {
        self.chunks.iter().map(Vec::len).sum()
    }

    /// The key's slot, if it is there.
    pub fn slot(&self, place: &Place) -> Option<Slot> {
        let is_it = |slot: &Slot| at(&self.chunks, *slot).is_some_and(|kept| kept.named() == named(place));
        self.index.find(hash(named(place)), is_it).copied()
    }

    pub fn get(&self, place: &Place) -> Option<&Entry> {
        at(&self.chunks, self.slot(place)?).map(|kept| &kept.entry)
    }

    pub fn get_mut(&mut self, place: &Place) -> Option<&mut Entry> {
        let slot = self.slot(place)?;
        self.room(slot).as_mut().map(|kept| &mut kept.entry)
    }

    /// The key of a slot, if there is one.
    pub fn place(&self, slot: Slot) -> Option<Place> {
        at(&self.chunks, slot).map(Kept::place)
    }

    /// A key holds this from now on; its slot, and what it held before.
    ///
    /// # Panics
    /// If there are 2³² keys.
    pub fn insert(&mut self, place: &Place, entry: Entry) -> (Slot, Option<Entry>) {
        if let Some(slot) = self.slot(place) {
            let kept = self.room(slot).as_mut();
            return (slot, kept.map(|kept| std::mem::replace(&mut kept.entry, entry)));
        }
        let kept = Some(Kept { database: place.0, key: Text::copied(&place.1), entry });
        let slot = match self.free.pop() {
            Some(slot) => {
                *self.room(slot) = kept;
                slot
            }
            None => self.push(kept),
        };
        let Table { chunks, index, .. } = self;
        let hash_of = |slot: &Slot| at(chunks, *slot).map_or(0, |kept| hash(kept.named()));
        index.insert_unique(hash(named(place)), slot, hash_of);
        (slot, None)
    }

    /// Removes a key: its slot, and what it held.
    pub fn remove(&mut self, place: &Place) -> Option<(Slot, Entry)> {
        let chunks = &self.chunks;
        let is_it = |slot: &Slot| at(chunks, *slot).is_some_and(|kept| kept.named() == named(place));
        let (slot, _) = self.index.find_entry(hash(named(place)), is_it).ok()?.remove();
        let kept = self.room(slot).take();
        if self.index.is_empty() {
            // The memory goes back.
            *self = Table::default();
        } else {
            self.free.push(slot);
        }
        kept.map(|kept| (slot, kept.entry))
    }

    /// Keys with their entries from this slot on, in the order of their slots.
    pub fn starting_at(&self, slot: Slot) -> impl Iterator<Item = (Slot, Named<'_>, &Entry)> {
        let (first, skipped) = (slot as usize / CHUNK, slot as usize % CHUNK);
        let rest = self.chunks.get(first..).unwrap_or_default();
        // In this order: behind the last slot of all there is no other.
        let rest = rest.iter().flatten().skip(skipped).zip(slot..);
        rest.filter_map(|(kept, slot)| kept.as_ref().map(|kept| (slot, kept.named(), &kept.entry)))
    }

    /// Its keys with their entries, in the order of their slots. What has been taken out takes no room any more.
    pub fn into_entries(self) -> impl Iterator<Item = (Place, Entry)> {
        self.chunks.into_iter().flatten().flatten().map(|kept| (kept.place(), kept.entry))
    }

    fn room(&mut self, slot: Slot) -> &mut Option<Kept> {
        &mut self.chunks[slot as usize / CHUNK][slot as usize % CHUNK]
    }

    fn push(&mut self, kept: Option<Kept>) -> Slot {
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            // Few keys take little room: this one grows.
            let room = if self.chunks.is_empty() { 0 } else { CHUNK };
            self.chunks.push(Vec::with_capacity(room));
        }
        let before = (self.chunks.len() - 1) * CHUNK;
        let chunk = self.chunks.last_mut().expect("one was added if there was none");
        chunk.push(kept);
        Slot::try_from(before + chunk.len() - 1).expect("no machine has the memory for so many keys")
    }

    fn sorted(&self) -> Vec<&Kept> {
        let mut all: Vec<_> = self.chunks.iter().flatten().flatten().collect();
        all.sort_unstable_by_key(|kept| kept.named());
        all
    }
}

impl From<Vec<(Place, Entry)>> for Table {
    fn from(all: Vec<(Place, Entry)>) -> Table {
        let mut table = Table::default();
        for (place, entry) in all {
            table.insert(&place, entry);
        }
        table
    }
}

impl From<Table> for Vec<(Place, Entry)> {
    fn from(table: Table) -> Vec<(Place, Entry)> {
        table.sorted().into_iter().map(|kept| (kept.place(), kept.entry.clone())).collect()
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        self.sorted() == other.sorted()
    }
}

impl Eq for Table {}

impl PartialOrd for Table {
    fn partial_cmp(&self, other: &Table) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Table {
    fn cmp(&self, other: &Table) -> Ordering {
        self.sorted().cmp(&other.sorted())
    }
}

impl Hash for Table {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.sorted().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::redis::store::content::Content;
    use bytes::Bytes;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn entry(text: u8) -> Entry {
        Entry::of(Content::text(Bytes::from(vec![text])))
    }

    proptest! {
        #[test]
        fn it_has_what_a_map_has_and_a_key_keeps_its_slot(
            steps in prop::collection::vec((0_u8..2, 0_u8..12, any::<bool>(), any::<u8>()), 0..200)
        ) {
            let (mut table, mut map, mut slots) = (Table::default(), BTreeMap::new(), BTreeMap::new());
            for (database, key, inserts, text) in steps {
                let place: Place = (database, Bytes::from(vec![key]));
                if inserts {
                    let (slot, before) = table.insert(&place, entry(text));
                    prop_assert_eq!(before.as_ref(), map.get(&place));
                    prop_assert_eq!(*slots.entry(place.clone()).or_insert(slot), slot);
                    map.insert(place, entry(text));
                } else {
                    let gone = table.remove(&place);
                    prop_assert_eq!(gone.as_ref().map(|gone| gone.0), slots.remove(&place));
                    prop_assert_eq!(gone.map(|gone| gone.1), map.remove(&place));
                }
                prop_assert_eq!(table.len(), map.len());
                prop_assert!(map.iter().all(|(place, entry)| table.get(place) == Some(entry)));
                let all: Vec<(Place, Entry)> = table.clone().into();
                prop_assert!(all.iter().map(|(place, entry)| (place, entry)).eq(&map));
                prop_assert_eq!(Table::from(all), table.clone());
            }
        }
    }
}
