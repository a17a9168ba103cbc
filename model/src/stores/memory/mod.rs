//! The store of the exactly-once article's pseudocode (*Heterogeneous concurrent exactly-once processing of data in real time*, "CAS"):
//! variables, each changed by one operation at a time ("все, что внутри atomic, выполняется атомарно"). Ideal, for proofs: what breaks here
//! is the algorithm's own doing, or the network's.
//!
//! ```text
//!     A                    server                      B
//!     │── get x ─────────────▶│ x = 5, version 1         │
//!     │◀─ 5, version 1 ───────│                          │
//!     │                       │◀─ set x := 7 if version 1 ─│
//!     │                       │── done ─────────────────▶│
//!     │── set x := 6 if v1 ──▶│ x = 7, version 2         │
//!     │◀─ not done ───────────│                          │
//! ```
//!
//! # What it does
//!
//! - *A variable* holds a word of bits, or is not there, which is version 0. Each change raises the version by one.
//! - *A condition* compares the version or what is held, at the moment of the change. A variable that is not there can be
//!   compared, too.
//! - *Versions after a delete* start again ([`Versions::StartAgain`]), as etcd's and ZooKeeper's do, or go on.
//! - *Several servers* are several stores ("разным экземплярам Etcd"): who uses them says which variable is where.
//! - Everything is durable before it is answered.
//!
//! # What is left out
//!
//! Everything else: sessions, leases, watches, replication, what a disk does. Every failure of a real store is hidden; the same
//! objects on etcd and on Redis have those.

mod protocol;
#[cfg(test)]
mod tests;

pub use protocol::{Cell, Condition, Operation, Outcome, Reply, Request};

use crate::machine::{Context, Effects, Silence, Store, Visitor};
use crate::time::Due;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// How the store is configured.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Which version a variable has that comes back.
    pub versions: Versions,
}

/// What becomes of a variable's version when it is deleted.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Versions {
    /// It is forgotten: the variable comes back with version 1.
    #[default]
    StartAgain,
    /// It goes on from where it was.
    GoOn,
}

/// One server with its variables.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Memory {
    /// What is there, in order, and what was there if its version is remembered.
    variables: SmallVec<[Variable; 4]>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Variable {
    cell: Cell,
    content: Option<u32>,
    version: u32,
}

/// A variable has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// Which.
    pub cell: Cell,
    /// What it held.
    pub before: Option<u32>,
    /// What it holds.
    pub after: Option<u32>,
    /// Whose request it was.
    pub by: u8,
}

impl Memory {
    /// What a variable holds.
    pub fn content(&self, cell: Cell) -> Option<u32> {
        self.found(cell).ok().and_then(|at| self.variables[at].content)
    }

    fn found(&self, cell: Cell) -> Result<usize, usize> {
        self.variables.binary_search_by_key(&cell, |variable| variable.cell)
    }

    /// The version that conditions see: 0 of what is not there.
    fn version(&self, cell: Cell) -> u32 {
        match self.found(cell) {
            Ok(at) if self.variables[at].content.is_some() => self.variables[at].version,
            Ok(_) | Err(_) => 0,
        }
    }

    fn set(&mut self, cell: Cell, content: Option<u32>, settings: &Settings) {
        match (self.found(cell), content) {
            (Ok(at), None) if settings.versions == Versions::StartAgain => {
                self.variables.remove(at);
            }
            (Ok(at), content) => {
                let variable = &mut self.variables[at];
                if content.is_some() || variable.content.is_some() {
                    (variable.content, variable.version) = (content, variable.version + 1);
                }
            }
            (Err(at), Some(_)) => self.variables.insert(at, Variable { cell, content, version: 1 }),
            // There is nothing to delete.
            (Err(_), None) => {}
        }
    }
}

impl Store for Memory {
    type Settings = Settings;
    type Request = Request;
    type Reply = Reply;
    type Peer = Silence;
    type Change = Change;

    const SETTLES: bool = false;

    fn reads_wall_clock(_settings: &Settings) -> bool {
        false
    }

    fn new(_me: u8, _servers: u8, _settings: &Settings) -> Self {
        Memory::default()
    }

    fn on_request(
        &mut self,
        from: u8,
        Request { serial, cell, operation }: Request,
        cx: &Context<Settings>,
        effects: &mut Effects<Self>,
    ) {
        let before = self.content(cell);
        let outcome = match operation {
            Operation::Get => Outcome::Found { content: before, version: self.version(cell) },
            Operation::Set { content, condition } => {
                let holds = match condition {
                    Condition::None => true,
                    Condition::Version(version) => version == self.version(cell),
                    Condition::Content(content) => content == before,
                };
                if holds {
                    self.set(cell, content, cx.settings);
                    effects.changed(Change { cell, before, after: content, by: from });
                }
                Outcome::Set(holds)
            }
        };
        effects.reply(from, Reply { serial, outcome });
    }

    fn on_peer(
        &mut self,
        _from: u8,
        message: Silence,
        _cx: &Context<Settings>,
        _effects: &mut Effects<Self>,
    ) {
        match message {}
    }

    fn on_deadline(&mut self, _cx: &Context<Settings>, _effects: &mut Effects<Self>) {
        unreachable!("it waits for nothing")
    }

    fn on_restart(&mut self, _power_lost: bool, _cx: &Context<Settings>, _effects: &mut Effects<Self>) {
        // Everything is durable.
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        None
    }

    fn visit<V: Visitor>(&mut self, _visitor: &mut V) {
        // No times, and the numbers count something.
    }

    fn contents(&self) -> Vec<String> {
        let there = self.variables.iter().filter_map(|variable| Some((variable, variable.content?)));
        there
            .map(|(Variable { cell, version, .. }, content)| {
                format!("{cell} = {} (version {version})", protocol::shown(Some(content)))
            })
            .collect()
    }
}
