//! How far the disk of a server is behind its memory.

use super::keyspace::{Entry, Place};
use super::settings::Settings;
use picklock_model::machine::Context;
use picklock_model::stores::redis::Persistence;
use picklock_model::time::{Micros, Monotonic};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How often `appendfsync everysec` syncs.
const SYNC_PERIOD: Micros = Micros::seconds(1);

/// `save 3600 1 300 100 60 10000`: a snapshot is taken this long after the last one, if so much was written.
const SAVE_POINTS: [(Micros, u32); 3] =
    [(Micros::seconds(3600), 1), (Micros::seconds(300), 100), (Micros::seconds(60), 10_000)];

/// What is not on disk yet. The rules are those of the model's Redis, where their sources and what they leave out are said.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Disk {
    /// What the disk has of the keys in which it differs from the memory; `None`: it has no such key.
    older: BTreeMap<Place, Option<Entry>>,
    /// When it catches up.
    due: Option<Monotonic>,
    /// When the last snapshot was taken, or the process began, and how much was written since, up to the most that matters.
    snapshot: Option<(Monotonic, u32)>,
}

impl Disk {
    /// The end of the process leaves nothing.
    pub fn forgets_all(&self, settings: &Settings) -> bool {
        settings.persistence == Persistence::None
    }

    /// A key is about to change, which has this entry.
    pub fn before_change(
        &mut self,
        place: &Place,
        entry: impl FnOnce() -> Option<Entry>,
        cx: &Context<Settings>,
    ) {
        match cx.settings.persistence {
            Persistence::None | Persistence::AofAlways => return,
            Persistence::AofEverySecond => {
                self.due.get_or_insert(cx.monotonic + SYNC_PERIOD);
            }
            Persistence::Rdb => {
                let (at, changes) = self.snapshot.unwrap_or((cx.monotonic, 0));
                let changes = (changes + 1).min(SAVE_POINTS[2].1);
                self.snapshot = Some((at, changes));
                let reached = SAVE_POINTS.into_iter().filter(|(_, least)| changes >= *least);
                // In whole seconds, and only after *more* than that (`src/server.c` `serverCron`).
                let due = reached.map(|(after, _)| at + after + Micros::seconds(1)).min();
                self.due = due.map(|due| due.max(cx.monotonic));
            }
        }
        self.older.entry(place.clone()).or_insert_with(entry);
    }

    /// Everything was flushed.
    pub fn flushed(&mut self, cx: &Context<Settings>) {
        if cx.settings.persistence == Persistence::Rdb {
            self.sync(cx);
        }
    }

    /// When it catches up, if it is behind.
    pub fn due(&self) -> Option<Monotonic> {
        self.due
    }

    /// Whether it has everything.
    pub fn is_even(&self) -> bool {
        self.older.is_empty()
    }

    /// When the last snapshot was taken.
    pub fn sync(&mut self, cx: &Context<Settings>) {
        self.older.clear();
        self.due = None;
        if self.snapshot.is_some() {
            self.snapshot = Some((cx.monotonic, 0));
        }
    }

    /// The process starts again; what its memory has to take back.
    pub fn restart(&mut self, power_lost: bool, cx: &Context<Settings>) -> BTreeMap<Place, Option<Entry>> {
        match (cx.settings.persistence, power_lost) {
            (Persistence::AofEverySecond, true) | (Persistence::Rdb, _) => {
                let older = std::mem::take(&mut self.older);
                self.due = None;
                // `lastsave` is when the process began.
                self.snapshot = self.snapshot.map(|_| (cx.monotonic, 0));
                older
            }
            // What the operating system still has to write goes on being unsynced.
            (Persistence::AofEverySecond, false) | (Persistence::AofAlways | Persistence::None, _) => {
                BTreeMap::new()
            }
        }
    }
}
