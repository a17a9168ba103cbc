//! What the locks on etcd have in common: keys of a session's lease, the wait of `client/v3/concurrency/key.go`, what becomes of
//! those keys in the eyes of the judges, and what a holder does.

#[cfg(test)]
pub(crate) mod pair;

use crate::stores::etcd::{
    Change, Compare, Comparison, Found, Key, Keys, Name, Operation, Range, Response, Revision, Step, Target,
    Txn,
};
use picklock_properties::{ClientId, Event, LockId};
use serde::{Deserialize, Serialize};
use smallvec::smallvec;

/// What a holder does when its session is done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum OnDone {
    /// It stops: it looks at `Session.Done`.
    Stop,
    /// It does not look.
    GoOn,
}

/// What keeps out the write of a holder whose time is over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Fence {
    /// Nothing.
    None,
    /// The create revision of the own key as token, for the resource to compare.
    CreateRevision,
}

/// The keys of a lock: its number is their prefix.
pub fn keys_of(lock: LockId) -> Keys {
    Keys::Prefix(lock.0)
}

/// The key of this name.
pub fn key_of(lock: LockId, name: Name) -> Key {
    Key { prefix: lock.0, name }
}

/// `IsOwner`, and with revision zero: there is no such key.
pub fn is_created_at(key: Key, revision: Revision) -> Compare {
    Compare { keys: Keys::One(key), result: Comparison::Equal, target: Target::Create(revision) }
}

/// The deletion of the key with this create revision.
pub fn deletion_of(key: Key, revision: Revision) -> Operation {
    Operation::Txn(Txn {
        compare: smallvec![is_created_at(key, revision)],
        success: smallvec![Step::Delete(Keys::One(key))],
        failure: smallvec![],
    })
}

/// key.go:52, `waitDeletes`: the last key before the own one.
pub fn last_before(lock: LockId, own: Option<Revision>) -> Range {
    Range { created_before: own, ..Range::last_created(keys_of(lock)) }
}

/// The create revision of the key that a step of a transaction has read, if there is one.
pub fn created(response: Option<&Response>) -> Option<Revision> {
    match response {
        Some(Response::Range(Found { kvs, .. })) => kvs.first().map(|kv| kv.create_revision),
        Some(Response::Put | Response::Deleted(_)) | None => None,
    }
}

/// What a change means to a lock whose keys are places in a queue: whose key was created first has the lock.
pub fn queue_means(change: &Change, server: u8) -> Option<Event> {
    let (Change::Created { key, lease }
    | Change::Gone { key, lease }
    | Change::First { key, lease }
    | Change::Notified { key, lease, .. }) = *change;
    let (client, lock) = (ClientId(lease.client), LockId(key.prefix));
    Some(match *change {
        Change::Created { .. } => Event::Enqueued { client, lock },
        Change::Gone { .. } => Event::RecordGone { client, lock, server },
        Change::First { .. } => Event::Acquired { client, lock },
        Change::Notified { client: watcher, .. } => {
            Event::Notified { client: ClientId(watcher), lock, of: client }
        }
    })
}
