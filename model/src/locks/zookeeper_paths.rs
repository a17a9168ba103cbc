//! The znodes of the recipes on ZooKeeper, and what changes of them mean to the judges.

use crate::names::{Word, Words};
use crate::stores::zookeeper::{Change, Guid, Name, Path};
use picklock_properties::{ClientId, Event, LockId};

/// What the znodes are called.
pub const WORDS: Words = Words { names: &["_locknode_{}", "work{}"], labels: &["lock-"] };

/// The parents of the places.
const LOCKNODE: Word = Word(0);

/// What the locks protect, in the same ensemble.
const WORK: Word = Word(1);

/// A place below a parent.
const PLACE: Word = Word(0);

/// `/_locknode_0`: below it are the places of who wants the lock.
pub const fn parent_path(lock: LockId) -> Path {
    Path::top(LOCKNODE, lock.0)
}

/// `/_locknode_0/A#3-lock-`: a place, which the server numbers.
pub const fn place_path(lock: LockId, guid: Option<Guid>) -> Path {
    Path::Child { parent: Name { word: LOCKNODE, number: lock.0 }, label: PLACE, guid, suffix: None }
}

/// `/work0`: what the lock protects.
pub const fn work_path(lock: LockId) -> Path {
    Path::top(WORK, lock.0)
}

/// What a change means to the recipe of the ZooKeeper article, *ZooKeeper, or writing a distributed lock service*: a sequential znode below
/// the lock's parent is a place in its queue, and the lock is whose place was created first. The ensemble keeps one record, whichever
/// servers have it: the record of "server 0".
pub fn means(change: &Change, _server: u8) -> Option<Event> {
    let lock_of = |parent: Path| match parent {
        Path::Top(Name { word: LOCKNODE, number }) => Some(LockId(number)),
        Path::Top(_) | Path::Root | Path::Child { .. } | Path::Numbered(_) => None,
    };
    match *change {
        Change::Created { path: path @ Path::Child { suffix: Some(_), .. }, client } => {
            let lock = lock_of(path.parent()?)?;
            Some(Event::Enqueued { client: ClientId(client), lock })
        }
        Change::Created { .. } => None,
        Change::Gone { parent, client } => {
            Some(Event::RecordGone { client: ClientId(client), lock: lock_of(parent)?, server: 0 })
        }
        Change::First { parent, client } => {
            Some(Event::Acquired { client: ClientId(client), lock: lock_of(parent)? })
        }
        Change::Notified { parent, client, of } => {
            Some(Event::Notified { client: ClientId(client), lock: lock_of(parent)?, of: ClientId(of) })
        }
        Change::Set { path: Path::Top(Name { word: WORK, .. }), client, done } => Some(match done {
            true => Event::Accepted { client: ClientId(client), fence: None, hold: None },
            false => Event::Rejected { client: ClientId(client), fence: None, hold: None },
        }),
        Change::Set { .. } => None,
    }
}
