//! What members say to each other, and what their log is made of.
//!
//! The messages of Raft go by the names of the paper. In etcd they are `MsgVote`, `MsgPreVote`, `MsgApp`, `MsgHeartbeat`,
//! `MsgProp`, `MsgReadIndex` and their answers (`raftpb/raft.proto`); keep-alives go by HTTP (`server/lease/leasehttp`).

use super::names::LeaseId;
use super::protocol::Operation;
use crate::machine::{Node, Owner, Visit, Visitor};
use crate::time::Micros;
use picklock_properties::ClientId;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter, Result};

/// Whose counter the numbers of reads are shown as, whichever member draws them: the first one's is that of revisions.
const READS: Owner = Owner::Node(Node::Server(1));

/// A place in the log. Indices and terms are counted from the beginning of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Place {
    /// The term of the leader that put an entry there.
    pub term: u32,
    /// Which entry: the first has index 1.
    pub index: u32,
}

/// Where a client's command came from, so that the right member answers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// The member that the client asked.
    pub member: u8,
    /// How often that member's process had started again: a later one answers nobody.
    pub boot: u8,
    /// Who asked.
    pub client: u8,
    /// The request's number.
    pub serial: u32,
}

/// What an entry of the log says.
#[expect(clippy::large_enum_variant, reason = "most entries are the large ones")]
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Command {
    /// Nothing: the first entry of every leader.
    Begin,
    /// What a client asked for.
    Do {
        /// Whose it is.
        origin: Origin,
        /// A change.
        operation: Operation,
    },
    /// The time of this lease is over (`LeaseRevoke`, from a leader).
    End(LeaseId),
    /// What was left of this lease when its leader looked (`LeaseCheckpoint`).
    Checkpoint {
        /// Which.
        lease: LeaseId,
        /// How much.
        remaining: Micros,
    },
    /// This lease has its full time again, whatever was left of it (`LeaseCheckpoint` with nothing): for a keep-alive, which waits
    /// for it.
    Clear {
        /// Which.
        lease: LeaseId,
        /// Whose keep-alive.
        origin: Origin,
    },
}

/// An entry of the log.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Where it stands.
    pub place: Place,
    /// What it says.
    pub command: Command,
}

/// Tells the reads of one member apart (`RequestCtx`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ReadId {
    /// Whose.
    pub member: u8,
    /// From this member's counter.
    pub number: u32,
}

/// A message between members. `term` is its sender's, unless it says otherwise; what has none is meant for whoever leads.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Peer {
    /// A member wants to lead (RequestVote).
    AskVote {
        /// The term it would lead.
        term: u32,
        /// The end of its log.
        last: Place,
        /// It only asks whether it would be elected (pre-vote).
        is_trial: bool,
        /// The leader wants it so: whoever hears the leader votes nevertheless.
        is_handed_over: bool,
    },
    /// The answer.
    Vote {
        /// The term that was asked for, if granted.
        term: u32,
        /// To a mere question.
        is_trial: bool,
        /// Whether it would get, or gets, the vote.
        granted: bool,
    },
    /// The leader's log after `prev` (AppendEntries).
    Append {
        /// The leader's.
        term: u32,
        /// What comes right before.
        prev: Place,
        /// What follows; nothing, if there is only news of what is committed.
        entries: Vec<Entry>,
        /// Up to which index everything is committed.
        committed: u32,
    },
    /// The answer.
    Appended {
        /// The follower's.
        term: u32,
        /// Up to where its log is the leader's; or the index that it has not, if it refused.
        index: u32,
        /// Where to look instead, if it refused: no further than its log goes.
        refused: Option<u32>,
    },
    /// The leader lives.
    Beat {
        /// The leader's.
        term: u32,
        /// Up to which index everything is committed, as far as the receiver is known to have it.
        committed: u32,
        /// The last read that waits for the word of a quorum.
        read: Option<ReadId>,
    },
    /// The answer.
    BeatAck {
        /// The follower's.
        term: u32,
        /// What the beat said.
        read: Option<ReadId>,
    },
    /// A member passes a command on to the leader.
    Propose(Box<Command>),
    /// A member wants to read: what must it have applied first?
    AskRead(ReadId),
    /// The leader's answer.
    ReadAt {
        /// The leader's.
        term: u32,
        /// What was asked.
        read: ReadId,
        /// Up to which index.
        index: u32,
    },
    /// The leader wants the receiver to lead at once (`MsgTimeoutNow`).
    TakeOver {
        /// The leader's.
        term: u32,
    },
    /// A member passes a client's keep-alive on to the leader.
    Renew {
        /// Whose.
        client: u8,
        /// Its number.
        serial: u32,
        /// Of which lease.
        lease: LeaseId,
    },
    /// The leader's answer.
    Renewed {
        /// Whose.
        client: u8,
        /// Its number.
        serial: u32,
        /// Of which lease.
        lease: LeaseId,
        /// Whether it goes on; and its full time, if it ever ends.
        goes_on: Option<Option<Micros>>,
    },
}

