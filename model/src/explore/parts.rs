//! States packed in parts: each client, each server, what they share, each message under way.
//!
//! A step changes little: one node, what was observed of it, and the messages that it took and sent. So a successor is
//! compared with its parent part by part. What is equal is copied from the parent's bytes, and need not be restored before the
//! parent's next action. The parts together are the bytes of the whole ([`super::packed`]).

use super::Space;
use super::packed::{append, pack, take};
use super::steps::{Memory, Row};
use crate::system::System;
use crate::world::{Action, Budget, Workspace, World};
use picklock_properties::Violation;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ops::Range;

/// A state whose successors are made, unpacked and packed, and the latest of them.
pub(super) struct Parent<Y: System> {
    world: World<Y>,
    /// Which memory the world was restored from, and which row of it.
    restored: Option<(usize, Row)>,
    parts: Parts,
    successor: World<Y>,
    /// Which clients may be others in the successor than in the parent, then which servers.
    changed: Vec<bool>,
    /// Whether what they share may be.
    is_shared_changed: bool,
}

impl<Y: System> Parent<Y> {
    /// Room for states like this one.
    pub fn like(world: World<Y>) -> Self {
        let nodes = world.cluster.clients.len() + world.cluster.servers.len();
        Parent {
            successor: world.clone(),
            world,
            restored: None,
            parts: Parts::default(),
            changed: vec![true; nodes],
            is_shared_changed: true,
        }
    }

    /// Makes the state with these bytes the parent.
    pub fn unpack(&mut self, bytes: &[u8]) {
        let World { cluster, in_flight, budget, broken } = &mut self.world;
        let mut left = bytes;
        self.parts.begin(bytes);
        self.parts.take_list(&mut cluster.clients, &mut left);
        self.parts.take_list(&mut cluster.servers, &mut left);
        cluster.set_shared(self.parts.take_part(&mut left));
        self.parts.take_list(in_flight, &mut left);
        (*budget, *broken) = take(&mut left);
        self.restored = None;
        self.changed.fill(true);
        self.is_shared_changed = true;
    }

    /// The same for a state whose parts have these lengths, and are those of a row.
    pub fn restore(
        &mut self,
        bytes: &[u8],
        lengths: &[u16],
        row: &Row,
        (number, memory): (usize, &Memory<Y>),
    ) {
        let clients = self.world.cluster.clients.len();
        let nodes = clients + self.world.cluster.servers.len();
        let mut left = self.parts.begin_with(bytes, lengths, &[0, clients, nodes + 1]);
        let of = self.restored.as_ref().filter(|(other, _)| *other == number).map(|(_, row)| row);
        memory.restore(row, of, &mut self.world);
        (self.world.budget, self.world.broken) = take(&mut left);
        match &mut self.restored {
            Some((other, old)) => {
                *other = number;
                old.clone_from(row);
            }
            None => self.restored = Some((number, row.clone())),
        }
        self.changed.fill(true);
        self.is_shared_changed = true;
    }

    /// Makes what the memory's last step led to the latest successor.
    pub fn put_successor(&mut self, memory: &Memory<Y>, budget: Budget, broken: Option<Violation>) {
        memory.restore_next(&mut self.successor);
        (self.successor.budget, self.successor.broken) = (budget, broken);
        self.changed.fill(true);
        self.is_shared_changed = true;
    }

    /// The state itself.
    pub fn world(&self) -> &World<Y> {
        &self.world
    }

    /// The successor that was begun last.
    pub fn successor(&self) -> &World<Y> {
        &self.successor
    }

    /// The parent once more, to become its next successor.
    pub fn begin_successor(&mut self) -> &mut World<Y> {
        let (from, to) = (&self.world, &mut self.successor);
        let (clients, servers) = self.changed.split_at(from.cluster.clients.len());
        restore(&mut to.cluster.clients, &from.cluster.clients, clients);
        restore(&mut to.cluster.servers, &from.cluster.servers, servers);
        if self.is_shared_changed {
            to.cluster.clone_shared_from(&from.cluster);
        }
        (to.budget, to.broken) = (from.budget, from.broken);
        to.in_flight.clone_from(&from.in_flight);
        self.changed.fill(true);
        self.is_shared_changed = true;
        to
    }

    /// Packs what has become of the successor; the bytes replace what was in `packed`, and the lengths of the parts what was in
    /// `lengths`.
    pub fn pack_successor(&mut self, packed: &mut Vec<u8>, lengths: &mut Vec<u16>) {
        packed.clear();
        lengths.clear();
        let (old, new, parts) = (&self.world, &self.successor, &self.parts);
        let (clients, servers) = self.changed.split_at_mut(old.cluster.clients.len());
        let nodes = clients.len() + servers.len();
        let mut into = Into { packed, lengths };
        parts.pack_nodes(0, &old.cluster.clients, &new.cluster.clients, clients, &mut into);
        parts.pack_nodes(clients.len(), &old.cluster.servers, &new.cluster.servers, servers, &mut into);
        self.is_shared_changed = old.cluster.shared() != new.cluster.shared();
        match self.is_shared_changed {
            true => into.pack(&new.cluster.shared()),
            false => into.copy(parts.bytes_of(nodes)),
        }
        append(&new.in_flight.len(), into.packed);
        // Both lists are sorted.
        let mut at = 0;
        for message in &new.in_flight {
            while old.in_flight.get(at).is_some_and(|other| other < message) {
                at += 1;
            }
            match old.in_flight.get(at) {
                Some(other) if other == message => {
                    into.copy(parts.bytes_of(nodes + 1 + at));
                    at += 1;
                }
                Some(_) | None => into.pack(message),
            }
        }
        append(&(new.budget, new.broken), into.packed);
    }

