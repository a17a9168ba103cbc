//! Names in ZooKeeper: znodes' paths, sessions, guids and transaction numbers.

use crate::machine::{Node, Owner, Visitor};
use picklock_properties::{ClientId, FencingToken, LockId};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt::{Display, Formatter};

/// The number of a transaction: the leader's epoch, then a counter within it (`ZxidUtils.java`: the high and the low
/// half of a 64-bit number).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Zxid {
    /// Which leader numbered it; 0 for what was there before the run.
    pub epoch: u32,
    /// Counts this leader's transactions.
    pub counter: u32,
}

/// Whose counter all zxids are shown as: the leader of the beginning, whoever leads later.
const ZXIDS: Owner = Owner::Node(Node::Server(0));

impl Zxid {
    /// Before everything.
    pub const NONE: Zxid = Zxid { epoch: 0, counter: 0 };

    /// The one that a leader of `epoch` gives next. The counter goes on where the last epoch's stopped; the real one
    /// starts again from 0, which no comparison can tell.
    pub(super) fn next(self, epoch: u32) -> Zxid {
        Zxid { epoch, counter: self.counter + 1 }
    }

    /// As the 64-bit number that a client sees, and may use for a fencing token (recipe of row Z3: the czxid).
    pub fn token(self) -> FencingToken {
        FencingToken(i64::from(self.epoch) << 32 | i64::from(self.counter))
    }

    /// Shows the zxid to `visitor`. Counters are compared, and never subtracted.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(ZXIDS, &mut self.counter);
    }
}

/// Shows a fencing token to `visitor`: a zxid, or, below the first epoch, a sequence number, which stays as it is.
pub(super) fn visit_token<V: Visitor>(token: &mut FencingToken, visitor: &mut V) {
    let epoch = token.0 >> 32;
    if epoch > 0 {
        let mut counter = token.0 as u32;
        visitor.serial(ZXIDS, &mut counter);
        token.0 = epoch << 32 | i64::from(counter);
    }
}

impl Display for Zxid {
    /// `1:5`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.epoch, self.counter)
    }
}

/// A session: the client that asked for it, and the serial number of the request that did. The real server draws a
/// random-looking 64-bit number; only its identity matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct SessionId {
    /// Whose session it is.
    pub client: u8,
    /// From this client's counter.
    pub serial: u32,
}

impl SessionId {
    /// Shows the number to `visitor`.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Node(Node::Client(self.client)), &mut self.serial);
    }
}

impl Display for SessionId {
    /// `A@3`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", ClientId(self.client), self.serial)
    }
}

/// The guid in a lock znode's name: a client's draws never repeat, nor equal another's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Guid {
    /// Who drew it.
    pub client: u8,
    /// From this client's counter.
    pub serial: u32,
}

impl Display for Guid {
    /// `A#3`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}#{}", ClientId(self.client), self.serial)
    }
}

/// What a sequential create appends to the name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Suffix {
    /// The parent's counter of creates, printed as `%010d` (`PrepRequestProcessor.pRequest2TxnCreate`).
    Number(i32),
    /// For the exhaustive engine, far from overflow and where the parent stays: the counter of the zxid that created
    /// the znode. It grows alike, without being one more number.
    Order(u32),
}

impl Suffix {
    /// The order of the suffixes as text, which is how the recipe's implementations sort names. `-` sorts before every
    /// digit, and negative numbers sort by their digits.
    pub fn cmp_text(self, other: Suffix) -> Ordering {
        match (self, other) {
            (Suffix::Number(one), Suffix::Number(two)) if one < 0 && two < 0 => {
                format!("{one:010}").cmp(&format!("{two:010}"))
            }
            (one, two) => one.cmp(&two),
        }
    }
}

impl Display for Suffix {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Suffix::Number(number) => write!(f, "{number:010}"),
            Suffix::Order(number) => write!(f, "{number:010}"),
        }
    }
}

/// A znode's path, as far as locks need it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Path {
    /// `/`.
    Root,
    /// `/_locknode_0`: the parent of the lock with this id.
    Lock(u8),
    /// `/_locknode_0/A#3-lock-0000000007`: a place in the queue of a lock.
    Child {
        /// Of which lock.
        lock: u8,
        /// The guid before the prefix, if the recipe has one.
        guid: Option<Guid>,
        /// What the server appended; `None` in a request for a sequential create, and in the name of a znode that is
        /// not sequential.
        suffix: Option<Suffix>,
    },
    /// `/work0`: something the lock protects, in the same ensemble.
    Work(u8),
}

impl Path {
    /// The znode above.
    pub fn parent(self) -> Option<Path> {
        match self {
            Path::Root => None,
            Path::Lock(_) | Path::Work(_) => Some(Path::Root),
            Path::Child { lock, .. } => Some(Path::Lock(lock)),
        }
    }

    /// Which lock the znode is about; the first, for the root.
    pub fn lock(self) -> LockId {
        match self {
            Path::Root => LockId::default(),
            Path::Lock(lock) | Path::Child { lock, .. } | Path::Work(lock) => LockId(lock),
        }
    }

    /// The guid in the name.
    pub fn guid(self) -> Option<Guid> {
        match self {
            Path::Child { guid, .. } => guid,
            Path::Root | Path::Lock(_) | Path::Work(_) => None,
        }
    }

    /// The suffix in the name.
    pub fn suffix(self) -> Option<Suffix> {
        match self {
            Path::Child { suffix, .. } => suffix,
            Path::Root | Path::Lock(_) | Path::Work(_) => None,
        }
    }

    /// Shows the numbers in the name to `visitor`.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Path::Root | Path::Lock(_) | Path::Work(_) => {}
            Path::Child { guid, suffix, .. } => {
                if let Some(guid) = guid {
                    visitor.serial(Owner::Node(Node::Client(guid.client)), &mut guid.serial);
                }
                if let Some(Suffix::Order(number)) = suffix {
                    visitor.serial(ZXIDS, number);
                }
            }
        }
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Path::Root => f.write_str("/"),
            Path::Lock(lock) => write!(f, "/_locknode_{lock}"),
            Path::Work(number) => write!(f, "/work{number}"),
            Path::Child { lock, guid, suffix } => {
                write!(f, "/_locknode_{lock}/")?;
                if let Some(guid) = guid {
                    write!(f, "{guid}-")?;
                }
                f.write_str("lock-")?;
                suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
            }
        }
    }
}
