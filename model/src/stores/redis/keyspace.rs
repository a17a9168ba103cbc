//! The keys of one server: their values, when they die, and what of them is on disk.

use super::peer::{Effect, Lifetime, Put};
use super::protocol::{Change, Key, Millis, Value};
use super::sorted::Content;
use super::{Eviction, ExpiryClock, Layout, Persistence, Redis, Settings};
use crate::machine::{Context, Effects, StampGroup, Visitor};
use crate::time::{Due, Micros, Monotonic, Wall};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// The longest time that a change is not on disk with [`Persistence::AofEverySecond`].
pub(super) const SYNC_PERIOD: Micros = Micros::seconds(1);

/// `save 3600 1 300 100 60 10000`: after more than so long, if there were at least so many changes (`src/server.c`
/// `initServerConfig`, `redis.conf`).
const SAVE_POINTS: [(Micros, u32); 3] =
    [(Micros::seconds(3600), 1), (Micros::seconds(300), 100), (Micros::seconds(60), 10_000)];

/// Moments of death that travel between servers, and are compared with several servers' wall clocks.
pub(super) const DEATHS: StampGroup = StampGroup { space: 7, member: 0 };

/// A key with what it holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub key: Key,
    pub content: Content,
    /// From this moment on the key is dead; `None`: never.
    pub dies: Option<Due>,
}

impl Record {
    /// Whether the server's clock says that the key has expired.
    pub fn is_dead(&self, cx: &Context<Settings>) -> bool {
        self.dies.is_some_and(|due| match due {
            Due::Wall(at) => cx.wall >= at,
            Due::Monotonic(at) => cx.monotonic >= at,
        })
    }

    fn put(&self, cx: &Context<Settings>) -> Put {
        let lifetime = match self.dies {
            None => Lifetime::Endless,
            Some(Due::Wall(at)) => Lifetime::Until(at),
            Some(Due::Monotonic(at)) => Lifetime::For(at - cx.monotonic),
        };
        Put { key: self.key, content: self.content.clone(), lifetime }
    }

    fn from_put(put: &Put, cx: &Context<Settings>) -> Record {
        let dies = match put.lifetime {
            Lifetime::Endless => None,
            Lifetime::Until(at) => Some(Due::Wall(at)),
            Lifetime::For(rest) => Some(Due::Monotonic(cx.monotonic + rest)),
        };
        Record { key: put.key, content: put.content.clone(), dies }
    }

    fn visit<V: Visitor>(&mut self, is_replicated: bool, visitor: &mut V) {
        self.content.visit(self.key, visitor);
        match &mut self.dies {
            // Other servers judge the same moment by their clocks.
            Some(Due::Wall(at)) if is_replicated => visitor.stamp(DEATHS, at),
            Some(due) => visitor.due(due),
            None => {}
        }
    }
}

/// The first moment at which a key that gets this time to live now is dead.
///
/// The server counts whole milliseconds (`src/server.c` `mstime`: microseconds divided, rounded down). A key's
/// moment is now + ttl in them, and it has expired once now is *greater* (`src/db.c` `keyIsExpired`): that millisecond
/// is still one of its life.
pub(super) fn dies_after(ttl: Millis, cx: &Context<Settings>) -> Due {
    let first_dead = |now_micros: i64| {
        let when_ms = now_micros.div_euclid(1_000).saturating_add(ttl.0);
        when_ms.saturating_add(1).saturating_mul(1_000)
    };
    match cx.settings.expiry_clock {
        ExpiryClock::Wall => Due::Wall(Wall(first_dead(cx.wall.0))),
        ExpiryClock::Monotonic => Due::Monotonic(Monotonic(first_dead(cx.monotonic.0))),
    }
}

