//! The keys of the locks on Redis, and what changes of them mean to the judges.

use crate::names::{Word, Words};
use crate::stores::redis::{Change, Key, Value};
use picklock_properties::{ClientId, Event, LockId};

/// What the keys are called.
pub const WORDS: Words =
    Words { names: &["lock", "counter", "writer", "readers", "next", "holders", "owners"], labels: &[] };

/// `resource_name` of the Redlock article, *Distributed Locks with Redis*: whose value it holds has the lock.
pub const LOCK: Word = Word(0);

/// What fencing tokens are drawn from.
pub const COUNTER: Word = Word(1);

/// Of a readers-writer lock: the writer's signature.
pub const WRITER: Word = Word(2);

/// Of a readers-writer lock: how many readers there are, or who.
pub const READERS: Word = Word(3);

/// Of a readers-writer lock: a writer that waits, and whom no reader may overtake.
pub const NEXT: Word = Word(4);

/// Of a semaphore: who holds, by the moments at which they are taken for dead.
pub const HOLDERS: Word = Word(5);

/// Of a fair semaphore: who holds, in the order in which they came.
pub const OWNERS: Word = Word(6);

/// What is called so of this lock.
pub const fn key_of(word: Word, lock: LockId) -> Key {
    Key { word, number: lock.0 as u32 }
}

/// The key of a lock.
pub const fn lock_key(lock: LockId) -> Key {
    Key { word: LOCK, number: lock.0 as u32 }
}

/// The key of a lock's counter.
pub const fn counter_key(lock: LockId) -> Key {
    Key { word: COUNTER, number: lock.0 as u32 }
}

/// What a change means to a lock that is a key which its holder signs: the keys that `word` names, by the locks' numbers.
///
/// A signature that comes makes the lock its signer's, and one that gets a new time to live prolongs its lease, where one server
/// alone decides that; where several do, one that comes is a record of a quorum that is to be. One that goes is a record gone, unless its
/// signer asked for that.
pub fn signed(word: Word, change: &Change, server: u8) -> Option<Event> {
    let (Change::Came { key, value, .. }
    | Change::Prolonged { key, value, .. }
    | Change::Gone { key, value, .. }) = *change;
    let Value::Token(signature) = value else { return None };
    let (client, lock) = (ClientId(signature.client), LockId(u8::try_from(key.number).ok()?));
    match *change {
        _ if key.word != word => None,
        Change::Came { alone: true, .. } => Some(Event::Acquired { client, lock }),
        Change::Came { alone: false, .. } => Some(Event::RecordMade { client, lock, server }),
        Change::Prolonged { alone, .. } => alone.then_some(Event::RecordWritten { client, lock }),
        Change::Gone { by, .. } => {
            (by != Some(client.0)).then_some(Event::RecordGone { client, lock, server })
        }
    }
}
