//! What servers say to each other: a master feeds its replicas, and who is master gets about.

use super::keyspace::DEATHS;
use super::protocol::Key;
use super::sorted::Content;
use crate::machine::{Node, Owner, Visit, Visitor};
use crate::time::{Micros, Wall};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt::{Display, Formatter};

/// From server to server. An epoch is of the master's term; offsets count its changes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Peer {
    /// Master to replica: it lives, and has come this far.
    Ping {
        /// The master's epoch.
        epoch: u32,
        /// Its last change.
        offset: u32,
        /// `REPLCONF GETACK`: somebody waits for the acknowledgement.
        ack: bool,
    },
    /// Master to replica: what one entry has changed, as a whole (`MULTI`/`EXEC` in the real stream).
    Change {
        /// The master's epoch.
        epoch: u32,
        /// The change before this one.
        after: u32,
        /// This one.
        offset: u32,
        /// What it does.
        effects: SmallVec<[Effect; 2]>,
        /// Somebody waits for the acknowledgement.
        ack: bool,
    },
    /// Replica to master: it has everything up to here (`REPLCONF ACK`).
    Ack {
        /// The epoch of the master it follows.
        epoch: u32,
        /// The last change it has.
        offset: u32,
    },
    /// Replica to master: send everything (`PSYNC`).
    Sync {
        /// The epoch of the master it follows.
        epoch: u32,
    },
    /// Master to replica: all its keys.
    Snapshot {
        /// The master's epoch.
        epoch: u32,
        /// The last change in it.
        offset: u32,
        /// The keys.
        records: SmallVec<[Put; 2]>,
    },
    /// To a server that takes itself for a master: there is a later one.
    Newer {
        /// The later epoch.
        epoch: u32,
        /// Its master.
        master: u8,
    },
}

/// What one change does to the keys: not the command but its result. Of a sorted set all of it is sent.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Effect {
    /// The key holds this from now on.
    Put(Put),
    /// The key is gone.
    Remove(Key),
    /// All keys are gone.
    Clear,
}

/// What a key holds, as sent.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Put {
    /// Which key.
    pub key: Key,
    /// What it holds.
    pub content: Content,
    /// Until when.
    pub lifetime: Lifetime,
}

/// How long a key lives, as sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Lifetime {
    /// For good.
    Endless,
    /// Until the receiver's wall clock shows this: `PXAT` (`src/t_string.c` `setGenericCommand`).
    Until(Wall),
    /// For so long from the arrival on: a monotonic clock's moments mean nothing to another.
    For(Micros),
}

impl Put {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.content.visit(self.key, visitor);
        match &mut self.lifetime {
            Lifetime::Until(at) => visitor.stamp(DEATHS, at),
            Lifetime::Endless | Lifetime::For(_) => {}
        }
    }
}

impl Visit for Peer {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Peer::Ping { epoch: _, offset, ack: _ } => visitor.serial(Owner::Sender, offset),
            Peer::Change { epoch: _, after, offset, effects, ack: _ } => {
                visitor.serial(Owner::Sender, after);
                visitor.serial(Owner::Sender, offset);
                for effect in effects {
                    match effect {
                        Effect::Put(put) => put.visit(visitor),
                        Effect::Remove(_) | Effect::Clear => {}
                    }
                }
            }
            Peer::Ack { epoch: _, offset } => visitor.serial(Owner::Receiver, offset),
            Peer::Sync { epoch: _ } | Peer::Newer { epoch: _, master: _ } => {}
            Peer::Snapshot { epoch: _, offset, records } => {
                visitor.serial(Owner::Sender, offset);
                records.iter_mut().for_each(|put| put.visit(visitor));
            }
        }
    }
}

impl Display for Peer {
    /// `ping`, `SET key A#3 PXAT 4.001s`, `ack`, `send all`, `all keys: key = A#3`, `s2 is master, epoch 2`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Peer::Ping { .. } => f.write_str("ping"),
            Peer::Change { effects, .. } => effects.iter().enumerate().try_for_each(|(position, effect)| {
                write!(f, "{}{effect}", if position == 0 { "" } else { ", " })
            }),
            Peer::Ack { .. } => f.write_str("ack"),
            Peer::Sync { .. } => f.write_str("send all"),
            Peer::Snapshot { records, .. } => {
                f.write_str("all keys:")?;
                records.iter().enumerate().try_for_each(|(position, Put { key, content, .. })| {
                    write!(f, "{} {key} = {content}", if position == 0 { "" } else { "," })
                })
            }
            Peer::Newer { epoch, master } => {
                write!(f, "{} is master, epoch {epoch}", Node::Server(*master))
            }
        }
    }
}

impl Display for Effect {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Effect::Put(Put { key, content, lifetime }) => {
                write!(f, "SET {key} {content}")?;
                match lifetime {
                    Lifetime::Endless => Ok(()),
                    Lifetime::Until(at) => write!(f, " PXAT {}", Micros(at.0)),
                    Lifetime::For(rest) => write!(f, " PX {rest}"),
                }
            }
            Effect::Remove(key) => write!(f, "DEL {key}"),
            Effect::Clear => f.write_str("FLUSHALL"),
        }
    }
}
