//! Keys with their entries: each in a slot of its own, and found by a hash of the key.

use super::content::Content;
use super::keyspace::{Entry, Place};
use bytes::Bytes;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::hash::{BuildHasher, Hash, Hasher};

/// The number of a key's slot: it is the key's for as long as the key is there, and then another key's.
pub type Slot = u32;

/// Shorter values are kept as copies of their own, which are smaller than a share in what has arrived.
const COPIED_MAX: usize = 64;

/// Keys with their entries.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(Place, Entry)>", into = "Vec<(Place, Entry)>")]
pub struct Table {
    slots: Vec<Option<Box<(Place, Entry)>>>,
    free: Vec<Slot>,
    index: HashTable<Slot>,
}

// Where keys are is nobody's business: nothing that is compared, stored or shown depends on it.
fn hash(place: &Place) -> u64 {
    let mut hasher = FixedState::with_seed(0).build_hasher();
    hasher.write_u8(place.0);
    hasher.write(&place.1);
    hasher.finish()
}

impl Table {
    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// The key's slot, if it is there.
    pub fn slot(&self, place: &Place) -> Option<Slot> {
        self.index.find(hash(place), |slot| self.is_at(*slot, place)).copied()
    }

    pub fn get(&self, place: &Place) -> Option<&Entry> {
        self.at(self.slot(place)?).map(|(_, entry)| entry)
    }

    pub fn get_mut(&mut self, place: &Place) -> Option<&mut Entry> {
        let slot = self.slot(place)?;
        self.slots[slot as usize].as_mut().map(|kept| &mut kept.1)
    }

    /// What is in a slot, if anything is.
    pub fn at(&self, slot: Slot) -> Option<&(Place, Entry)> {
        self.slots.get(slot as usize)?.as_deref()
    }

    /// A key holds this from now on; its slot, and what it held before.
    ///
    /// # Panics
    /// If there are 2³² keys.
    pub fn insert(&mut self, place: &Place, mut entry: Entry) -> (Slot, Option<Entry>) {
        if let Content::Text(text) = &mut entry.content
            && text.len() <= COPIED_MAX
        {
            *text = Bytes::copy_from_slice(text);
        }
        if let Some(slot) = self.slot(place) {
            let kept = self.slots[slot as usize].as_mut();
            return (slot, kept.map(|kept| std::mem::replace(&mut kept.1, entry)));
        }
        let kept = Some(Box::new(((place.0, Bytes::copy_from_slice(&place.1)), entry)));
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = kept;
                slot
            }
            None => {
                self.slots.push(kept);
                Slot::try_from(self.slots.len() - 1).expect("no machine has the memory for so many keys")
            }
        };
        let Table { slots, index, .. } = self;
        let hash_of = |slot: &Slot| slots[*slot as usize].as_ref().map_or(0, |kept| hash(&kept.0));
        index.insert_unique(hash(place), slot, hash_of);
        (slot, None)
    }

    /// Removes a key: its slot, and what it held.
    pub fn remove(&mut self, place: &Place) -> Option<(Slot, Entry)> {
        let slots = &self.slots;
        let is_it = |slot: &Slot| slots[*slot as usize].as_ref().is_some_and(|kept| kept.0 == *place);
        let (slot, _) = self.index.find_entry(hash(place), is_it).ok()?.remove();
        let kept = self.slots[slot as usize].take();
        if self.index.is_empty() {
            // The memory goes back.
            *self = Table::default();
        } else {
            self.free.push(slot);
        }
        kept.map(|kept| (slot, kept.1))
    }

    /// Keys with their entries from this slot on, in the order of their slots.
    pub fn starting_at(&self, slot: Slot) -> impl Iterator<Item = (Slot, &(Place, Entry))> {
        let rest = self.slots.get(slot as usize..).unwrap_or_default();
        // In this order: behind the last slot of all there is no other.
        rest.iter().zip(slot..).filter_map(|(kept, slot)| Some((slot, kept.as_deref()?)))
    }

    /// Its keys with their entries, in the order of their slots.
    pub fn into_entries(self) -> impl Iterator<Item = (Place, Entry)> {
        self.slots.into_iter().flatten().map(|kept| *kept)
    }

    fn is_at(&self, slot: Slot, place: &Place) -> bool {
        self.at(slot).is_some_and(|(kept, _)| kept == place)
    }

    fn sorted(&self) -> Vec<&(Place, Entry)> {
        let mut all: Vec<_> = self.starting_at(0).map(|(_, kept)| kept).collect();
        all.sort_unstable_by_key(|(place, _)| place);
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
        table.sorted().into_iter().cloned().collect()
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
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn entry(text: u8) -> Entry {
        Entry::of(Content::Text(Bytes::from(vec![text])))
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
