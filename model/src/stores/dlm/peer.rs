//! What nodes that master resources say to each other.

use super::lock::Handle;
use super::manager::Name;
use super::protocol::owner_of;
use super::search::Wait;
use crate::machine::{Visit, Visitor};
use picklock_properties::ClientId;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt::{Display, Formatter};

/// Which nodes go on together from some recovery on.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct View {
    /// The recovery's number (`ls_recover_seq`). No two are proposed with the same one.
    pub epoch: u8,
    /// A bit for each node that is in it.
    pub members: u8,
    /// Which of its lives each node is in, by number.
    pub lives: SmallVec<[u8; 4]>,
}

/// From node to node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Peer {
    /// It has started again, and has nothing: its last life is dead.
    Started {
        /// Which life this is.
        life: u8,
    },
    /// Let us go on so. Whoever agrees stops.
    Propose(View),
    /// It has stopped.
    Agree {
        /// For this view.
        epoch: u8,
    },
    /// All have: so it is.
    Install(View),
    /// What it masters, of what the other one is the directory of (`dlm_rcom_names`).
    Names {
        /// In this view.
        epoch: u8,
        /// These.
        names: SmallVec<[Name; 2]>,
    },
    /// Who waits for whom there? It looks for a deadlock.
    WhoWaits {
        /// In this view.
        epoch: u8,
    },
    /// These do.
    Waits {
        /// In this view.
        epoch: u8,
        /// All of them.
        waits: Vec<Wait>,
    },
    /// This request is part of a circle: whoever has it refuses it.
    Refuse {
        /// In this view.
        epoch: u8,
        /// Whose, and of which of its locks.
        handle: Handle,
        /// Its number.
        serial: u32,
    },
}

impl View {
    /// Whether this node is in it.
    pub fn has(&self, node: u8) -> bool {
        self.members >> node & 1 == 1
    }

    /// Those in it, in order.
    pub fn nodes(&self) -> impl Iterator<Item = u8> {
        nodes(self.members)
    }

    /// The node that knows who masters this resource (`dlm_hash2nodeid`).
    pub fn directory_of(&self, name: Name) -> u8 {
        directory_of(name, self.members)
    }
}

/// Those of whom the bit is set, in order.
pub fn nodes(members: u8) -> impl Iterator<Item = u8> {
    (0..8).filter(move |node| members >> node & 1 == 1)
}

/// The node that knows who masters this resource: as names are spread evenly, one after the other.
pub fn directory_of(name: Name, members: u8) -> u8 {
    let place = usize::from(name.0[0]) % (members.count_ones().max(1) as usize);
    nodes(members).nth(place).unwrap_or(0)
}

impl Display for View {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "view {} of", self.epoch)?;
        self.nodes().try_for_each(|node| write!(f, " s{}", node + 1))
    }
}

impl Display for Peer {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Peer::Started { .. } => f.write_str("started again, has nothing"),
            Peer::Propose(view) => write!(f, "propose {view}"),
            Peer::Agree { epoch } => write!(f, "has stopped for view {epoch}"),
            Peer::Install(view) => write!(f, "{view} it is"),
            Peer::Names { epoch, names } => {
                write!(f, "view {epoch}, masters")?;
                if names.is_empty() {
                    return f.write_str(" nothing");
                }
                names.iter().try_for_each(|name| write!(f, " {name}"))
            }
            Peer::WhoWaits { .. } => f.write_str("who waits for whom?"),
            Peer::Waits { waits, .. } if waits.is_empty() => f.write_str("nobody waits"),
            Peer::Waits { waits, .. } => waits.iter().enumerate().try_for_each(|(place, wait)| {
                let comma = if place > 0 { "; " } else { "" };
                write!(f, "{comma}{} waits for", wait.handle)?;
                wait.owners.iter().try_for_each(|owner| write!(f, " {}", ClientId(*owner)))
            }),
            Peer::Refuse { handle, .. } => write!(f, "a deadlock: refuse {handle}"),
        }
    }
}

impl Visit for Peer {
    /// Views are counted, not drawn from anybody's requests.
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Peer::Waits { waits, .. } => visit_waits(waits, visitor),
            Peer::Refuse { handle, serial, .. } => visitor.serial(owner_of(handle.owner), serial),
            Peer::Started { .. }
            | Peer::Propose(_)
            | Peer::Agree { .. }
            | Peer::Install(_)
            | Peer::Names { .. }
            | Peer::WhoWaits { .. } => {}
        }
    }
}

pub(super) fn visit_waits<V: Visitor>(waits: &mut [Wait], visitor: &mut V) {
    waits.iter_mut().for_each(|wait| visitor.serial(owner_of(wait.handle.owner), &mut wait.serial));
}
