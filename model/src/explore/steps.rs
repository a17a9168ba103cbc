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
//! Where the canonical form needs more than bits and a short list, where a clock drifts or stands still, and where several locks are
//! judged apart, nothing is remembered, and the world as a whole takes the step ([`super::parts`]).
//!
//! There is one memory for each way in which clocks differ, and what is remembered holds in that one only: when a clock is set, the next
//! step is another memory's.

mod changes;
mod kept;
mod known;
mod memory;
mod numbers;
mod outcomes;
mod rewriting;
mod rows;
mod settling;
mod symmetry;

pub(super) use memory::Memory;
pub(super) use numbers::{Numbers, RowHash};
pub(super) use rows::Row;
pub(super) use symmetry::CLIENTS_MAX;

use super::packed::{append, unpack};
use super::parts::pack_parts;
use super::{Alike, Space};
use crate::canonical::Frame;
use crate::cluster::Shared;
use crate::system::System;
use crate::world::{Action, Budget, STEP, TICK, Workspace, World};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use known::hash_of;
use memory::Change;
use picklock_properties::Violation;
use rows::Rest;
use smallvec::SmallVec;
use std::sync::Arc;

/// How many parts, and how much of what was found out about them, is kept before all is forgotten. Most spaces have a hundredth.
const KEPT_MAX: usize = 2_000_000;

/// Clocks that drift for long differ in many ways, and each is met too seldom to be worth a memory.
const MEMORIES_MAX: usize = 16;

type Hashed<K, V> = HashMap<K, V, FixedState>;

/// What one thread remembers of a space.
pub(super) struct Steps<'s, Y: System> {
    space: &'s Space<Y>,
    /// What parts are called by all threads.
    numbers: Arc<Numbers>,
    /// Whether anything is ever remembered.
    remembers: bool,
    /// By the faults that are left and what the nodes share: which of the memories, if any.
    frames: Hashed<(u32, u32), Option<Place>>,
    /// The latest faults that were left, and what that is called.
    rest: Option<((Budget, Option<Violation>), Rest)>,
    /// One for each way in which clocks differ.
    memories: Vec<Memory<'s, Y>>,
    /// Which worlds are one.
    alike: Alike,
    /// A world was met of which that is not known.
    is_in_vain: bool,
}

impl<'s, Y: System> Steps<'s, Y> {
    /// Nothing is known yet.
    pub fn new(space: &'s Space<Y>, numbers: Arc<Numbers>, alike: Alike) -> Self {
        let nodes = nodes_of(space);
        Steps {
            space,
            numbers,
            remembers: space.setup.workload.locks <= 1 && nodes <= LIST_MAX,
            frames: Hashed::default(),
            rest: None,
            memories: Vec::new(),
            alike,
            is_in_vain: false,
        }
    }

    /// Forgets everything, if it has become too much.
    pub fn make_room(&mut self) {
        let kept: usize = self.memories.iter().map(Memory::kept).sum();
        if kept + self.frames.len() > KEPT_MAX {
            let is_in_vain = self.are_told_apart();
            *self = Steps { is_in_vain, ..Steps::new(self.space, Arc::clone(&self.numbers), self.alike) };
        }
    }

    /// Where to look for what is remembered of worlds like the one that is kept as this row. `None`: nothing ever is.
    pub fn place(&mut self, kept: &[u16]) -> Option<Place> {
        let mut numbers = kept::numbers(kept);
        let key = rows::key(&mut numbers);
        if let Some(place) = self.frames.get(&key) {
            return *place;
        }
        let place = self.find_memory(key);
        self.frames.insert(key, place);
        place
    }

    /// The same for the world with these bytes, whose parts have these lengths.
    fn place_of(&mut self, bytes: &[u8], lengths: &[u16]) -> Option<Place> {
        let mut kept = Vec::new();
        self.keep(bytes, lengths, &mut kept);
        self.place(&kept)
    }

