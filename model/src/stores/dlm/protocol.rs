//! What processes and the lock manager say to each other.

use super::lock::{Flags, Notice, Value};
use super::manager::Name;
use super::mode::Mode;
use super::resource::Wish;
use crate::machine::{Node, Owner, Visit, Visitor};
use picklock_properties::ClientId;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// From a process to the manager.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Grows with every request of a process.
    pub serial: u32,
    /// How often the process has started: one that starts again has lost its locks.
    pub life: u8,
    /// Of which recovery the process knows: the number of the last one.
    pub epoch: u8,
    /// What it asks.
    pub ask: Ask,
}

/// What a process can ask.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Ask {
    /// It is there, and has no locks.
    Join,
    /// Its node is off, and has nothing: the last that is heard of it, and the answer to [`Tell::PowerOff`].
    WasOff,
    /// It is still there. As what waits long, it says what was said last once more, with the same number.
    Alive,
    /// `$ENQ`: a new lock.
    Enqueue {
        /// Which of its locks.
        number: u8,
        /// On what.
        name: Name,
        /// In which mode, and how.
        wish: Wish,
    },
    /// `$ENQ` with CONVERT.
    Convert {
        /// Which of its locks.
        number: u8,
        /// To which mode, and how.
        wish: Wish,
    },
    /// `$DEQ`.
    Dequeue {
        /// Which of its locks.
        number: u8,
        /// How.
        flags: Flags,
        /// What the value block is to hold.
        value: u32,
    },
    /// `$DEQ` with CANCEL.
    Cancel {
        /// Which of its locks.
        number: u8,
    },
    /// What it has, for a new master: the answer to [`Tell::Recover`].
    Copies {
        /// Its locks, as it knows them.
        held: [Option<Held>; 2],
        /// What it has asked for and heard nothing of: its lock's number, on what, in which mode.
        again: Option<(u8, Name, Wish)>,
    },
    /// Who masters this resource? Whoever asks first, if nobody does (`DLM_MSG_LOOKUP`).
    Lookup {
        /// Which.
        name: Name,
    },
    /// Reads a block of the disk that all share, which knows nothing of locks.
    Read {
        /// Which block.
        block: u8,
    },
    /// Writes one; what the process' journal has of it is done with.
    Write {
        /// Which block.
        block: u8,
        /// What it holds then; `None`: nothing.
        content: Option<u32>,
    },
    /// Writes down in its journal what a block is to hold.
    Log {
        /// Which block.
        block: u8,
        /// What it is to hold; `None`: nothing.
        content: Option<u32>,
    },
    /// Writes what the journal of a dead process has into its blocks: the answer to [`Tell::Replay`].
    Replay {
        /// Whose journal.
        of: u8,
    },
}

/// A lock that a process has or waits for, for all it knows (`struct rcom_lock`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Held {
    /// Which of its locks.
    pub number: u8,
    /// On what.
    pub name: Name,
    /// In which mode it goes by it; `None`: it waits for it, and has nothing yet.
    pub mode: Option<Mode>,
    /// What it waits for in a queue of the last master, if it was told that it does ([`Notice::Queued`]).
    pub queued: Option<(Mode, Flags)>,
    /// Its copy of the value block, if it uses that.
    pub value: Option<Value>,
}

/// From the manager to a process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// Of the last request that the manager had from the process.
    pub serial: u32,
    /// Since which recovery.
    pub epoch: u8,
    /// What is told.
    pub tell: Tell,
}