/// One entry into a server: who asks, and what is to be told to whom.
pub(super) struct Turn<'a> {
    pub cx: &'a Context<'a, Settings>,
    pub effects: &'a mut Effects<Redis>,
    /// The client whose request this is; `None`: nobody's.
    pub by: Option<u8>,
    /// Whether it tells what changes: not on a mere replica.
    pub reports: bool,
    /// What changed, in order, if there are replicas to be told.
    pub changed: Option<SmallVec<[Effect; 2]>>,
}

impl Turn<'_> {
    fn note(&mut self, effect: impl FnOnce(&Context<Settings>) -> Effect) {
        if let Some(changed) = &mut self.changed {
            changed.push(effect(self.cx));
        }
    }

    /// The record is new. Of sorted sets nothing is told.
    fn came(&mut self, Record { key, content, .. }: &Record) {
        let key = *key;
        if let Some(value) = content.value().filter(|_| self.reports) {
            let alone = self.is_alone();
            self.effects.changed(Change::Came { key, value, alone });
        }
    }

    /// The key's time to live counts anew, on the word of whoever signed it.
    pub(super) fn prolonged(&mut self, key: Key, value: Value) {
        if self.reports {
            let alone = self.is_alone();
            self.effects.changed(Change::Prolonged { key, value, alone });
        }
    }

    fn is_alone(&self) -> bool {
        self.cx.servers == 1 || self.cx.settings.layout != Layout::Independent
    }

    /// The record is gone from this server by `by`'s doing.
    fn gone(&mut self, Record { key, content, .. }: &Record, by: Option<u8>) {
        let key = *key;
        if let Some(value) = content.value().filter(|_| self.reports) {
            self.effects.changed(Change::Gone { key, value, by });
        }
    }
}

/// All keys of one server.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Keyspace {
    /// Ordered by key; with [`Eviction::AllKeysLru`] and a limit by their last use instead, the latest last.
    records: SmallVec<[Record; 2]>,
    /// What was on disk at the last sync, while the disk is behind; else that is `records`, and this empty.
    synced: Vec<Record>,
    disk: Disk,
}

/// How far the disk is.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Disk {
    /// It has all there is.
    #[default]
    Even,
    /// It is behind, and the AOF is synced then.
    Behind(Monotonic),
    /// With [`Persistence::Rdb`]: the last snapshot, and when the next one is taken, if the disk is behind.
    Snapshots(Snapshot, Option<Monotonic>),
}

/// The last snapshot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Snapshot {
    /// When it was taken.
    at: Monotonic,
    /// How much was written since, up to the most that matters.
    changes: u32,
}

impl Snapshot {
    /// When the next one is taken, if nothing more is written.
    fn next(&self) -> Option<Monotonic> {
        let reached = SAVE_POINTS.into_iter().filter(|(_, changes)| self.changes >= *changes);
        // In whole seconds, and only after *more* than that (`src/server.c` `serverCron`).
        reached.map(|(after, _)| self.at + after + Micros::seconds(1)).min()
    }
}

impl Keyspace {
    pub fn len(&self) -> usize {
        self.records.len()
    }

    fn position(&self, key: Key) -> Option<usize> {
        self.records.iter().position(|record| record.key == key)
    }

    /// The key's record, dead or not, for who is no client: it does not count as used.
    pub fn peek(&self, key: Key) -> Option<Record> {
        self.position(key).map(|at| self.records[at].clone())
    }

    /// The key's record, dead or not. It counts as used.
    pub fn find(&mut self, key: Key, cx: &Context<Settings>) -> Option<Record> {
        let at = self.position(key)?;
        if orders_by_use(cx.settings) {
            self.records[at..].rotate_left(1);
            return self.records.last().cloned();
        }
        Some(self.records[at].clone())
    }