    /// Appends the world with these bytes, whose parts have these lengths, as a row of numbers for all threads, and says what its hash is.
    pub fn keep(&self, bytes: &[u8], lengths: &[u16], kept: &mut Vec<u16>) -> u64 {
        let nodes = nodes_of(self.space);
        let mut at = 0;
        let mut parts: SmallVec<[&[u8]; 24]> = SmallVec::new();
        for (number, length) in lengths.iter().enumerate() {
            at += self.length_before(number, lengths.len());
            parts.push(&bytes[at..at + usize::from(*length)]);
            at += usize::from(*length);
        }
        // An empty list has no part behind its length.
        let rest = &bytes[at + if lengths.len() == nodes + 1 { COUNT } else { 0 }..];
        let mut hash = RowHash::default();
        let mut add = |kind: usize, part: &[u8]| {
            hash.add(hash_of(part));
            kept::push(kept, self.numbers.number_of(kind, part));
        };
        add(nodes + 2, rest);
        add(nodes, parts[nodes]);
        (0..nodes).for_each(|node| add(node, parts[node]));
        parts[nodes + 1..].iter().for_each(|message| add(nodes + 1, message));
        hash.end()
    }

    /// How many bytes stand before this one of so many parts: the length of a list, if it is the list's first.
    fn length_before(&self, part: usize, parts: usize) -> usize {
        let (clients, nodes) = (usize::from(self.space.setup.workload.processes()), nodes_of(self.space));
        let list = match part {
            0 => clients,
            _ if part == clients => nodes - clients,
            _ if part == nodes + 1 => parts - part,
            _ => return 0,
        };
        if list > LIST_MAX { COUNT + 1 } else { COUNT }
    }

    /// The bytes of a world that is kept as this row, and the lengths of its parts.
    pub fn pack(&self, kept: &[u16], bytes: &mut Vec<u8>, lengths: &mut Vec<u16>) {
        let nodes = nodes_of(self.space);
        bytes.clear();
        lengths.clear();
        let clients = usize::from(self.space.setup.workload.processes());
        let mut numbers = kept::numbers(kept);
        let (rest, shared) = rows::key(&mut numbers);
        let of_parts: SmallVec<[u32; 24]> = numbers.collect();
        let (of_nodes, messages) = of_parts.split_at(nodes);
        let mut put = |kind: usize, number: u32, bytes: &mut Vec<u8>| {
            lengths.push(self.numbers.append(kind, number, bytes) as u16);
        };
        append(&clients, bytes);
        (0..clients).for_each(|node| put(node, of_nodes[node], bytes));
        append(&(nodes - clients), bytes);
        (clients..nodes).for_each(|node| put(node, of_nodes[node], bytes));
        put(nodes, shared, bytes);
        append(&messages.len(), bytes);
        messages.iter().for_each(|message| put(nodes + 1, *message, bytes));
        self.numbers.append(nodes + 2, rest, bytes);
    }

    /// What the faults that are left and what is broken are called.
    fn rest(&mut self, budget: Budget, broken: Option<Violation>) -> Rest {
        match self.rest {
            Some((of, rest)) if of == (budget, broken) => rest,
            Some(_) | None => {
                let mut bytes = Vec::new();
                append(&(budget, broken), &mut bytes);
                let number = self.numbers.number_of(nodes_of(self.space) + 2, &bytes);
                let rest = Rest { number, hash: hash_of(&bytes) };
                self.rest = Some(((budget, broken), rest));
                rest
            }
        }
    }

    /// Appends what the last step has led to in this place, and says what its hash is.
    pub fn keep_next(&mut self, place: Place, broken: Option<Violation>, kept: &mut Vec<u16>) -> u64 {
        let rest = self.rest(place.budget, broken);
        self.memories[place.memory].keep_next(rest, &self.numbers, kept)
    }

    /// Reads a world that is kept in this place.
    pub fn read(&mut self, place: Place, kept: &[u16], row: &mut Row) {
        self.memories[place.memory].read_kept(kept, &self.numbers, row);
    }