    /// Whether `action` leads to the successor that was begun last, if nothing is taken for settled that it leaves alone.
    pub fn leads_to_successor(&self, action: Action, space: &Space<Y>) -> bool {
        let (mut again, mut places) = (self.world.clone(), Vec::new());
        let workspace = &mut Workspace::default();
        again.apply_and_place(action, &space.setup, &space.bounds, workspace, &mut places);
        again == self.successor
    }

    /// Whether these are the bytes of the successor as a whole, and it comes back from them part by part.
    pub fn is_packed_into(&self, packed: &[u8]) -> bool {
        let mut whole = Vec::new();
        pack(&self.successor, &mut whole);
        let mut other = Parent::like(self.world.clone());
        other.unpack(packed);
        whole == packed && other.world == self.successor
    }
}

/// Where parts are packed one after the other.
struct Into<'a> {
    packed: &'a mut Vec<u8>,
    lengths: &'a mut Vec<u16>,
}

impl Into<'_> {
    fn pack(&mut self, part: &impl Serialize) {
        let start = self.packed.len();
        append(part, self.packed);
        self.lengths.push((self.packed.len() - start) as u16);
    }

    fn copy(&mut self, part: &[u8]) {
        self.packed.extend_from_slice(part);
        self.lengths.push(part.len() as u16);
    }
}

/// The bytes of a world, and the lengths of its parts.
pub(super) fn pack_parts<Y: System>(world: &World<Y>, packed: &mut Vec<u8>, lengths: &mut Vec<u16>) {
    let mut into = Into { packed, lengths };
    append(&world.cluster.clients.len(), into.packed);
    world.cluster.clients.iter().for_each(|client| into.pack(client));
    append(&world.cluster.servers.len(), into.packed);
    world.cluster.servers.iter().for_each(|server| into.pack(server));
    into.pack(&world.cluster.shared());
    append(&world.in_flight.len(), into.packed);
    world.in_flight.iter().for_each(|message| into.pack(message));
    append(&(world.budget, world.broken), into.packed);
}

fn restore<T: Clone>(to: &mut [T], from: &[T], changed: &[bool]) {
    for ((to, from), _) in to.iter_mut().zip(from).zip(changed).filter(|(_, changed)| **changed) {
        to.clone_from(from);
    }
}

/// A packed state, and where its parts are: all but the lengths of lists, and the few bytes at the end.
#[derive(Default)]
struct Parts {
    bytes: Vec<u8>,
    places: Vec<Range<usize>>,
}

impl Parts {
    fn begin(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.places.clear();
    }

    /// Parts of these lengths, of which those of some numbers stand behind the byte with the length of their list; returns what
    /// stands behind them all.
    fn begin_with<'b>(&mut self, bytes: &'b [u8], lengths: &[u16], lists: &[usize]) -> &'b [u8] {
        self.begin(bytes);
        let mut at = 0;
        for (number, length) in lengths.iter().enumerate() {
            at += usize::from(lists.contains(&number));
            self.places.push(at..at + usize::from(*length));
            at += usize::from(*length);
        }
        // An empty list has no part behind its length.
        at += lists.iter().filter(|list| **list >= lengths.len()).count();
        &bytes[at..]
    }

    /// The bytes before what is `left` are a part, from where it `began`.
    fn end(&mut self, began: &[u8], left: &[u8]) {
        self.places.push(self.bytes.len() - began.len()..self.bytes.len() - left.len());
    }

    fn bytes_of(&self, part: usize) -> &[u8] {
        &self.bytes[self.places[part].clone()]
    }

    /// Takes a list whose elements are parts.
    fn take_list<T: DeserializeOwned>(&mut self, list: &mut Vec<T>, left: &mut &[u8]) {
        list.clear();
        for _ in 0..take::<usize>(left) {
            list.push(self.take_part(left));
        }
    }

    fn take_part<T: DeserializeOwned>(&mut self, left: &mut &[u8]) -> T {
        let began = *left;
        let part = take(left);
        self.end(began, left);
        part
    }

    /// Packs a list of nodes whose parts begin with this one, and finds out which are others than before.
    fn pack_nodes<T: PartialEq + Serialize>(
        &self,
        first: usize,
        old: &[T],
        new: &[T],
        changed: &mut [bool],
        into: &mut Into,
    ) {
        append(&new.len(), into.packed);
        for (number, (old, new)) in old.iter().zip(new).enumerate() {
            changed[number] = old != new;
            match changed[number] {
                true => into.pack(new),
                false => into.copy(self.bytes_of(first + number)),
            }
        }
    }
}
