//! The databases of one server, and how far its disk is behind them.

use super::content::Content;
use super::disk::Disk;
use super::settings::Settings;
use super::table::{Named, Slot, Table};
use bytes::Bytes;
use picklock_model::machine::Context;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// How many databases there are: the default of the real server.
pub const DATABASES: u8 = 16;

/// A key of a database.
pub type Place = (u8, Bytes);

/// Some of them, and most often one.
pub type Places = SmallVec<[Place; 1]>;

/// A key's content, and what else is known of the key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Entry {
    pub content: Content,
    /// The last millisecond of its life, since 1970 by the server's wall clock (`src/db.c` `keyIsExpired` says `now >
    /// when`); `None`: it does not die.
    pub dies: Option<i64>,
    /// When it was last used, as a count of uses.
    used: u64,
}

#[cfg(test)]
impl Entry {
    /// One that does not die.
    pub fn of(content: Content) -> Entry {
        Entry { content, dies: None, used: 0 }
    }
}

/// All keys of one server.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Keyspace {
    entries: Table,
    /// How many keys each database has that has any.
    counts: BTreeMap<u8, usize>,
    /// Keys by the last millisecond of their lives.
    deaths: BTreeSet<(i64, Slot)>,
    uses: u64,
    disk: Disk,
    /// What was changed in this step, in order.
    touched: Places,
    /// What has expired, and was not told.
    expired: Vec<Place>,
}

/// The server's wall clock, in milliseconds since 1970.
pub fn unix_ms(cx: &Context<Settings>) -> i64 {
    unix_micros(cx).div_euclid(1_000)
}

/// The server's wall clock, in microseconds since 1970.
pub fn unix_micros(cx: &Context<Settings>) -> i64 {
    cx.wall.0.saturating_add(cx.settings.date)
}

/// These places in order, each once.
pub fn each_once(mut places: Places) -> Places {
    if places.len() > 1 {
        places.sort_unstable();
        places.dedup();
    }
    places
}

/// The same key, for whoever keeps it.
pub fn placed((database, key): Named) -> Place {
    (database, Bytes::copy_from_slice(key))
}

impl Keyspace {
    /// How many keys a database has.
    pub fn len(&self, database: u8) -> usize {
        self.counts.get(&database).copied().unwrap_or(0)
    }

    /// How many slots there are, with keys and without.
    pub fn slots(&self) -> usize {
        self.entries.slots()
    }

    /// How many keys there are.
    pub fn total(&self) -> usize {
        self.entries.len()
    }

    /// How many of a database's keys die by themselves.
    pub fn mortal(&self, database: u8) -> usize {
        self.entries
            .starting_at(0)
            .filter(|(_, (of, _), entry)| *of == database && entry.dies.is_some())
            .count()
    }

    /// A key's entry, dead or not.
    pub fn peek(&self, place: &Place) -> Option<&Entry> {
        self.entries.get(place)
    }

    /// A key's entry, if it is alive; it counts as used.
    pub fn find(&mut self, place: &Place, now_ms: i64) -> Option<&Entry> {
        let entry = self.entries.get_mut(place).filter(|entry| entry.dies.is_none_or(|at| now_ms <= at))?;
        self.uses += 1;
        entry.used = self.uses;
        Some(entry)
    }

    /// Keys of a database from this slot on, with their slots: a key keeps its own while others come and go.
    pub fn starting_at(&self, database: u8, slot: Slot) -> impl Iterator<Item = (Slot, &[u8], &Entry)> {
        let all = self.entries.starting_at(slot);
        all.filter(move |(_, (of, _), _)| *of == database).map(|(slot, (_, key), entry)| (slot, key, entry))
    }

    /// A key holds this from now on, and dies then.
    pub fn put(&mut self, place: Place, content: Content, dies: Option<i64>, cx: &Context<Settings>) {
        self.before_change(&place, cx);
        self.uses += 1;
        self.keep(&place, Entry { content, dies, used: self.uses });
    }

    /// A key gets another time of death, or none.
    pub fn set_death(&mut self, place: &Place, dies: Option<i64>, cx: &Context<Settings>) {
        self.before_change(place, cx);
        let Some(slot) = self.entries.slot(place) else { return };
        let Some(entry) = self.entries.get_mut(place) else { return };
        let died = std::mem::replace(&mut entry.dies, dies);
        self.dies_not(died, slot);
        self.deaths.extend(dies.map(|at| (at, slot)));
    }

    /// Changes what a key holds, in its place. A collection that becomes empty goes.
    pub fn edit<T>(
        &mut self,
        place: &Place,
        cx: &Context<Settings>,
        change: impl FnOnce(&mut Content) -> T,
    ) -> Option<T> {
        self.entries.slot(place)?;
        self.before_change(place, cx);
        let entry = self.entries.get_mut(place)?;
        let changed = change(&mut entry.content);
        if entry.content.is_empty() {
            self.forget(place);
        }
        Some(changed)
    }

    /// Removes a key; whether it was there.
    pub fn remove(&mut self, place: &Place, cx: &Context<Settings>) -> bool {
        if self.entries.slot(place).is_none() {
            return false;
        }
        self.before_change(place, cx);
        self.forget(place);
        true
    }

    /// Removes all keys of a database, or all there are.
    pub fn clear(&mut self, database: Option<u8>, cx: &Context<Settings>) {
        let Some(database) = database else { return self.clear_all(cx) };
        let of = |named: &Named| named.0 == database;
        let gone: Vec<Place> = self.entries().map(|(named, _)| named).filter(of).map(placed).collect();
        for place in &gone {
            self.remove(place, cx);
        }
    }

