//! The canonical form of one part of a world, by what is known of the others: which stamps and serials there are in all.
//!
//! For who keeps parts and not worlds. It is the same form: what a world's visit finds is the union of what its parts' visits
//! find, and what becomes of a part depends on nothing else. It works where all serials and all stamps up to the floor fit into bits
//! ([`super::Buffers`]) and one step was taken; else there are [`Holds`] for no part, and the world is to be rewritten as a whole.
//! Stamps above the floor, which a clock shows that is ahead of others, are few: they are listed. What becomes of one depends on those of
//! its group and tick only, and of one up to the floor on none of them ([`Rewrite`]), so the two kinds do not meet.

use super::visits::{Part, Place, PlacedVisitor, Rewrite, place_ahead, visit_rest};
use super::{Buffers, Frame, Held, Stamp, bit_of};
use crate::cluster::{Setup, Shared};
use crate::machine::{Node, Owner, StampGroup, Store, Visit, Visitor};
use crate::system::{Process, System};
use crate::time::{Due, Micros, Monotonic, Wall};
use crate::world::{Envelope, STEP};
use smallvec::SmallVec;

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
    /// The stamps above the floor, by the group's number, relative to the new now.
    ahead: SmallVec<[(u8, i64); 1]>,
    /// What is meant by the bits.
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
            Find { frame, place, groups, holds: Holds::default(), is_compact: frame.is_compact() };
        piece.visit(setup, &mut found);
        found.is_compact.then_some(found.holds)
    }

    /// Whether no stamp is above the floor: all are of the past for every clock.
    pub fn is_of_the_past(&self) -> bool {
        self.ahead.is_empty()
    }
}

/// What all parts of a world hold together.
#[derive(Default)]
pub(crate) struct Ranks {
    groups: Vec<u64>,
    owners: Vec<u64>,
    /// The stamps above the floor, in the order of their groups and times.
    ahead: Vec<Ahead>,
    moved: Held,
    /// Whether nothing is where it was not before.
    are_in_place: bool,
}

/// A stamp above the floor.
#[derive(Clone, Copy)]
struct Ahead {
    group: u8,
    /// Relative to the new now.
    at: i64,
    /// Whether its place is another one than it was relative to the old now.
    moves: bool,
}

impl Ranks {
    /// Of so many known groups: everything stays where it is.
    pub fn unmoved(groups: usize) -> Ranks {
        Ranks { groups: vec![0; groups], ..Ranks::default() }
    }

    /// Of so many nodes and known groups: nothing yet.
    pub fn begin(&mut self, nodes: usize, groups: usize) {
        self.groups.clear();
        self.groups.resize(groups, 0);
        self.owners.clear();
        self.owners.resize(nodes, 0);
        self.ahead.clear();
    }

    /// Puts in what a part holds.
    pub fn add(&mut self, holds: &Holds) {
        for (group, present) in &holds.groups {
            self.groups[usize::from(*group)] |= present;
        }
        for (owner, present) in &holds.owners {
            self.owners[usize::from(*owner)] |= present;
        }
        for (group, at) in &holds.ahead {
            if !self.ahead.iter().any(|other| (other.group, other.at) == (*group, *at)) {
                self.ahead.push(Ahead { group: *group, at: *at, moves: false });
            }
        }
    }

    /// All parts were put in: what has moved in a step of this frame is known from now on.
    pub fn end(&mut self, frame: &Frame) {
        self.moved = super::moved(Some(STEP), self.groups.iter().copied(), self.owners.iter().copied());
        self.ahead.sort_unstable_by_key(|stamp| (stamp.group, stamp.at));
        for number in 0..self.ahead.len() {
            let Ahead { group, at, .. } = self.ahead[number];
            let end = frame.tick_end(at);
            let mates =
                self.ahead.iter().filter(|other| other.group == group && frame.tick_end(other.at) == end);
            self.ahead[number].moves = place_ahead(at, end, mates.map(|other| other.at)) != at + STEP.0;
        }
        self.are_in_place = self.moved == Held::default() && !self.ahead.iter().any(|stamp| stamp.moves);
    }

    /// Whether [`Self::moves`] says no of every part.
    pub fn are_in_place(&self) -> bool {
        self.are_in_place
    }

    /// Whether a stamp or a serial of the part has another place than it had before the step. If none has, what the part is after it depends
    /// on nothing but the part; and if it took no part in the step, and was in canonical form before, it is so still.
    pub fn moves(&self, holds: &Holds) -> bool {
        let is_moved = |(group, at): &(u8, i64)| {
            self.ahead.iter().any(|other| other.moves && (other.group, other.at) == (*group, *at))
        };
        holds.held.meets(self.moved) || holds.ahead.iter().any(is_moved)
    }

    /// Whether no stamp is above the floor.
    pub fn are_of_the_past(&self) -> bool {
        self.ahead.is_empty()
    }

    /// Whether a serial of one of the first nodes, so many, is lowered.
    pub fn lowers_serials_of(&self, nodes: usize) -> bool {
        (0..nodes).any(|node| self.moved.owners & super::bit_of(node) != 0)
    }

    /// All that the canonical form of a part that holds this can depend on, beside the part and the frame.
    pub fn seen_by(&self, holds: &Holds, seen: &mut SmallVec<[u64; 8]>) {
        seen.extend(holds.groups.iter().map(|(group, _)| self.groups[usize::from(*group)]));
        seen.extend(holds.owners.iter().map(|(owner, _)| self.owners[usize::from(*owner)]));
        // How many numbers were put down so far is the part's own, so the rest need not be told apart from them.
        let is_seen = |stamp: &&Ahead| holds.ahead.iter().any(|(group, _)| *group == stamp.group);
        for Ahead { group, at, .. } in self.ahead.iter().filter(is_seen) {
            seen.extend([u64::from(*group), *at as u64]);
        }
    }

    /// Brings a part into canonical form.
    pub fn rewrite<Y: System>(&self, mut piece: Piece<Y>, frame: &Frame, setup: &Setup<Y>, groups: &[u64]) {
        let ahead = self.ahead.iter().map(|Ahead { group, at, .. }| Stamp {
            group: groups[usize::from(*group)],
            at: *at,
            tick_end: frame.tick_end(*at),
        });
        let buffers = Buffers {
            recent: groups.iter().copied().zip(self.groups.iter().copied()).collect(),
            small: self.owners.clone(),
            is_compact: true,
            moved: self.moved,
            stamps: ahead.collect(),
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
            Ok(number) if age < 0 => {
                let stamp = (number, at.0 - self.frame.shift);
                if !self.holds.ahead.contains(&stamp) {
                    self.holds.ahead.push(stamp);
                }
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