    /// Writes the record, over whatever the key held.
    pub fn put(&mut self, record: Record, turn: &mut Turn) {
        self.before_change(turn.cx);
        turn.note(|cx| Effect::Put(record.put(cx)));
        let by_use = orders_by_use(turn.cx.settings);
        match self.position(record.key) {
            Some(at) => {
                let before = std::mem::replace(&mut self.records[at], record);
                if before.content != self.records[at].content {
                    turn.gone(&before, turn.by);
                    turn.came(&self.records[at]);
                }
                if by_use {
                    self.records[at..].rotate_left(1);
                }
            }
            None => {
                let at = match by_use {
                    true => self.records.len(),
                    false => self.records.partition_point(|other| other.key < record.key),
                };
                turn.came(&record);
                self.records.insert(at, record);
            }
        }
    }

    /// Removes the key by the doing of `by`; whether it was there.
    pub fn remove(&mut self, key: Key, by: Option<u8>, turn: &mut Turn) -> bool {
        let Some(at) = self.position(key) else { return false };
        self.before_change(turn.cx);
        turn.note(|_| Effect::Remove(key));
        let record = self.records.remove(at);
        turn.gone(&record, by);
        true
    }

    /// `FLUSHALL`: whoever asked for it, it was meant for no key in particular.
    pub fn clear(&mut self, turn: &mut Turn) {
        if self.records.is_empty() {
            return;
        }
        self.before_change(turn.cx);
        turn.note(|_| Effect::Clear);
        for record in std::mem::take(&mut self.records) {
            turn.gone(&record, None);
        }
        if turn.cx.settings.persistence == Persistence::Rdb {
            // The one command that is saved at once (`src/db.c` `flushAllDataAndResetRDB`).
            self.sync(turn.cx);
        }
    }

    /// Removes what has expired, as the real server does at its next chance (`src/expire.c` `activeExpireCycle`) and at
    /// the latest when somebody asks for the key (`src/db.c` `expireIfNeeded`).
    pub fn expire(&mut self, turn: &mut Turn) {
        while let Some(dead) = self.records.iter().find(|record| record.is_dead(turn.cx)).map(|dead| dead.key)
        {
            self.remove(dead, None, turn);
        }
    }

    /// Evicts the key that was not used for longest.
    pub fn evict(&mut self, turn: &mut Turn) {
        if let Some(unused) = self.records.first().map(|record| record.key) {
            turn.effects.remark = Some("memory full: evicts the key unused for longest");
            self.remove(unused, None, turn);
        }
    }

    /// When the next key dies.
    pub fn next_death(&self) -> Option<Due> {
        self.records.iter().filter_map(|record| record.dies).min()
    }

    /// What a replica needs to have the same keys.
    pub fn image(&self, cx: &Context<Settings>) -> SmallVec<[Put; 2]> {
        self.records.iter().map(|record| record.put(cx)).collect()
    }

    /// A replica applies what its master has done. Nothing is judged: what the master says is so.
    pub fn apply(&mut self, effect: &Effect, turn: &mut Turn) {
        match effect {
            Effect::Put(put) => self.put(Record::from_put(put, turn.cx), turn),
            Effect::Remove(key) => {
                self.remove(*key, None, turn);
            }
            Effect::Clear => self.clear(turn),
        }
    }

    /// A replica takes over all its master's keys in place of its own.
    pub fn load(&mut self, image: &[Put], turn: &mut Turn) {
        self.before_change(turn.cx);
        let before = std::mem::take(&mut self.records);
        self.records.extend(image.iter().map(|put| Record::from_put(put, turn.cx)));
        self.report_missing(&before, turn);
    }

    /// The server starts again, with what the crash has left of its memory and disk; a master expires what died
    /// meanwhile.
    pub fn restart(&mut self, power_lost: bool, is_master: bool, turn: &mut Turn) {
        let before = self.records.clone();
        match (turn.cx.settings.persistence, power_lost) {
            (Persistence::None, _) => self.records.clear(),
            (Persistence::AofEverySecond, true) | (Persistence::Rdb, _) if self.sync_due().is_some() => {
                self.records.clear();
                self.records.extend(self.synced.iter().cloned());
                self.sync(turn.cx);
            }
            // What the operating system still has to write goes on being unsynced.
            (Persistence::AofEverySecond | Persistence::AofAlways | Persistence::Rdb, _) => {}
        }
        if let Disk::Snapshots(snapshot, _) = &mut self.disk {
            // `lastsave` is when the process began.
            snapshot.at = turn.cx.monotonic;
        }
        if is_master {
            // What had expired before the crash, and is back from an older image, was reported then.
            let reports = std::mem::replace(&mut turn.reports, false);
            self.expire(turn);
            turn.reports = reports;
        }
        self.report_missing(&before, turn);
    }

