//! Local steps, remembered: what a node makes of a message depends on the two of them, and so does little else.
//!
//! A world has parts: each client, each server, what they share, each message under way. There are few of each, and many ways
//! to put them together. So parts are numbered, and what was once found out about them is kept:
//!
//! - which part a node becomes by an entry, what it sends, and what is observed of that;
//! - which part another one becomes, in canonical form, beside such stamps and serials as there are ([`Ranks`]);
//! - whether a node dismisses a message, and whether the servers have anything to settle.
//!
//! Then a transition is a few lookups, and its bytes are those of parts put together. (LTSmin calls it caching of local
//! transitions: Blom, van de Pol, Weber, CAV 2010.)
//!
//! A number is known to one [`Steps`] only, and there is one for each thread: nothing that is found out depends on the numbers.
//! Where the canonical form needs more than bits, where a process ends or a clock goes wrong, and where several locks are judged
//! apart, nothing is remembered, and the world as a whole takes the step ([`super::parts`]).

mod changes;
mod known;
mod memory;
mod outcomes;
mod rewriting;
mod rows;
mod settling;
mod symmetry;

pub(super) use memory::Memory;
pub(super) use outcomes::Outcome;
pub(super) use rows::Row;
pub(super) use symmetry::CLIENTS_MAX;

use super::packed::unpack;
use super::parts::pack_parts;
use super::{Alike, Space};
use crate::canonical::Frame;
use crate::cluster::Shared;
use crate::system::System;
use crate::world::{Action, Budget, STEP, TICK, Workspace, World};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use picklock_properties::Violation;
use smallvec::SmallVec;

/// How many parts, and how much of what was found out about them, is kept before all is forgotten. Most spaces have a hundredth.
const KEPT_MAX: usize = 2_000_000;

/// Clocks that drift for long differ in many ways, and each is met too seldom to be worth a memory.
const MEMORIES_MAX: usize = 16;

type Hashed<K, V> = HashMap<K, V, FixedState>;

/// What one thread remembers of a space.
pub(super) struct Steps<'s, Y: System> {
    space: &'s Space<Y>,
    /// By what the nodes share and the faults that are left: which of the memories, if any.
    frames: Hashed<SmallVec<[u8; 64]>, Option<Place>>,
    /// One for each way in which clocks differ.
    memories: Vec<Memory<'s, Y>>,
    /// Which worlds are one.
    alike: Alike,
    /// A world was met of which that is not known.
    is_in_vain: bool,
}

impl<'s, Y: System> Steps<'s, Y> {
    /// Nothing is known yet.
    pub fn new(space: &'s Space<Y>, alike: Alike) -> Self {
        Steps { space, frames: Hashed::default(), memories: Vec::new(), alike, is_in_vain: false }
    }

    /// Forgets everything, if it has become too much.
    pub fn make_room(&mut self) {
        let kept: usize = self.memories.iter().map(Memory::kept).sum();
        if kept + self.frames.len() > KEPT_MAX {
            *self = Steps { is_in_vain: self.are_told_apart(), ..Steps::new(self.space, self.alike) };
        }
    }

    /// Where to look for what is remembered of worlds like the one with these bytes, whose parts have these lengths. `None`: nothing
    /// ever is.
    pub fn place(&mut self, bytes: &[u8], lengths: &[u16]) -> Option<Place> {
        let Space { setup, bounds } = self.space;
        if setup.workload.locks > 1 || bounds.colocated {
            return None;
        }
        let nodes = usize::from(setup.workload.processes()) + usize::from(setup.servers);
        if nodes > LIST_MAX {
            return None;
        }
        let sum = |lengths: &[u16]| lengths.iter().map(|length| usize::from(*length)).sum::<usize>();
        let start = COUNT + COUNT + sum(&lengths[..nodes]);
        let shared = &bytes[start..start + usize::from(lengths[nodes])];
        let budget = &bytes[3 * COUNT + sum(lengths)..];
        let mut key: SmallVec<[u8; 64]> = SmallVec::from_slice(budget);
        key.extend_from_slice(shared);
        match self.frames.get(key.as_slice()) {
            Some(place) => *place,
            None => {
                let place = self.find_memory(shared, budget);
                self.frames.insert(key, place);
                place
            }
        }
    }

