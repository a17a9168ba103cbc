//! What all members agree about: keys, their history and leases, changed by one entry of the log after the other.
//!
//! After `server/storage/mvcc/kvstore_txn.go` and `server/etcdserver/txn`. Every entry that changes something raises the
//! revision by one, however much it changes; one that changes nothing leaves it.

use super::names::{Key, KeyValue, LeaseId, Revision};
use super::protocol::*;
use crate::machine::{Visitor, put_in_order};
use crate::time::Micros;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::cmp::Ordering;

/// A lease, as far as all members know it: not when it ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Lease {
    pub(super) id: LeaseId,
    pub(super) ttl: Option<Micros>,
    /// What was left of it at the last checkpoint, if there was one since it was last kept alive.
    pub(super) remaining: Option<Micros>,
}

/// The state machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Kv {
    pub(super) revision: Revision,
    /// What is below this revision cannot be asked for any more.
    compacted: Revision,
    /// The keys that there are, in order.
    keys: SmallVec<[KeyValue; 2]>,
    /// The same at the revision of the last compaction, after which `history` goes on.
    base: SmallVec<[KeyValue; 0]>,
    /// All events from that revision on, in order.
    history: SmallVec<[WatchEvent; 2]>,
    /// The leases that there are, in order.
    leases: SmallVec<[Lease; 2]>,
}

impl Kv {
    pub(super) fn new() -> Kv {
        Kv {
            revision: Revision::FIRST,
            compacted: Revision::ZERO,
            keys: SmallVec::new(),
            base: SmallVec::new(),
            history: SmallVec::new(),
            leases: SmallVec::new(),
        }
    }

    pub(super) fn keys(&self) -> &[KeyValue] {
        &self.keys
    }

    pub(super) fn get(&self, key: Key) -> Option<&KeyValue> {
        self.place(key).ok().map(|place| &self.keys[place])
    }

    pub(super) fn leases(&self) -> &[Lease] {
        &self.leases
    }

    pub(super) fn lease(&self, id: LeaseId) -> Option<&Lease> {
        self.leases.iter().find(|lease| lease.id == id)
    }

    /// The keys that go with a lease, in order.
    pub(super) fn keys_of(&self, id: LeaseId) -> impl Iterator<Item = &KeyValue> {
        self.keys.iter().filter(move |kv| kv.lease == Some(id))
    }

    /// Of each prefix, the key created first of those that are bound to a lease.
    pub(super) fn firsts(&self) -> impl Iterator<Item = &KeyValue> {
        let is_first = |kv: &&KeyValue| {
            let is_earlier = |other: &KeyValue| {
                other.key.prefix == kv.key.prefix
                    && other.lease.is_some()
                    && (other.create_revision, other.key) < (kv.create_revision, kv.key)
            };
            kv.lease.is_some() && !self.keys.iter().any(is_earlier)
        };
        self.keys.iter().filter(is_first)
    }

    /// What has happened since.
    pub(super) fn events_after(&self, revision: Revision) -> impl Iterator<Item = &WatchEvent> {
        let first = self.history.partition_point(|event| event.revision() <= revision);
        self.history[first..].iter()
    }

    /// See [`super::History::WhileUnderWay`].
    pub(super) fn forget_events_before(&mut self, revision: Revision) {
        self.history.retain(|event| event.revision() >= revision);
    }

    /// `KV.Range`.
    pub(super) fn range(&self, range: &Range) -> Result<Found, Error> {
        let found = match range.revision {
            None => find(range, self.keys.iter()),
            Some(at) if at > self.revision => return Err(Error::FutureRevision),
            Some(at) if at < self.compacted => return Err(Error::Compacted),
            Some(at) => find(range, self.keys_at(at).iter()),
        };
        Ok(found)
    }

    /// `KV.Put`.
    pub(super) fn put(&mut self, put: &Put) -> Result<(), Error> {
        self.check_lease(put)?;
        self.revision = self.revision.next();
        self.write(put);
        Ok(())
    }

    /// `KV.DeleteRange`.
    pub(super) fn delete(&mut self, keys: Keys) -> u32 {
        let at = self.revision.next();
        let deleted = self.remove(|kv| keys.contains(kv.key), at);
        self.raise_if(deleted > 0);
        deleted
    }

