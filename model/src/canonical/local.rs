//! The canonical form of one part of a world, by what is known of the others: which stamps and serials there are in all.
//!
//! For who keeps parts and not worlds. It is the same form: what a world's visit finds is the union of what its parts' visits
//! find, and what becomes of a part depends on nothing else. It works where all stamps and serials fit into bits
//! ([`super::Buffers`]) and one step was taken; else there are [`Holds`] for no part, and the world is to be rewritten as a whole.

use super::visits::{Part, Place, PlacedVisitor, Rewrite, visit_rest};
use super::{Buffers, Frame, Held, bit_of};
use crate::cluster::{Setup, Shared};
use crate::machine::{Node, Owner, StampGroup, Store, Visit, Visitor};
use crate::system::{Process, System};
use crate::time::{Due, Micros, Monotonic, Wall};
use crate::world::{Envelope, STEP};
use smallvec::{SmallVec, smallvec};

/// A part of a world.
pub(crate) enum Piece<'a, Y: System> {
    /// The client of this number.
    Client(u8, &'a mut Y::Process),
    /// The server of this number.
    Server(u8, &'a mut Y::Store),
    /// What no node owns.
    Shared(&'a mut Shared<Y::Judge>),
    /// A message under way.
    Message(&'a mut Envelope<Y>),
}

impl<Y: System> Piece<'_, Y> {
    fn visit<V: PlacedVisitor>(&mut self, setup: &Setup<Y>, visitor: &mut V) {
        visitor.place().put(match self {
            Piece::Client(number, _) => Part::Of(Node::Client(*number)),
            Piece::Server(number, _) => Part::Of(Node::Server(*number)),
            Piece::Shared(_) => Part::Rest,
            Piece::Message(envelope) => Part::Message(0, envelope.from, envelope.to),
        });
        match self {
            Piece::Client(_, client) => client.visit(&setup.lock, visitor),
            Piece::Server(_, server) => server.visit(visitor),
            Piece::Shared(shared) => visit_rest::<Y, V>(&mut shared.0, &mut shared.2, visitor),
            Piece::Message(envelope) => envelope.message.visit(visitor),
        }
    }
}

/// The stamps and serials of one part, as [`Buffers`] has those of a world.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Holds {
    /// By the group's number among the known groups.
    groups: SmallVec<[(u8, u64); 2]>,
    /// By the owner's place among the nodes.
    owners: SmallVec<[(u8, u64); 2]>,
    held: Held,
}

impl Holds {
    /// What the part holds; `None` if that does not fit into bits. Groups that are met for the first time are put behind the
    /// known `groups`. The frame is that of one step.
    pub fn of<Y: System>(
        mut piece: Piece<Y>,
        frame: &Frame,
        setup: &Setup<Y>,
        groups: &mut Vec<u64>,
    ) -> Option<Holds> {
        let place = Place::new(usize::from(setup.workload.processes()));
        let mut found =
            Find { frame, place, groups, holds: Holds::default(), is_compact: !frame.is_frozen() };
        piece.visit(setup, &mut found);
        found.is_compact.then_some(found.holds)
    }
}

/// What all parts of a world hold together.
#[derive(Default)]
pub(crate) struct Ranks {
    groups: SmallVec<[u64; 16]>,
    owners: SmallVec<[u64; 8]>,
    moved: Held,
}

impl Ranks {
    /// Of so many known groups: everything stays where it is.
    pub fn unmoved(groups: usize) -> Ranks {
        Ranks { groups: smallvec![0; groups], ..Ranks::default() }
    }

    /// Of so many nodes and known groups: nothing yet.
    pub fn begin(&mut self, nodes: usize, groups: usize) {
        self.groups.clear();
        self.groups.resize(groups, 0);
        self.owners.clear();
        self.owners.resize(nodes, 0);
    }

    /// Puts in what a part holds.
    pub fn add(&mut self, holds: &Holds) {
        for (group, present) in &holds.groups {
            self.groups[usize::from(*group)] |= present;
        }
        for (owner, present) in &holds.owners {
            self.owners[usize::from(*owner)] |= present;
        }
    }

    /// All parts were put in: what has moved is known from now on.
    pub fn end(&mut self) {
        self.moved = super::moved(Some(STEP), self.groups.iter().copied(), self.owners.iter().copied());
    }

    /// Whether a part that took no part in the step, and was in canonical form before it, is so no longer.
    pub fn moves(&self, holds: &Holds) -> bool {
        holds.held.meets(self.moved)
    }

    /// Whether a serial of one of the first nodes, so many, is lowered.
    pub fn lowers_serials_of(&self, nodes: usize) -> bool {
        (0..nodes).any(|node| self.moved.owners & super::bit_of(node) != 0)
    }

    /// All that the canonical form of a part that holds this can depend on, beside the part and the frame.
    pub fn seen_by(&self, holds: &Holds, seen: &mut SmallVec<[u64; 8]>) {
        seen.extend(holds.groups.iter().map(|(group, _)| self.groups[usize::from(*group)]));
        seen.extend(holds.owners.iter().map(|(owner, _)| self.owners[usize::from(*owner)]));
    }

    /// Brings a part into canonical form.
    pub fn rewrite<Y: System>(&self, mut piece: Piece<Y>, frame: &Frame, setup: &Setup<Y>, groups: &[u64]) {
        let buffers = Buffers {
            recent: groups.iter().copied().zip(self.groups.iter().copied()).collect(),
            small: self.owners.to_vec(),
            is_compact: true,
            moved: self.moved,
            ..Buffers::default()
        };
        let place = Place::new(usize::from(setup.workload.processes()));
        piece.visit(setup, &mut Rewrite { frame, place, step: None, buffers: &buffers });
    }
}

/// The visit that finds what a part holds.
struct Find<'a> {
    frame: &'a Frame,
    place: Place,
    groups: &'a mut Vec<u64>,
    holds: Holds,
    is_compact: bool,
}

impl PlacedVisitor for Find<'_> {
    fn place(&mut self) -> &mut Place {
        &mut self.place
    }

    fn enter(&mut self, _part: Part) -> bool {
        true
    }
}

impl Visitor for Find<'_> {
    fn stamp(&mut self, group: StampGroup, at: &mut Wall) {
        let age = self.frame.floor + self.frame.shift - at.0;
        let key = self.frame.group_key(group);
        let number = self.groups.iter().position(|other| *other == key).unwrap_or_else(|| {
            self.groups.push(key);
            self.groups.len() - 1
        });
        match u8::try_from(number) {
            Ok(number) if (0..64).contains(&age) => {
                put(&mut self.holds.groups, number, age as u32);
                self.holds.held.groups |= bit_of(number.into());
            }
            Ok(_) | Err(_) => self.is_compact = false,
        }
    }

    fn due(&mut self, _due: &mut Due) {}

    fn since(&mut self, _at: &mut Monotonic, _limit: Micros) {}

    fn expiry_seconds(&mut self, _at: &mut i64) {}

    fn serial(&mut self, owner: Owner, serial: &mut u32) {
        let owner = self.place.owner(owner);
        match u8::try_from(owner) {
            Ok(number) if *serial < 64 => {
                put(&mut self.holds.owners, number, *serial);
                self.holds.held.owners |= bit_of(owner);
            }
            Ok(_) | Err(_) => self.is_compact = false,
        }
    }
}

fn put(list: &mut SmallVec<[(u8, u64); 2]>, number: u8, bit: u32) {
    match list.iter_mut().find(|(other, _)| *other == number) {
        Some((_, present)) => *present |= 1 << bit,
        None => list.push((number, 1 << bit)),
    }
}
