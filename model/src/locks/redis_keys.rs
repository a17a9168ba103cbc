//! The keys of the locks on Redis, and what changes of them mean to the judges.

use crate::names::{Word, Words};
use crate::stores::redis::{Change, Key, Value};
use picklock_properties::{ClientId, Event, LockId};

/// What the keys are called.
pub const WORDS: Words = Words { names: &["lock", "counter"], labels: &[] };

/// `resource_name` of document 001: whose value it holds has the lock.
pub const LOCK: Word = Word(0);

/// What fencing tokens are drawn from.
pub const COUNTER: Word = Word(1);

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
/// A signature that comes makes the lock its signer's, where one server alone decides that. One that goes is a record gone,
/// unless its signer asked for that.
pub fn signed(word: Word, change: &Change, server: u8) -> Option<Event> {
    let (Change::Came { key, value, .. } | Change::Gone { key, value, .. }) = *change;
    let Value::Token(signature) = value else { return None };
    let (client, lock) = (ClientId(signature.client), LockId(u8::try_from(key.number).ok()?));
    match *change {
        _ if key.word != word => None,
        Change::Came { alone, .. } => alone.then_some(Event::Acquired { client, lock }),
        Change::Gone { by, .. } => {
            (by != Some(client.0)).then_some(Event::RecordGone { client, lock, server })
        }
    }
}