    /// `KV.Txn`. It is checked before anything is done (`checkRequestPut`, `checkTxnRequest`): all or nothing.
    pub(super) fn txn(&mut self, txn: &Txn) -> Result<(bool, SmallVec<[Response; 2]>), Error> {
        check_keys(&txn.success)?;
        check_keys(&txn.failure)?;
        let succeeded = txn.compare.iter().all(|compare| self.holds(compare));
        let steps = if succeeded { &txn.success } else { &txn.failure };
        // All puts are checked before any range is.
        for step in steps {
            if let Step::Put(put) = step {
                self.check_lease(put)?;
            }
        }
        for step in steps {
            match step {
                Step::Range(Range { revision: Some(at), .. }) if *at > self.revision => {
                    return Err(Error::FutureRevision);
                }
                Step::Range(Range { revision: Some(at), .. }) if *at < self.compacted => {
                    return Err(Error::Compacted);
                }
                Step::Range(_) | Step::Put(_) | Step::Delete(_) => {}
            }
        }
        // The revision is raised with the first change: a read at the next revision sees the changes before it.
        let (before, at) = (self.revision, self.revision.next());
        let mut responses = SmallVec::new();
        for step in steps {
            let response = match step {
                Step::Range(range) => Response::Range(self.range(range)?),
                Step::Put(put) => {
                    self.revision = at;
                    self.write(put);
                    Response::Put
                }
                Step::Delete(keys) => {
                    let deleted = self.remove(|kv| keys.contains(kv.key), at);
                    self.revision = if deleted > 0 { at } else { self.revision };
                    Response::Deleted(deleted)
                }
            };
            responses.push(response);
        }
        debug_assert!(self.revision == before || self.revision == at, "one transaction, one revision");
        Ok((succeeded, responses))
    }

    /// `KV.Compact`.
    pub(super) fn compact(&mut self, at: Revision) -> Result<(), Error> {
        if at <= self.compacted {
            return Err(Error::Compacted);
        }
        if at > self.revision {
            return Err(Error::FutureRevision);
        }
        self.base = self.keys_at(at).into_iter().collect();
        self.history.retain(|event| event.revision() >= at);
        self.compacted = at;
        Ok(())
    }

    /// `Lease.LeaseGrant`.
    pub(super) fn grant(&mut self, id: LeaseId, ttl: Option<Micros>) -> Result<(), Error> {
        match self.leases.binary_search_by_key(&id, |lease| lease.id) {
            Ok(_) => Err(Error::LeaseExists),
            Err(place) => {
                self.leases.insert(place, Lease { id, ttl, remaining: None });
                Ok(())
            }
        }
    }

    /// `LeaseCheckpoint`, of a lease that there still is.
    pub(super) fn checkpoint(&mut self, id: LeaseId, remaining: Option<Micros>) {
        for lease in self.leases.iter_mut().filter(|lease| lease.id == id) {
            lease.remaining = remaining;
        }
    }

    /// `Lease.LeaseRevoke`: the lease and all its keys, which are in order, at one revision.
    pub(super) fn revoke(&mut self, id: LeaseId) -> Result<(), Error> {
        let place = self.leases.binary_search_by_key(&id, |lease| lease.id);
        let place = place.map_err(|_| Error::LeaseNotFound)?;
        self.leases.remove(place);
        let at = self.revision.next();
        let deleted = self.remove(|kv| kv.lease == Some(id), at);
        self.raise_if(deleted > 0);
        Ok(())
    }

    /// A key as it was at a revision; `None` also if that is compacted.
    pub(super) fn get_at(&self, key: Key, at: Revision) -> Option<&KeyValue> {
        if at < self.compacted {
            return None;
        }
        let until = self.history.partition_point(|event| event.revision() <= at);
        let is_meant = |event: &&WatchEvent| event.key() == key && event.revision() > self.compacted;
        match self.history[..until].iter().rev().find(is_meant) {
            Some(WatchEvent::Put(kv)) => Some(kv),
            Some(WatchEvent::Delete { .. }) => None,
            None => self.base.iter().find(|kv| kv.key == key),
        }
    }

