//! Variables in the ideal store.

use super::{Ask, Changed, Direct, Heard, Question, Word};
use crate::stores::memory;
use serde::{Deserialize, Serialize};

/// In the ideal store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum InMemory {}

/// No settings: what there is to choose, the store's settings say.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct AsItIs {}

impl Direct for InMemory {
    type Store = memory::Memory;
    type Settings = AsItIs;

    fn request(Question { cell, ask }: Question, serial: u32, _settings: &AsItIs) -> memory::Request {
        use memory::{Condition, Operation};
        let set = |content, condition| Operation::Set { content, condition };
        let operation = match ask {
            Ask::Get => Operation::Get,
            Ask::Set(new) => set(new, Condition::None),
            Ask::SetIfVersion(version, new) => set(new, Condition::Version(version.number())),
            Ask::SetIfContent { expected, new } => set(new, Condition::Content(expected)),
        };
        memory::Request { serial, cell, operation }
    }

    fn serial_of(reply: &memory::Reply) -> u32 {
        reply.serial
    }

    fn heard(reply: &memory::Reply, _settings: &AsItIs) -> Word {
        Word::Heard(match reply.outcome {
            memory::Outcome::Found { content, version } => Heard::Found(content, version.into()),
            memory::Outcome::Set(done) => Heard::Set(done),
        })
    }

    fn changed(change: &memory::Change) -> Option<Changed> {
        let memory::Change { cell, before, after, by } = *change;
        Some(Changed { cell, before, after, by })
    }
}