impl Peer {
    /// The term it speaks of, if any.
    pub(super) fn term(&self) -> Option<u32> {
        match self {
            Peer::AskVote { term, .. }
            | Peer::Vote { term, .. }
            | Peer::Append { term, .. }
            | Peer::Appended { term, .. }
            | Peer::Beat { term, .. }
            | Peer::BeatAck { term, .. }
            | Peer::ReadAt { term, .. }
            | Peer::TakeOver { term } => Some(*term),
            Peer::Propose(_) | Peer::AskRead(_) | Peer::Renew { .. } | Peer::Renewed { .. } => None,
        }
    }
}

impl Command {
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Command::Begin => {}
            Command::Do { origin, operation } => {
                visitor.serial_of(&mut origin.client, &mut origin.serial);
                operation.visit(visitor);
            }
            Command::Clear { lease, origin } => {
                visitor.serial_of(&mut origin.client, &mut origin.serial);
                lease.visit(visitor);
            }
            Command::End(lease) | Command::Checkpoint { lease, .. } => lease.visit(visitor),
        }
    }
}

impl ReadId {
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visit_read(&mut self.number, visitor);
    }
}

/// Shows a read's number, or the counter of reads.
pub(super) fn visit_read<V: Visitor>(number: &mut u32, visitor: &mut V) {
    visitor.serial(READS, number);
}

impl Visit for Peer {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Peer::Append { entries, .. } => {
                entries.iter_mut().for_each(|entry| entry.command.visit(visitor));
            }
            Peer::Propose(command) => command.visit(visitor),
            Peer::Beat { read, .. } | Peer::BeatAck { read, .. } => {
                read.iter_mut().for_each(|read| read.visit(visitor));
            }
            Peer::AskRead(read) | Peer::ReadAt { read, .. } => read.visit(visitor),
            Peer::Renew { client, serial, lease } | Peer::Renewed { client, serial, lease, .. } => {
                visitor.serial_of(client, serial);
                lease.visit(visitor);
            }
            Peer::AskVote { .. } | Peer::Vote { .. } | Peer::Appended { .. } | Peer::TakeOver { .. } => {}
        }
    }
}

impl Display for Command {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Command::Begin => f.write_str("a leader begins"),
            Command::Do { origin, operation } => write!(f, "{operation} for {}", ClientId(origin.client)),
            Command::End(lease) => write!(f, "{lease} is over"),
            Command::Checkpoint { lease, remaining } => write!(f, "{lease} has {remaining} left"),
            Command::Clear { lease, origin: _ } => write!(f, "{lease} has its full time"),
        }
    }
}

impl Display for Peer {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Peer::AskVote { term, is_trial: true, .. } => write!(f, "would you vote for me in term {term}?"),
            Peer::AskVote { term, .. } => write!(f, "vote for me in term {term}"),
            Peer::Vote { term, is_trial: true, granted: true } => write!(f, "I would, in term {term}"),
            Peer::Vote { term, is_trial: true, .. } => write!(f, "I would not, and am in term {term}"),
            Peer::Vote { term, granted: true, .. } => write!(f, "my vote for term {term}"),
            Peer::Vote { term, .. } => write!(f, "no vote, and am in term {term}"),
            Peer::Append { prev, entries, committed, .. } => {
                write!(f, "append after {}", prev.index)?;
                entries
                    .iter()
                    .try_for_each(|entry| write!(f, ", {}: {}", entry.place.index, entry.command))?;
                write!(f, "; committed up to {committed}")
            }
            Peer::Appended { index, refused: None, .. } => write!(f, "appended up to {index}"),
            Peer::Appended { index, refused: Some(hint), .. } => {
                write!(f, "no such entry {index}, look at {hint}")
            }
            Peer::Beat { term, committed, .. } => {
                write!(f, "leads term {term}, committed up to {committed}")
            }
            Peer::BeatAck { term, .. } => write!(f, "hears it in term {term}"),
            Peer::Propose(command) => write!(f, "propose {command}"),
            Peer::AskRead(_) => f.write_str("up to where is it committed?"),
            Peer::ReadAt { index, .. } => write!(f, "a read must have seen {index}"),
            Peer::TakeOver { .. } => f.write_str("lead in my place"),
            Peer::Renew { lease, .. } => write!(f, "keep {lease} alive"),
            Peer::Renewed { lease, goes_on: Some(_), .. } => write!(f, "{lease} goes on"),
            Peer::Renewed { lease, goes_on: None, .. } => write!(f, "{lease} is over"),
        }
    }
}
