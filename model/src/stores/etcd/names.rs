//! Names in etcd: revisions, leases, keys and values.

use crate::machine::{Node, Owner, Visitor};
use picklock_properties::{ClientId, FencingToken};
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// A place in the one order of all changes (`mvcc/revision.go`, its main part). A fresh store is at revision 1.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Revision(pub u32);

/// Whose counter all revisions are shown as, whichever member raises them.
const REVISIONS: Owner = Owner::Node(Node::Server(0));

impl Revision {
    /// Of what does not exist: no change has it.
    pub const ZERO: Revision = Revision(0);

    /// Where a store begins.
    pub const FIRST: Revision = Revision(1);

    /// The one after.
    pub(super) fn next(self) -> Revision {
        Revision(self.0 + 1)
    }

    /// As a fencing token.
    pub fn token(self) -> FencingToken {
        FencingToken(i64::from(self.0))
    }

    /// Shows the revision to `visitor`. Revisions are compared, and never subtracted; a store always shows
    /// [`Revision::ZERO`], which so stays what it is.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(REVISIONS, &mut self.0);
    }
}

/// Shows a fencing token to `visitor`: a revision.
pub(super) fn visit_token<V: Visitor>(token: &mut FencingToken, visitor: &mut V) {
    let mut revision = Revision(token.0 as u32);
    revision.visit(visitor);
    *token = revision.token();
}

impl Display for Revision {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A lease: the client that asked for it, and the serial number of the request that did. The real server draws a 63-bit
/// number unless the client names one; only its identity matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct LeaseId {
    /// Whose lease it is.
    pub client: u8,
    /// From this client's counter.
    pub serial: u32,
}

impl LeaseId {
    /// Shows the number to `visitor`.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial_of(&mut self.client, &mut self.serial);
    }
}

impl Display for LeaseId {
    /// `A@3`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", ClientId(self.client), self.serial)
    }
}

/// A key: a prefix, and a name below it. Its users choose both. Keys are ordered by prefix, then by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Key {
    /// What ranges go by.
    pub prefix: u8,
    /// Which one below it.
    pub name: Name,
}

/// The rest of a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Name {
    /// A word, by its number.
    Word(u16),
    /// A lease's number, as text.
    Lease(LeaseId),
    /// Something that its client has drawn, and that nobody draws twice.
    Drawn {
        /// Who drew it.
        client: u8,
        /// From this client's counter.
        serial: u32,
    },
}

impl Key {
    /// Shows the numbers in the key to `visitor`.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match &mut self.name {
            Name::Word(_) => {}
            Name::Lease(lease) => lease.visit(visitor),
            Name::Drawn { client, serial } => visitor.serial_of(client, serial),
        }
    }
}

impl Display for Key {
    /// `0/A@3`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self.name {
            Name::Word(word) => write!(f, "{}/{word}", self.prefix),
            Name::Lease(lease) => write!(f, "{}/{lease}", self.prefix),
            Name::Drawn { client, serial } => write!(f, "{}/{}#{serial}", self.prefix, ClientId(client)),
        }
    }
}

/// What a key is bound to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Value {
    /// The empty string.
    Empty,
    /// A text of fixed length, by its number: larger numbers are larger texts.
    Text(u32),
    /// Something that its client has drawn, and that nobody draws twice.
    Drawn {
        /// Who drew it.
        client: u8,
        /// From this client's counter.
        serial: u32,
    },
    /// The name of a client. Names are compared for equality alone: which of two is the larger text is nothing to go by.
    Name(u8),
}

impl Value {
    /// Shows the numbers in the value to `visitor`.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Value::Empty | Value::Text(_) => {}
            Value::Drawn { client, serial } => visitor.serial_of(client, serial),
            Value::Name(client) => visitor.client(client),
        }
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Empty => f.write_str("\"\""),
            Value::Text(number) => write!(f, "{number}"),
            Value::Drawn { client, serial } => write!(f, "{}#{serial}", ClientId(*client)),
            Value::Name(client) => write!(f, "{}", ClientId(*client)),
        }
    }
}

/// A key with what is known of it (`mvccpb.KeyValue`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct KeyValue {
    /// The key.
    pub key: Key,
    /// The revision that created it; a key that was deleted is created again by its next put.
    pub create_revision: Revision,
    /// The revision that put it last.
    pub mod_revision: Revision,
    /// How often it was put since it was created.
    pub version: u32,
    /// What it is bound to.
    pub value: Value,
    /// With whose end it goes.
    pub lease: Option<LeaseId>,
}

impl KeyValue {
    /// Shows every number to `visitor`.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.key.visit(visitor);
        self.create_revision.visit(visitor);
        self.mod_revision.visit(visitor);
        self.value.visit(visitor);
        self.lease.iter_mut().for_each(|lease| lease.visit(visitor));
    }
}