    /// What is remembered there.
    pub fn memory(&mut self, place: Place) -> &mut Memory<'s, Y> {
        &mut self.memories[place.memory]
    }

    /// Puts the world with these bytes, whose parts have these lengths, in the place of all that differ from it in which client is which,
    /// and says how many those are.
    pub fn reduce(&mut self, packed: &mut Vec<u8>, lengths: &mut Vec<u16>) -> u16 {
        if self.alike == Alike::Same {
            return 1;
        }
        let Some(place) = self.place(packed, lengths) else {
            self.is_in_vain = true;
            return 1;
        };
        let mut row = Row::default();
        let memory = self.memory(place);
        memory.read(packed, lengths, &mut row);
        memory.strike_out_of_all(&mut row);
        let worlds = memory.reduce(&mut row);
        memory.pack_row(&row, place.budget, place.broken, packed, lengths);
        worlds
    }

    /// Has a world whose clients have other numbers take the step that has led from the world of `row` to the one with these bytes, and sees
    /// whether it leads to the same, up to those numbers. It takes it as a whole, so that nothing of it is remembered.
    pub fn check(
        &mut self,
        place: Place,
        row: &Row,
        action: Action,
        packed: &[u8],
        workspace: &mut Workspace<Y>,
    ) {
        let Space { setup, bounds } = self.space;
        let (mut other, mut lengths) = (Vec::new(), Vec::new());
        let memory = self.memory(place);
        let Some((row, action)) = memory.renumbered(row, action, packed) else { return };
        memory.pack_row(&row, place.budget, place.broken, &mut other, &mut lengths);
        let mut world: World<Y> = unpack(&other);
        world.apply(action, setup, bounds, workspace);
        // Where a promise is broken the search is over.
        if world.broken.is_none() {
            other.clear();
            lengths.clear();
            pack_parts(&world, &mut other, &mut lengths);
            self.reduce(&mut other, &mut lengths);
            self.is_in_vain |= other != packed;
        }
    }

    /// Which worlds are one.
    pub fn alike(&self) -> Alike {
        self.alike
    }

    /// Whether worlds that were taken for one were found to go on differently.
    pub fn are_told_apart(&self) -> bool {
        self.is_in_vain || self.memories.iter().any(Memory::are_told_apart)
    }

    fn find_memory(&mut self, shared: &[u8], budget: &[u8]) -> Option<Place> {
        let Space { setup, bounds } = self.space;
        let (_, conditions, ..): Shared<Y::Judge> = unpack(shared);
        let (budget, broken): (Budget, Option<Violation>) = unpack(budget);
        let frame = Frame::new(&conditions, &budget, STEP, setup, bounds);
        if frame.is_frozen() {
            return None;
        }
        let known = self.memories.iter().position(|memory| memory.frame == frame);
        if known.is_none() && self.memories.len() >= MEMORIES_MAX && self.alike == Alike::Same {
            return None;
        }
        let memory = known.unwrap_or_else(|| {
            let tick_frame = Frame::new(&conditions, &budget, TICK, setup, bounds);
            self.memories.push(Memory::new(self.space, frame, tick_frame, self.alike));
            self.memories.len() - 1
        });
        Some(Place { memory, budget, broken })
    }
}

/// What is remembered of a space, for who holds it to what worlds do as a whole.
pub struct Remembered<'s, Y: System> {
    steps: Steps<'s, Y>,
    row: Row,
}

impl<'s, Y: System> Remembered<'s, Y> {
    /// Nothing is known yet.
    pub fn new(space: &'s Space<Y>) -> Self {
        Remembered { steps: Steps::new(space, Alike::Same), row: Row::default() }
    }

    /// The bytes of what `action` makes of the world; `None`: worlds like this one take that step as a whole.
    pub fn step(&mut self, world: &World<Y>, action: Action) -> Option<Vec<u8>> {
        let (mut packed, mut lengths) = (Vec::new(), Vec::new());
        pack_parts(world, &mut packed, &mut lengths);
        let place = self.steps.place(&packed, &lengths)?;
        let memory = self.steps.memory(place);
        memory.read(&packed, &lengths, &mut self.row);
        let stepped = memory.step(&self.row, place.budget, action)?;
        let broken = memory.outcome(stepped).and_then(|outcome| outcome.broken);
        memory.pack_next(stepped.budget, broken, &mut packed, &mut lengths);
        Some(packed)
    }
}

/// Where to look a world up, and what belongs to no part of it.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Which memory.
    pub memory: usize,
    /// The faults that are left.
    pub budget: Budget,
    /// Which promise the last step broke, if any.
    pub broken: Option<Violation>,
}

/// The length of a list takes this many bytes, if it is no longer than [`LIST_MAX`]; no more messages are under way, either.
const COUNT: usize = 1;

const LIST_MAX: usize = 127;
