//! What clients and the master say to each other.

use crate::machine::{Node, Owner, Visit, Visitor};
use crate::time::Micros;
use picklock_properties::{Access, ClientId, LockId, Mode};
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// A session: its client, and the number of the request that created it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct SessionId {
    /// Whose it is.
    pub client: u8,
    /// No two of one client have the same, and later ones have larger ones.
    pub number: u32,
}

/// An open node, as one session has it. Each is used to acquire a lock once, and closed with its release.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Handle {
    /// Whose it is.
    pub session: SessionId,
    /// Drawn by the client; later ones have larger ones.
    pub number: u32,
}

/// How many times a lock has gone from free to held: with the lock's name and the mode, a sequencer.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Generation(pub i64);

/// From a client to the master.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Tells this client's requests apart.
    pub serial: u32,
    /// Which master the client believes to speak to ([`Outcome::NewMaster`]).
    pub epoch: u32,
    /// What it wants.
    pub operation: Operation,
}

/// What a client wants of the master.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Operation {
    /// A session, whose number is this request's. Answered with [`Outcome::Created`].
    CreateSession {
        /// How long it lasts without a KeepAlive; `None`: for good. In Chubby the master chooses that, in Consul the client does;
        /// either way the answer says it.
        lease: Option<Micros>,
    },
    /// The session lives. Answered with [`Outcome::KeptAlive`].
    KeepAlive(SessionId),
    /// A lock. Answered with [`Outcome::Acquired`] when it is there, or with [`Outcome::Refused`].
    Acquire {
        /// By which the lock is had. Asked for again by the same one, it is the same request.
        handle: Handle,
        /// Which lock.
        lock: LockId,
        /// Alone or shared.
        access: Access,
        /// Whether the master lets it wait.
        mode: Mode,
        /// For how long nobody else may have it when this session is lost.
        lock_delay: Micros,
    },
    /// The lock is given back, and the handle is closed. Answered with [`Outcome::Released`].
    Release {
        /// By which it was had.
        handle: Handle,
        /// Which lock.
        lock: LockId,
    },
    /// Changes a file of the cell, on behalf of the lock's holder (`SetSequencer`, then `SetContents`). Answered with
    /// [`Outcome::Written`].
    Write {
        /// By which the lock is had.
        handle: Handle,
        /// Which lock.
        lock: LockId,
        /// The sequencer's generation, to be checked (`CheckSequencer`). `None`: that there is a session is enough.
        sequencer: Option<Generation>,
    },
    /// Ends the session. What it holds is lost, not released. Answered with [`Outcome::SessionOver`].
    EndSession(SessionId),
}

/// From the master to a client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// The request this answers.
    pub serial: u32,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Outcome {
    /// There is a session.
    Created {
        /// How long it lasts without a KeepAlive, counted from the request's arrival.
        lease: Option<Micros>,
    },
    /// The session goes on.
    KeptAlive {
        /// For how long the master has held the KeepAlive, by its clock, in whole seconds rounded down.
        held: Micros,
        /// How long the session lasts from then on at least.
        lease: Micros,
        /// There is a new master, and whatever was cached is to be flushed; the next KeepAlive acknowledges it.
        failed_over: bool,
    },
    /// The lock is the session's.
    Acquired(Generation),
    /// Somebody else has the lock, or its lock-delay runs.
    Refused,
    /// The lock is not the handle's any more.
    Released,
    /// The file was changed, or not, because of the sequencer.
    Written {
        /// Whether it was changed.
        accepted: bool,
    },
    /// There is no such session.
    SessionOver(SessionId),
    /// The request was meant for an earlier master.
    NewMaster {
        /// The number of this one.
        epoch: u32,
    },
}

impl Operation {
    /// The session that it is done in, if it is done in one.
    pub(super) fn session(&self) -> Option<SessionId> {
        match *self {
            Operation::CreateSession { .. } => None,
            Operation::KeepAlive(session) | Operation::EndSession(session) => Some(session),
            Operation::Acquire { handle, .. }
            | Operation::Release { handle, .. }
            | Operation::Write { handle, .. } => Some(handle.session),
        }
    }

    /// Shows every number to `visitor`.
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Operation::CreateSession { .. } => {}
            Operation::KeepAlive(session) | Operation::EndSession(session) => session.visit(visitor),
            Operation::Acquire { handle, .. }
            | Operation::Release { handle, .. }
            | Operation::Write { handle, .. } => handle.visit(visitor),
        }
    }
}

impl SessionId {
    /// Shows its number to `visitor`.
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(numbers_of(self.client), &mut self.number);
    }
}

impl Handle {
    /// Shows its numbers to `visitor`.
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.session.visit(visitor);
        visitor.serial(numbers_of(self.session.client), &mut self.number);
    }
}

/// Whose numbers a session's are.
pub(super) fn numbers_of(client: u8) -> Owner {
    Owner::Node(Node::Client(client))
}

impl Visit for Request {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Sender, &mut self.serial);
        self.operation.visit(visitor);
    }
}

impl Visit for Reply {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Receiver, &mut self.serial);
        match &mut self.outcome {
            Outcome::SessionOver(session) => session.visit(visitor),
            Outcome::Created { .. }
            | Outcome::KeptAlive { .. }
            | Outcome::Acquired(_)
            | Outcome::Refused
            | Outcome::Released
            | Outcome::Written { .. }
            | Outcome::NewMaster { .. } => {}
        }
    }
}

impl Display for SessionId {
    /// `A#3`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}#{}", ClientId(self.client), self.number)
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self.operation {
            Operation::CreateSession { .. } => write!(f, "create session #{}", self.serial),
            Operation::KeepAlive(session) => write!(f, "KeepAlive {session}"),
            Operation::Acquire { handle, mode: Mode::Lock, .. } => write!(f, "acquire, {}", handle.session),
            Operation::Acquire { handle, mode: Mode::TryLock, .. } => {
                write!(f, "try to acquire, {}", handle.session)
            }
            Operation::Release { handle, .. } => write!(f, "release, {}", handle.session),
            Operation::Write { sequencer: None, .. } => f.write_str("write"),
            Operation::Write { sequencer: Some(Generation(generation)), .. } => {
                write!(f, "write under sequencer {generation}")
            }
            Operation::EndSession(session) => write!(f, "end session {session}"),
        }
    }
}

impl Display for Reply {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self.outcome {
            Outcome::Created { lease: Some(lease) } => write!(f, "session #{} for {lease}", self.serial),
            Outcome::Created { lease: None } => write!(f, "session #{}", self.serial),
            Outcome::KeptAlive { lease, failed_over: false, .. } => write!(f, "kept alive for {lease}"),
            Outcome::KeptAlive { lease, failed_over: true, .. } => {
                write!(f, "failed over; kept alive for {lease}")
            }
            Outcome::Acquired(Generation(generation)) => write!(f, "acquired, generation {generation}"),
            Outcome::Refused => f.write_str("refused"),
            Outcome::Released => f.write_str("released"),
            Outcome::Written { accepted: true } => f.write_str("written"),
            Outcome::Written { accepted: false } => f.write_str("not written: the sequencer is not valid"),
            Outcome::SessionOver(session) => write!(f, "no session {session}"),
            Outcome::NewMaster { epoch } => write!(f, "there is a new master, {epoch}"),
        }
    }
}
