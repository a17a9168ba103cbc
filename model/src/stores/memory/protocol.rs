//! What clients and servers say to each other.

use crate::machine::{Owner, Visit, Visitor};
use crate::names::Word;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// A variable's name, which its users choose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// What it is called: a word of the users'.
    pub word: Word,
    /// Which one of those that are called so.
    pub number: u8,
}

impl Display for Cell {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.word.name(u32::from(self.number)))
    }
}

/// From a client to a server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Tells this client's requests apart.
    pub serial: u32,
    /// Which variable.
    pub cell: Cell,
    /// What to do with it.
    pub operation: Operation,
}

/// What can be done with a variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Operation {
    /// `get_versioned`: [`Outcome::Found`].
    Get,
    /// `CAS`, `CAS_versioned` or `set`: [`Outcome::Set`].
    Set {
        /// What it holds then; `None`: it is not there any more.
        content: Option<u32>,
        /// What must hold.
        condition: Condition,
    },
}

/// When a variable is set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Condition {
    /// In any case.
    None,
    /// If it has this version; 0: if it is not there.
    Version(u32),
    /// If it holds this.
    Content(Option<u32>),
}

/// From a server to a client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// The request's number.
    pub serial: u32,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Outcome {
    /// What the variable holds.
    Found {
        /// `None`: it is not there.
        content: Option<u32>,
        /// 0 of what is not there.
        version: u32,
    },
    /// Whether the condition held, and the variable was set.
    Set(bool),
}

/// What a variable holds, for a reader.
pub(super) fn shown(content: Option<u32>) -> String {
    content.map_or_else(|| "nothing".to_owned(), |content| content.to_string())
}

impl Display for Request {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Request { cell, operation, .. } = self;
        match operation {
            Operation::Get => write!(f, "get {cell}"),
            Operation::Set { content, condition } => {
                match content {
                    Some(_) => write!(f, "set {cell} := {}", shown(*content))?,
                    None => write!(f, "delete {cell}")?,
                }
                match condition {
                    Condition::None => Ok(()),
                    Condition::Version(version) => write!(f, " if version {version}"),
                    Condition::Content(content) => write!(f, " if {}", shown(*content)),
                }
            }
        }
    }
}

impl Display for Reply {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self.outcome {
            Outcome::Found { content: None, .. } => f.write_str("nothing"),
            Outcome::Found { content, version } => write!(f, "{}, version {version}", shown(content)),
            Outcome::Set(true) => f.write_str("done"),
            Outcome::Set(false) => f.write_str("not done"),
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