    fn report_missing(&self, before: &[Record], turn: &mut Turn) {
        for record in before {
            let is_there = |other: &Record| (other.key, &other.content) == (record.key, &record.content);
            if !self.records.iter().any(is_there) {
                turn.gone(record, None);
            }
        }
    }

    /// From here on the disk is behind, if it is written now and then: keeps what is on it.
    fn before_change(&mut self, cx: &Context<Settings>) {
        let disk = match (cx.settings.persistence, self.disk) {
            (Persistence::None | Persistence::AofAlways, _) => return,
            (Persistence::AofEverySecond, behind @ Disk::Behind(_)) => behind,
            (Persistence::AofEverySecond, Disk::Even | Disk::Snapshots(..)) => {
                Disk::Behind(cx.monotonic + SYNC_PERIOD)
            }
            (Persistence::Rdb, disk) => {
                let mut snapshot = match disk {
                    Disk::Snapshots(snapshot, _) => snapshot,
                    Disk::Even | Disk::Behind(_) => Snapshot { at: cx.monotonic, changes: 0 },
                };
                snapshot.changes = (snapshot.changes + 1).min(SAVE_POINTS[2].1);
                Disk::Snapshots(snapshot, snapshot.next().map(|at| at.max(cx.monotonic)))
            }
        };
        if self.sync_due().is_none() {
            self.synced.extend_from_slice(&self.records);
        }
        self.disk = disk;
    }

    /// When the disk catches up, if it is behind.
    pub fn sync_due(&self) -> Option<Monotonic> {
        match self.disk {
            Disk::Even => None,
            Disk::Behind(due) => Some(due),
            Disk::Snapshots(_, due) => due,
        }
    }

    /// Brings on disk what there is.
    pub fn sync(&mut self, cx: &Context<Settings>) {
        self.synced.clear();
        self.disk = match self.disk {
            Disk::Even | Disk::Behind(_) => Disk::Even,
            Disk::Snapshots(..) => Disk::Snapshots(Snapshot { at: cx.monotonic, changes: 0 }, None),
        };
    }

    pub fn visit<V: Visitor>(&mut self, is_replicated: bool, visitor: &mut V) {
        for record in self.records.iter_mut().chain(&mut self.synced) {
            record.visit(is_replicated, visitor);
        }
        match &mut self.disk {
            Disk::Even => {}
            Disk::Behind(due) => visitor.wake(due),
            Disk::Snapshots(snapshot, due) => {
                // One second more, as in `next`.
                visitor.since(&mut snapshot.at, SAVE_POINTS[0].0 + Micros::seconds(1));
                due.iter_mut().for_each(|at| visitor.wake(at));
            }
        }
    }

    /// One line per key, and one if the disk is behind.
    pub fn contents(&self) -> impl Iterator<Item = String> {
        let records = self.records.iter().map(|Record { key, content, dies }| match dies {
            None => format!("{key} = {content}"),
            Some(Due::Wall(Wall(at)) | Due::Monotonic(Monotonic(at))) => {
                format!("{key} = {content}, dies at {}", Micros(*at))
            }
        });
        records.chain(self.sync_due().map(|_| "unsynced".to_owned()))
    }
}

fn orders_by_use(settings: &Settings) -> bool {
    settings.keys_max.is_some() && settings.eviction == Eviction::AllKeysLru
}