/// What a process is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Tell {
    /// It has joined.
    Joined,
    /// It was taken for dead, and has no locks any more (VMS: `CLUEXIT`).
    Removed,
    /// Its node is switched off: a fence that does what it does before anybody goes on ([`super::Settings::fences`]).
    PowerOff,
    /// There is a new master: what does it have?
    Recover,
    /// These nodes go on, and have no locks: what does it have? ([`super::peer::View`]).
    View {
        /// A bit for each.
        members: u8,
    },
    /// Who masters what it asked about.
    Master {
        /// Which node.
        node: u8,
    },
    /// What it has is known to the new master, and it may go on: said where requests are said again ([`super::Settings::removed_after`]).
    Heard,
    /// An AST.
    Ast {
        /// Of which of its locks.
        number: u8,
        /// What.
        notice: Notice,
    },
    /// What a block holds.
    Read {
        /// `None`: it was never written.
        content: Option<u32>,
    },
    /// The block is written, or the journal.
    Written,
    /// This process is dead, and its journal is to be replayed.
    Replay {
        /// Whose journal.
        of: u8,
    },
}

impl Display for Request {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self.ask {
            Ask::Join => write!(f, "join"),
            Ask::WasOff => write!(f, "is off"),
            Ask::Alive => write!(f, "alive"),
            Ask::Enqueue { name, wish, .. } => write!(f, "$ENQ {name} {}{}", wish.mode, wish.flags),
            Ask::Convert { number, wish } => {
                write!(f, "$ENQ CONVERT lock {} to {}{}", number + 1, wish.mode, wish.flags)
            }
            Ask::Dequeue { number, flags, .. } => write!(f, "$DEQ lock {}{flags}", number + 1),
            Ask::Cancel { number } => write!(f, "$DEQ CANCEL lock {}", number + 1),
            Ask::Copies { held, .. } => {
                write!(f, "has")?;
                for held in held.iter().flatten() {
                    write!(f, " {}", held.name)?;
                    held.mode.iter().try_for_each(|mode| write!(f, " {mode}"))?;
                    held.queued
                        .iter()
                        .try_for_each(|(mode, flags)| write!(f, ", waits for {mode}{flags}"))?;
                    held.value.iter().try_for_each(|value| write!(f, ", value {}", value.content))?;
                }
                if held.iter().flatten().next().is_none() { f.write_str(" nothing") } else { Ok(()) }
            }
            Ask::Lookup { name } => write!(f, "who masters {name}?"),
            Ask::Read { block } => write!(f, "read block {block}"),
            Ask::Write { block, content: Some(content) } => write!(f, "write block {block} := {content}"),
            Ask::Write { block, content: None } => write!(f, "empty block {block}"),
            Ask::Log { block, content: Some(content) } => write!(f, "log: block {block} := {content}"),
            Ask::Log { block, content: None } => write!(f, "log: block {block} is empty"),
            Ask::Replay { of } => write!(f, "replay the journal of {}", ClientId(of)),
        }
    }
}

impl Display for Reply {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self.tell {
            Tell::Joined => f.write_str("joined"),
            Tell::Recover => f.write_str("a new master: what do you have?"),
            Tell::View { members } => {
                f.write_str("go on:")?;
                super::peer::nodes(members).try_for_each(|node| write!(f, " s{}", node + 1))?;
                f.write_str("; what do you have?")
            }
            Tell::Master { node } => write!(f, "s{} masters it", node + 1),
            Tell::Heard => f.write_str("heard"),
            Tell::Removed => f.write_str("removed"),
            Tell::PowerOff => f.write_str("is switched off"),
            Tell::Ast { number, notice } => write!(f, "lock {}: {notice}", number + 1),
            Tell::Read { content: Some(content) } => write!(f, "the block holds {content}"),
            Tell::Read { content: None } => f.write_str("the block holds nothing"),
            Tell::Written => f.write_str("written"),
            Tell::Replay { of } => write!(f, "{} is dead: replay its journal", ClientId(of)),
        }
    }
}

impl Visit for Request {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Sender, &mut self.serial);
    }
}

impl Visit for Reply {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Receiver, &mut self.serial);
    }
}

/// Whose serial a manager remembers.
pub(super) fn owner_of(client: u8) -> Owner {
    Owner::Node(Node::Client(client))
}
