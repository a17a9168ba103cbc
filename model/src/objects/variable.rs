//! A variable with compare-and-set by value, made of one that has it by version: how the exactly-once article, *Heterogeneous concurrent
//! exactly-once processing of data in real time* ("CAS") uses etcd and ZooKeeper.
//!
//! ```text
//!     A                            store                           B
//!     │── x? ───────────────────────▶│ x = 1, version 4              │
//!     │◀─ 1, version 4 ──────────────│                               │
//!     │── x := 2 if version 4 ──────▶│ done                          │
//!     │          (the answer is lost) │                               │
//!     │── x := 2 if version 4 ──────▶│ not done: version 5           │
//!     │── x? ───────────────────────▶│ 2: is that A's own, or another's? │
//! ```
//!
//! # What it lives on
//!
//! A version that is never the same for two contents of the variable, and an answer that says whether *this* request changed it.
//!
//! # What breaks it
//!
//! - A request that is repeated because its answer was lost: the second answer says no, and the client believes that it changed
//!   nothing (row X1). "Such an operation can be repeated without harm to the logic above" holds of the store alone. A mark of
//!   the last writer ([`Marks::Last`]) repairs it only as long as nobody writes in between; a mark for each client does
//!   ([`Marks::EachClient`]).
//! - A version that starts again when the variable is deleted (row X7): etcd's `VERSION` and ZooKeeper's `dataVersion` do. The
//!   modification revision does not.

use super::cells::{Ask, Cell, Heard, Version};
use super::client::{Next, Object, Turn};
use super::content::{Content, Marks};
use crate::machine::Line;
use crate::names::{Word, Words};
use picklock_properties::{ObjectAnswer, ObjectCall, ObjectId};
use serde::{Deserialize, Serialize};

/// The variant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// How a client knows its own change again.
    pub marks: Marks,
    /// Whether clients delete the variable, too.
    pub deletes: bool,
    /// How many different values they expect to find, beside none.
    pub values: u8,
}

impl Default for Settings {
    /// As written, without deletes; two values are expected.
    fn default() -> Settings {
        Settings { marks: Marks::None, deletes: false, values: 2 }
    }
}

const VARIABLE: ObjectId = ObjectId(0);

const CELL: Cell = Cell { word: Word(0), number: 0 };

/// An operation under way. The lines are those of the seventh piece of code in the document, `CAS_versioned`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Variable {
    /// Reads, to tell.
    Reads,
    /// Reads, to compare.
    Compares {
        /// What must be there.
        expected: Option<u16>,
        /// What shall be.
        new: u16,
    },
    /// L7:3, `CAS_versioned`: it was there, and has this version.
    Sets {
        /// What must be there.
        expected: Option<u16>,
        /// What shall be.
        new: u16,
    },
    /// Deletes, whatever is there.
    Deletes,
}

impl Variable {
    fn compare(expected: Option<u16>, new: u16) -> (Variable, Next) {
        (Variable::Compares { expected, new }, Next::Ask(CELL, Ask::Get))
    }
}

impl Object for Variable {
    type Settings = Settings;

    const WORDS: Words = Words { names: &["x"], labels: &["value"] };

    fn stored(settings: &Settings) -> Option<&'static str> {
        settings.marks.stored()
    }

    fn calls(settings: &Settings, _whose: Turn) -> u32 {
        2 + u32::from(settings.values) + u32::from(settings.deletes)
    }

    fn call(settings: &Settings, whose: Turn, choice: u32) -> ObjectCall {
        let new = 1 + i32::from(whose.round) * i32::from(whose.clients) + i32::from(whose.client);
        match choice {
            0 => ObjectCall::Read { variable: VARIABLE },
            1 => ObjectCall::CompareAndSet { variable: VARIABLE, expected: None, new },
            choice if choice < 2 + u32::from(settings.values) => {
                ObjectCall::CompareAndSet { variable: VARIABLE, expected: Some(choice as i32 - 1), new }
            }
            _ => ObjectCall::Delete { variable: VARIABLE },
        }
    }

    fn begin(call: ObjectCall, _whose: Turn, _settings: &Settings) -> (Self, Next) {
        match call {
            ObjectCall::Read { .. } => (Variable::Reads, Next::Ask(CELL, Ask::Get)),
            ObjectCall::CompareAndSet { expected, new, .. } => {
                Variable::compare(expected.map(|expected| expected as u16), new as u16)
            }
            ObjectCall::Delete { .. } => (Variable::Deletes, Next::Ask(CELL, Ask::Set(None))),
            call => unreachable!("a variable is not asked for {call:?}"),
        }
    }

    fn go_on(&mut self, heard: Heard, whose: Turn, settings: &Settings) -> Next {
        let (variable, next) = match (*self, heard) {
            (Variable::Reads, Heard::Found(found, _)) => {
                let value = found.map(|found| i32::from(Content::of(Some(found)).number()));
                (*self, Next::Return(ObjectAnswer::Value { value, version: None }))
            }
            (Variable::Compares { expected, new }, Heard::Found(found, version)) => {
                let content = Content::of(found);
                let number = found.map(|_| content.number());
                if content.bears(settings.marks, whose) {
                    (*self, Next::Return(ObjectAnswer::Done))
                } else if number != expected {
                    (*self, Next::Return(ObjectAnswer::Refused))
                } else {
                    let content = content.replaced(new, settings.marks, whose);
                    let ask = Ask::SetIfVersion(version, Some(content.word()));
                    (Variable::Sets { expected, new }, Next::Ask(CELL, ask))
                }
            }
            (Variable::Sets { .. }, Heard::Set(true)) => (*self, Next::Return(ObjectAnswer::Done)),
            // It has changed since; perhaps by an earlier attempt at this.
            (Variable::Sets { expected, new }, Heard::Set(false)) => Variable::compare(expected, new),
            (Variable::Deletes, Heard::Set(_)) => (*self, Next::Return(ObjectAnswer::Done)),
            (at, heard) => unreachable!("{at:?} has asked nothing that is answered with {heard:?}"),
        };
        *self = variable;
        next
    }

    fn each_version(&mut self, _show: &mut dyn FnMut(&mut Version)) {
        // None outlives the request that it is in.
    }

    fn line(&self) -> Line {
        match self {
            Variable::Sets { .. } => Line { listing: 7, number: 3 },
            Variable::Compares { .. } => Line { listing: 7, number: 1 },
            Variable::Reads | Variable::Deletes => Line::NONE,
        }
    }

    fn doing(&self) -> &'static str {
        match self {
            Variable::Reads => "reads",
            Variable::Compares { .. } => "compares",
            Variable::Sets { .. } => "sets",
            Variable::Deletes => "deletes",
        }
    }
}