    /// What is remembered there.
    pub fn memory(&mut self, place: Place) -> &mut Memory<'s, Y> {
        &mut self.memories[place.memory]
    }

    /// What `action` makes of the world of `row`, which is kept in this place: returns the place of that, whose memory has the world as that
    /// of its last step. `None`: it is not known part by part.
    pub fn step(&mut self, place: Place, row: &Row, action: Action) -> Option<Place> {
        let node = match action {
            Action::StepClock { client } => client,
            Action::StepServerClock { server } => self.space.setup.workload.processes() + server,
            Action::Deliver { .. }
            | Action::Wake { .. }
            | Action::Tick
            | Action::Lose { .. }
            | Action::Duplicate { .. }
            | Action::Pause { .. }
            | Action::Resume { .. }
            | Action::Crash { .. }
            | Action::LosePower { .. }
            | Action::CrashServer { .. }
            | Action::CrashUnheard { .. }
            | Action::LosePowerUnheard { .. }
            | Action::CrashServerUnheard { .. }
            | Action::RestartServer { .. }
            | Action::RestartResource
            | Action::DriftingTick { .. }
            | Action::FreezeClock { .. } => {
                let budget = self.memories[place.memory].step(row, place.budget, action)?;
                return Some(Place { budget, ..place });
            }
        };
        self.set_clock(place, row, action, node)
    }

    /// A wall clock is set, and nothing else happens: what is remembered then is that of another way in which clocks differ.
    fn set_clock(&mut self, place: Place, row: &Row, action: Action, node: u8) -> Option<Place> {
        // What arrives at once after that is not looked into.
        if self.space.bounds.delivers_at_once() {
            return None;
        }
        let rest = self.rest(place.budget.after(action, &self.space.bounds), None);
        let memory = &mut self.memories[place.memory];
        let mut next = row.clone();
        next.shared = memory.changed(row.shared, Change::ClockSet { node });
        let mut kept = Vec::new();
        memory.keep_row(&next, rest, &self.numbers, &mut kept);
        let after = self.place(&kept)?;
        self.read(after, &kept, &mut next);
        self.memories[after.memory].begin_after(&next).then_some(after)
    }

    /// Puts the world with these bytes, whose parts have these lengths, in the place of all that differ from it in which client is which,
    /// and says how many those are.
    pub fn reduce(&mut self, packed: &mut Vec<u8>, lengths: &mut Vec<u16>) -> u16 {
        if self.alike == Alike::Same {
            return 1;
        }
        let Some(place) = self.place_of(packed, lengths) else {
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

    fn find_memory(&mut self, (rest, shared): (u32, u32)) -> Option<Place> {
        if !self.remembers {
            return None;
        }
        let Space { setup, bounds } = self.space;
        let nodes = nodes_of(self.space);
        let (mut of_shared, mut of_rest) = (Vec::new(), Vec::new());
        self.numbers.append(nodes, shared, &mut of_shared);
        self.numbers.append(nodes + 2, rest, &mut of_rest);
        let (_, conditions, ..): Shared<Y::Judge> = unpack(&of_shared);
        let (budget, broken): (Budget, Option<Violation>) = unpack(&of_rest);
        let frame = Frame::new(&conditions, &budget, STEP, setup, bounds);
        if !frame.is_compact() {
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
        let numbers = Arc::new(Numbers::new(nodes_of(space)));
        Remembered { steps: Steps::new(space, numbers, Alike::Same), row: Row::default() }
    }

    /// The bytes of what `action` makes of the world; `None`: worlds like this one take that step as a whole.
    pub fn step(&mut self, world: &World<Y>, action: Action) -> Option<Vec<u8>> {
        let (mut packed, mut lengths) = (Vec::new(), Vec::new());
        pack_parts(world, &mut packed, &mut lengths);
        let place = self.steps.place_of(&packed, &lengths)?;
        self.steps.memory(place).read(&packed, &lengths, &mut self.row);
        let next = self.steps.step(place, &self.row, action)?;
        let memory = self.steps.memory(next);
        let broken = memory.outcomes().find_map(|outcome| outcome.broken);
        memory.pack_next(next.budget, broken, &mut packed, &mut lengths);
        Some(packed)
    }
}

/// How many nodes have a part of their own.
pub(super) fn nodes_of<Y: System>(space: &Space<Y>) -> usize {
    usize::from(space.setup.workload.processes()) + usize::from(space.setup.servers)
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
