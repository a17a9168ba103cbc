//! What clients and the store say to each other.

use crate::machine::{Node, Owner, Visit, Visitor};
use crate::time::Micros;
use picklock_properties::{ClientId, FencingToken, LockId, Mode};
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// From a client to the store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Request {
    /// "I want this lock." Said again under the same ticket it asks for nothing new: it is a waiter's sign of life, and
    /// the way to learn where it stands. Answered with [`Reply::Queued`], [`Reply::Granted`], [`Reply::Refused`] or
    /// [`Reply::Over`].
    Enqueue {
        /// Which lock.
        lock: LockId,
        /// The call. A client's tickets grow from call to call, and each is used for one.
        ticket: u32,
        /// Tells this client's requests apart.
        serial: u32,
        /// Waits, or takes no for an answer.
        mode: Mode,
        /// For how long after each sign of life the place is kept; `None`: for good.
        lease: Option<Micros>,
    },
    /// A holder's sign of life, and its acknowledgement of the grant. Answered with [`Reply::Kept`] or [`Reply::Over`].
    Keep {
        /// The call.
        ticket: u32,
        /// Tells this client's requests apart.
        serial: u32,
        /// The grant whose lease is to be prolonged, and no other.
        fence: FencingToken,
    },
    /// Gives up the place, whatever it is. Answered with [`Reply::Released`].
    Release {
        /// The call.
        ticket: u32,
    },
}

/// From the store to a client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// The call has a place in the queue.
    Queued {
        /// The call.
        ticket: u32,
        /// The request this answers.
        serial: u32,
    },
    /// The lock is this call's. An answer if nobody was before it, else pushed when its turn comes, and pushed again
    /// until it is acknowledged.
    Granted {
        /// The call.
        ticket: u32,
        /// The last request of this call that the store has heard, if it remembers: the lease runs at least since that
        /// was sent.
        heard: Option<u32>,
        /// Grows with every grant of the store.
        fence: FencingToken,
    },
    /// `try_lock`: somebody else has it.
    Refused {
        /// The call.
        ticket: u32,
    },
    /// The lease was prolonged.
    Kept {
        /// The call.
        ticket: u32,
        /// The request this answers.
        serial: u32,
    },
    /// The call has no place any more and will not get one: its lease ran out, or it was given up.
    Over {
        /// The call.
        ticket: u32,
    },
    /// The place is given up.
    Released {
        /// The call.
        ticket: u32,
    },
}

impl Reply {
    /// The call it is about.
    pub fn ticket(&self) -> u32 {
        match *self {
            Reply::Queued { ticket, .. }
            | Reply::Granted { ticket, .. }
            | Reply::Refused { ticket }
            | Reply::Kept { ticket, .. }
            | Reply::Over { ticket }
            | Reply::Released { ticket } => ticket,
        }
    }
}

impl Visit for Request {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Request::Enqueue { ticket, serial, .. } | Request::Keep { ticket, serial, .. } => {
                visitor.serial(Owner::Sender, ticket);
                visitor.serial(Owner::Sender, serial);
            }
            Request::Release { ticket } => visitor.serial(Owner::Sender, ticket),
        }
    }
}

impl Visit for Reply {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Reply::Queued { ticket, serial } | Reply::Kept { ticket, serial } => {
                visitor.serial(Owner::Receiver, ticket);
                visitor.serial(Owner::Receiver, serial);
            }
            Reply::Granted { ticket, heard, fence: _ } => {
                visitor.serial(Owner::Receiver, ticket);
                heard.iter_mut().for_each(|heard| visitor.serial(Owner::Receiver, heard));
            }
            Reply::Refused { ticket } | Reply::Over { ticket } | Reply::Released { ticket } => {
                visitor.serial(Owner::Receiver, ticket);
            }
        }
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Request::Enqueue { ticket, mode: Mode::Lock, .. } => write!(f, "enqueue #{ticket}"),
            Request::Enqueue { ticket, mode: Mode::TryLock, .. } => write!(f, "try #{ticket}"),
            Request::Keep { ticket, fence, .. } => write!(f, "keep #{ticket} (token {})", fence.0),
            Request::Release { ticket } => write!(f, "release #{ticket}"),
        }
    }
}

impl Display for Reply {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Reply::Queued { ticket, .. } => write!(f, "#{ticket} is queued"),
            Reply::Granted { ticket, fence, .. } => write!(f, "#{ticket} is granted, token {}", fence.0),
            Reply::Refused { ticket } => write!(f, "#{ticket} is refused"),
            Reply::Kept { ticket, .. } => write!(f, "#{ticket} is kept"),
            Reply::Over { ticket } => write!(f, "#{ticket} is over"),
            Reply::Released { ticket } => write!(f, "#{ticket} is released"),
        }
    }
}

/// Whose numbers a call's are, in the store's state.
pub(super) fn numbers_of(client: u8) -> Owner {
    Owner::Node(Node::Client(client))
}

/// `A#3`.
pub(super) fn call(client: u8, ticket: u32) -> String {
    format!("{}#{ticket}", ClientId(client))
}