    /// The events of these keys that a watch has still to see; the first revision that can be watched, if what it asks for
    /// is compacted.
    pub(super) fn events(&self, keys: Keys, start: Start) -> Result<SmallVec<[WatchEvent; 1]>, Revision> {
        let is_new = |event: &&WatchEvent| match start {
            Start::Now => false,
            Start::At(from) => event.revision() >= from,
        };
        match start {
            Start::At(from) if from < self.compacted => return Err(self.compacted),
            Start::At(_) | Start::Now => {}
        }
        let of_keys = self.history.iter().filter(|event| keys.contains(event.key()));
        Ok(of_keys.filter(is_new).copied().collect())
    }

    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        // Nothing has revision 0, and nothing ever gets it.
        let mut none = Revision::ZERO;
        none.visit(visitor);
        self.revision.visit(visitor);
        self.compacted.visit(visitor);
        self.keys.iter_mut().chain(&mut self.base).for_each(|kv| kv.visit(visitor));
        self.history.iter_mut().for_each(|event| event.visit(visitor));
        self.leases.iter_mut().for_each(|lease| lease.id.visit(visitor));
        put_in_order::<V, _, _>(&mut self.keys, |kv| kv.key);
        put_in_order::<V, _, _>(&mut self.base, |kv| kv.key);
        put_in_order::<V, _, _>(&mut self.leases, |lease| lease.id);
    }

    fn place(&self, key: Key) -> Result<usize, usize> {
        self.keys.binary_search_by_key(&key, |kv| kv.key)
    }

    fn check_lease(&self, put: &Put) -> Result<(), Error> {
        match put.lease {
            Some(id) if self.lease(id).is_none() => Err(Error::LeaseNotFound),
            Some(_) | None => Ok(()),
        }
    }

    fn raise_if(&mut self, is_changed: bool) {
        if is_changed {
            self.revision = self.revision.next();
        }
    }

    /// At the present revision, which is this change's.
    fn write(&mut self, put: &Put) {
        let &Put { key, value, lease } = put;
        let mod_revision = self.revision;
        let kv = match self.place(key) {
            Ok(place) => {
                let old = &mut self.keys[place];
                *old = KeyValue { mod_revision, version: old.version + 1, value, lease, ..*old };
                *old
            }
            Err(place) => {
                let new =
                    KeyValue { key, create_revision: mod_revision, mod_revision, version: 1, value, lease };
                self.keys.insert(place, new);
                new
            }
        };
        self.history.push(WatchEvent::Put(kv));
    }

    /// How many keys went.
    fn remove(&mut self, is_meant: impl Fn(&KeyValue) -> bool, at: Revision) -> u32 {
        let mut removed = 0;
        let history = &mut self.history;
        self.keys.retain(|kv| {
            let is_removed = is_meant(kv);
            if is_removed {
                history.push(WatchEvent::Delete { key: kv.key, mod_revision: at });
                removed += 1;
            }
            !is_removed
        });
        removed
    }

    /// The keys as they were, in order. The revision is neither compacted nor yet to come.
    fn keys_at(&self, at: Revision) -> Vec<KeyValue> {
        let mut keys: Vec<KeyValue> = self.base.to_vec();
        let is_meant = |event: &&WatchEvent| event.revision() > self.compacted && event.revision() <= at;
        for event in self.history.iter().filter(is_meant) {
            keys.retain(|kv| kv.key != event.key());
            if let WatchEvent::Put(kv) = event {
                keys.push(*kv);
            }
        }
        keys.sort_unstable_by_key(|kv| kv.key);
        keys
    }

    fn holds(&self, compare: &Compare) -> bool {
        let mut of_keys = self.keys.iter().filter(|kv| compare.keys.contains(kv.key)).peekable();
        match of_keys.peek() {
            Some(_) => of_keys.all(|kv| compare.holds_of(Some(kv))),
            None => compare.holds_of(None),
        }
    }
}

impl Compare {
    /// `applyCompare`: without a key all fields are zero, but a value does not exist, and nothing holds of it.
    fn holds_of(&self, kv: Option<&KeyValue>) -> bool {
        let ordering = match self.target {
            Target::Version(version) => kv.map_or(0, |kv| kv.version).cmp(&version),
            Target::Create(at) => kv.map_or(Revision::ZERO, |kv| kv.create_revision).cmp(&at),
            Target::Mod(at) => kv.map_or(Revision::ZERO, |kv| kv.mod_revision).cmp(&at),
            Target::Value(value) => match kv {
                Some(kv) => kv.value.cmp(&value),
                None => return false,
            },
            Target::Lease(lease) => kv.and_then(|kv| kv.lease).cmp(&lease),
        };
        match self.result {
            Comparison::Equal => ordering == Ordering::Equal,
            Comparison::NotEqual => ordering != Ordering::Equal,
            Comparison::Greater => ordering == Ordering::Greater,
            Comparison::Less => ordering == Ordering::Less,
        }
    }
}

/// `checkTxnRequest`: no key is put twice by one list, or put and deleted.
fn check_keys(steps: &[Step]) -> Result<(), Error> {
    for (place, step) in steps.iter().enumerate() {
        let Step::Put(Put { key, .. }) = step else { continue };
        let is_changed_too = |other: &Step| match other {
            Step::Put(put) => put.key == *key,
            Step::Delete(keys) => keys.contains(*key),
            Step::Range(_) => false,
        };
        if steps[..place].iter().chain(&steps[place + 1..]).any(is_changed_too) {
            return Err(Error::DuplicateKey);
        }
    }
    Ok(())
}

/// `executeRange`: the keys are counted, then those not meant are left out, then sorted, then cut off.
fn find<'a>(range: &Range, keys: impl Iterator<Item = &'a KeyValue>) -> Found {
    let mut count = 0;
    let mut kvs: SmallVec<[KeyValue; 1]> = SmallVec::new();
    for kv in keys.filter(|kv| range.keys.contains(kv.key)) {
        count += 1;
        if range.created_before.is_none_or(|before| kv.create_revision < before) {
            kvs.push(*kv);
        }
    }
    // The keys come in order, and a stable sort leaves equal ones so.
    let by = |one: &KeyValue, two: &KeyValue| match range.order.by {
        Field::Key => one.key.cmp(&two.key),
        Field::Version => one.version.cmp(&two.version),
        Field::Create => one.create_revision.cmp(&two.create_revision),
        Field::Mod => one.mod_revision.cmp(&two.mod_revision),
        Field::Value => one.value.cmp(&two.value),
    };
    match range.order.descending {
        false => kvs.sort_by(by),
        true => kvs.sort_by(|one, two| by(two, one)),
    }
    if range.limit > 0 {
        kvs.truncate(usize::from(range.limit));
    }
    Found { kvs, count }
}
