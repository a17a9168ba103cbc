//! States packed in parts: each client, each server, what they share, each message under way.
//!
//! A step changes little: one node, what was observed of it, and the messages that it took and sent. So a successor is
//! compared with its parent part by part. What is equal is copied from the parent's bytes, and need not be restored before the
//! parent's next action. The parts together are the bytes of the whole ([`super::packed`]).

use super::Space;
use super::packed::{append, pack, take};
use crate::system::System;
use crate::world::{Action, Workspace, World};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ops::Range;

/// A state whose successors are made, unpacked and packed, and the latest of them.
pub(super) struct Parent<'a, Y: System> {
    world: World<Y>,
    parts: Parts<'a>,
    successor: World<Y>,
    /// Which clients may be others in the successor than in the parent, then which servers.
    changed: Vec<bool>,
    /// Whether what they share may be.
    is_shared_changed: bool,
}

impl<'a, Y: System> Parent<'a, Y> {
    /// Room for states like this one.
    pub fn like(world: World<Y>) -> Self {
        let nodes = world.cluster.clients.len() + world.cluster.servers.len();
        Parent {
            successor: world.clone(),
            world,
            parts: Parts::default(),
            changed: vec![true; nodes],
            is_shared_changed: true,
        }
    }

    /// Makes the state with these bytes the parent.
    pub fn unpack(&mut self, bytes: &'a [u8]) {
        let World { cluster, in_flight, budget, broken } = &mut self.world;
        let mut left = bytes;
        self.parts.begin(bytes);
        self.parts.take_list(&mut cluster.clients, &mut left);
        self.parts.take_list(&mut cluster.servers, &mut left);
        cluster.set_shared(self.parts.take_part(&mut left));
        self.parts.take_list(in_flight, &mut left);
        (*budget, *broken) = take(&mut left);
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

    /// Packs what has become of the successor; the bytes replace what was in `packed`.
    pub fn pack_successor(&mut self, packed: &mut Vec<u8>) {
        packed.clear();
        let (old, new, parts) = (&self.world, &self.successor, &self.parts);
        let (clients, servers) = self.changed.split_at_mut(old.cluster.clients.len());
        let nodes = clients.len() + servers.len();
        parts.pack_nodes(0, &old.cluster.clients, &new.cluster.clients, clients, packed);
        parts.pack_nodes(clients.len(), &old.cluster.servers, &new.cluster.servers, servers, packed);
        self.is_shared_changed = old.cluster.shared() != new.cluster.shared();
        match self.is_shared_changed {
            true => append(&new.cluster.shared(), packed),
            false => packed.extend_from_slice(parts.bytes_of(nodes)),
        }
        append(&new.in_flight.len(), packed);
        // Both lists are sorted.
        let mut at = 0;
        for message in &new.in_flight {
            while old.in_flight.get(at).is_some_and(|other| other < message) {
                at += 1;
            }
            match old.in_flight.get(at) {
                Some(other) if other == message => {
                    packed.extend_from_slice(parts.bytes_of(nodes + 1 + at));
                    at += 1;
                }
                Some(_) | None => append(message, packed),
            }
        }
        append(&(new.budget, new.broken), packed);
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

fn restore<T: Clone>(to: &mut [T], from: &[T], changed: &[bool]) {
    for ((to, from), _) in to.iter_mut().zip(from).zip(changed).filter(|(_, changed)| **changed) {
        to.clone_from(from);
    }
}

/// A packed state, and where its parts are: all but the lengths of lists, and the few bytes at the end.
#[derive(Default)]
struct Parts<'a> {
    bytes: &'a [u8],
    places: Vec<Range<usize>>,
}

impl<'a> Parts<'a> {
    fn begin(&mut self, bytes: &'a [u8]) {
        self.bytes = bytes;
        self.places.clear();
    }

    /// The bytes before what is `left` are a part, from where it `began`.
    fn end(&mut self, began: &[u8], left: &[u8]) {
        self.places.push(self.bytes.len() - began.len()..self.bytes.len() - left.len());
    }

    fn bytes_of(&self, part: usize) -> &'a [u8] {
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
        packed: &mut Vec<u8>,
    ) {
        append(&new.len(), packed);
        for (number, (old, new)) in old.iter().zip(new).enumerate() {
            changed[number] = old != new;
            match changed[number] {
                true => append(new, packed),
                false => packed.extend_from_slice(self.bytes_of(first + number)),
            }
        }
    }
}