    /// All keys go, one after the other: nothing of them is there twice.
    fn clear_all(&mut self, cx: &Context<Settings>) {
        if self.entries.len() == 0 {
            return;
        }
        self.counts.clear();
        self.deaths.clear();
        self.touched.reserve_exact(self.entries.len());
        for (place, entry) in std::mem::take(&mut self.entries).into_entries() {
            self.disk.before_change(&place, || Some(entry), cx);
            self.touched.push(place);
        }
        // The one command after which a snapshot is taken at once (`src/db.c` `flushAllDataAndResetRDB`).
        self.disk.flushed(cx);
    }

    /// What was in one database is in the other from now on.
    pub fn swap(&mut self, first: u8, second: u8, cx: &Context<Settings>) {
        if first == second {
            return;
        }
        let is_moved = |((database, _), _): &(Named, &Entry)| *database == first || *database == second;
        let moved = self.entries().filter(is_moved);
        let moved: Vec<(Place, Entry)> = moved.map(|(named, entry)| (placed(named), entry.clone())).collect();
        for (place, _) in &moved {
            self.remove(place, cx);
        }
        for ((database, key), entry) in moved {
            let database = if database == first { second } else { first };
            self.put((database, key), entry.content, entry.dies, cx);
        }
    }

    /// Removes what has expired, as the real server does at its next chance (`src/expire.c` `activeExpireCycle`) and at the
    /// latest when somebody asks for the key (`src/db.c` `expireIfNeeded`).
    pub fn expire(&mut self, cx: &Context<Settings>) {
        let now_ms = unix_ms(cx);
        while let Some((at, slot)) = self.deaths.first().filter(|(at, _)| now_ms > *at).copied() {
            match self.entries.place(slot) {
                Some(place) => {
                    self.remove(&place, cx);
                    self.expired.push(place);
                }
                None => drop(self.deaths.remove(&(at, slot))),
            }
        }
    }

    /// What has expired since this was asked last.
    pub fn take_expired(&mut self) -> Vec<Place> {
        std::mem::take(&mut self.expired)
    }

    /// Evicts the key that was not used for longest, if there is one.
    pub fn evict(&mut self, cx: &Context<Settings>) -> Option<Place> {
        let unused = self.entries().min_by_key(|(_, entry)| entry.used);
        let place = unused.map(|(named, _)| placed(named))?;
        self.remove(&place, cx);
        Some(place)
    }

    /// Evicts all keys, or all that die by themselves, the one first that was not used for longest.
    pub fn evict_all(&mut self, only_mortal: bool, cx: &Context<Settings>) -> Vec<Place> {
        let all = self.entries().filter(|(_, entry)| !only_mortal || entry.dies.is_some());
        let mut gone: Vec<(u64, Place)> = all.map(|(named, entry)| (entry.used, placed(named))).collect();
        gone.sort_unstable();
        let gone: Vec<Place> = gone.into_iter().map(|(_, place)| place).collect();
        for place in &gone {
            self.remove(place, cx);
        }
        gone
    }

    /// The last millisecond in the life of the key that dies next.
    pub fn next_death(&self) -> Option<i64> {
        self.deaths.first().map(|(at, _)| *at)
    }

    /// Every key with its entry, in no order.
    pub fn entries(&self) -> impl Iterator<Item = (Named<'_>, &Entry)> {
        self.entries.starting_at(0).map(|(_, named, entry)| (named, entry))
    }

    /// Whether nothing was changed since then.
    pub fn is_untouched(&self) -> bool {
        self.touched.is_empty()
    }

    /// What was changed since this was asked last, each key once.
    pub fn take_touched(&mut self) -> Places {
        each_once(std::mem::take(&mut self.touched))
    }

    /// How far the disk is.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Brings on disk what there is.
    pub fn sync(&mut self, cx: &Context<Settings>) {
        self.disk.sync(cx);
    }

    /// The server starts again, with what the end of its process has left of its memory and disk.
    pub fn restart(&mut self, power_lost: bool, cx: &Context<Settings>) {
        if self.disk.forgets_all(cx.settings) {
            *self = Keyspace::default();
            return;
        }
        for (place, entry) in self.disk.restart(power_lost, cx) {
            self.forget(&place);
            if let Some(entry) = entry {
                self.keep(&place, entry);
            }
        }
        self.touched.clear();
    }

    fn before_change(&mut self, place: &Place, cx: &Context<Settings>) {
        self.disk.before_change(place, || self.entries.get(place).cloned(), cx);
        self.touched.push(place.clone());
    }

    fn keep(&mut self, place: &Place, entry: Entry) {
        let dies = entry.dies;
        let (slot, before) = self.entries.insert(place, entry);
        match before {
            Some(before) => self.dies_not(before.dies, slot),
            None => *self.counts.entry(place.0).or_default() += 1,
        }
        self.deaths.extend(dies.map(|at| (at, slot)));
    }

    fn dies_not(&mut self, died: Option<i64>, slot: Slot) {
        if let Some(at) = died {
            self.deaths.remove(&(at, slot));
        }
    }

    fn forget(&mut self, place: &Place) {
        let Some((slot, entry)) = self.entries.remove(place) else { return };
        self.dies_not(entry.dies, slot);
        if let Some(count) = self.counts.get_mut(&place.0) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&place.0);
            }
        }
    }
}
